#pragma once
// The output of tasks before wide operations: distributes rows by key, by range, or into a bucket of the task's choice;
// samples them; or sorts them for the task itself. A sink belongs to the thread that works on the task.

#include <cstdint>
#include <memory>
#include <string>

#include "host/mapreduce/rows/sample.hpp"
#include "host/mapreduce/rows/sorter.hpp"
#include "host/mapreduce/tables/bucket_writer.hpp"
#include "host/mapreduce/tasks/task_sinks.hpp"

namespace actorhost {

/// Writes pairs into the bucket of their key, or rows into the bucket of their first value's range.
class WriterSink final : public TaskSink {
 public:
  /// By key. Code::bad_argument for rows other than pairs and for invalid keys, also with one bucket.
  WriterSink(const BucketOptions& options, BlockSink sink) : keyed_(true), writer_(options, std::move(sink)) {}
  WriterSink(const BucketOptions& options, KeyRanges ranges, BlockSink sink)
      : keyed_(false), writer_(options, std::move(ranges), std::move(sink)) {}
  Status put(const RowValue& first, const RowValue* second) override;
  Status put(const RowBatch& batch) override;
  Status finish() override { return writer_.finish(); }

 protected:
  bool takes_blocks() const noexcept override { return !keyed_; }
  Status put_block(RowBlock&& block) override { return writer_.put(block); }

 private:
  bool keyed_;
  TupleOf tuple_;
  BucketWriter writer_;
};

/// Rows in order of arrival, into the bucket of the last `into`; 0 at first.
class PlacedSink : public TaskSink {
 public:
  PlacedSink(uint32_t buckets, size_t memory, MemoryBudget* budget, BlockSink sink)
      : blocks_(buckets, memory, budget, std::move(sink)) {}
  /// False when there is no such bucket.
  bool into(uint32_t bucket) noexcept;
  Status put(const RowValue& first, const RowValue* second) override;
  /// Row by row, not as the base writes batches.
  Status put(const RowBatch& batch) override { return TaskSink::put(batch); }  // NOLINT(bugprone-parent-virtual-call)
  Status finish() override { return blocks_.finish(); }

 protected:
  /// The bytes of the last row, until the next row.
  std::string_view written() const noexcept { return written_; }

 private:
  BucketBlocks blocks_;
  uint32_t bucket_ = 0;
  std::string_view written_;
};

/// Rows into bucket 0, and a sample of them into bucket 1.
class SampledSink final : public PlacedSink {
 public:
  SampledSink(size_t most, size_t memory, MemoryBudget* budget, BlockSink sink)
      : PlacedSink(2, memory, budget, std::move(sink)), sample_(most) {}
  Status put(const RowValue& first, const RowValue* second) override;
  /// Row by row, not as the base writes batches.
  Status put(const RowBatch& batch) override { return TaskSink::put(batch); }  // NOLINT(bugprone-parent-virtual-call)
  Status finish() override;

 private:
  RowSample sample_;
  TupleOf tuple_;
  uint64_t rows_ = 0;
};

/// Sorts rows that the task then reads again. With `wrapped` the key of a row is all its bytes, as a text. Rows with
/// tables are refused then, since equal tables may have different bytes.
class SorterSink final : public TaskSink {
 public:
  SorterSink(const SortOptions& options, bool wrapped) : sorter_(options), wrapped_(wrapped) {}
  Status put(const RowValue& first, const RowValue* second) override;
  Status put(const RowBatch& batch) override;
  Status finish() override { return {}; }
  Result<std::unique_ptr<SortedRows>> sorted() { return sorter_.finish(); }

 protected:
  bool takes_blocks() const noexcept override { return !wrapped_; }
  Status put_block(RowBlock&& block) override { return sorter_.put(std::move(block)); }

 private:
  RowSorter sorter_;
  bool wrapped_;
  std::string row_;
};

}  // namespace actorhost
