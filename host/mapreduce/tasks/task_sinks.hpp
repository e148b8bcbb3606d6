#pragma once
// The output of a task: writes rows into buckets directly, or combines them by key first. A sink belongs to the thread
// that works on the task.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/base/non_copyable.hpp"
#include "host/mapreduce/rows/bucket_blocks.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "host/mapreduce/tables/combine_table.hpp"
#include "host/mapreduce/tasks/block_store.hpp"

namespace actorhost {

class TaskSink : public RowSink {
 public:
  /// Puts all rows of `source`, through `batch` or in whole blocks, and adds their number to `rows`.
  Status pour(RowSource& source, RowBatch& batch, uint64_t& rows);
  /// Ends the rows; call once.
  virtual Status finish() = 0;

 protected:
  /// Whether the sink takes whole blocks, by `put_block`.
  virtual bool takes_blocks() const noexcept { return false; }
  virtual Status put_block(RowBlock&&) { return Error{Code::internal, "this sink takes no blocks"}; }
};

/// Rows of any kind, distributed by their first value. With one bucket they stay in order.
class BucketSink final : public TaskSink {
 public:
  BucketSink(uint32_t buckets, size_t memory, MemoryBudget* budget, BlockSink sink)
      : blocks_(buckets, memory, budget, std::move(sink)) {}
  Status put(const RowValue& first, const RowValue* second) override;
  Status finish() override { return blocks_.finish(); }

 private:
  BucketBlocks blocks_;
};

/// Combines the values of each key of pairs, or with Combine::row removes duplicate rows. Writes the result to `sink`
/// in `buckets` buckets.
class CombineSink final : public TaskSink {
 public:
  CombineSink(const CombineOptions& options, uint32_t buckets, BlockSink sink)
      : table_(options),
        numbers_(options.combine != Combine::script),
        rows_(options.combine == Combine::row),
        buckets_(buckets),
        sink_(std::move(sink)) {}
  /// With a native combiner.
  Status put(const RowValue& first, const RowValue* second) override;
  Status put(const RowBatch& batch) override { return table_.add_rows(batch) ? Status() : table_.status(); }
  Status finish() override { return table_.finish(buckets_, sink_); }
  bool takes_blocks() const noexcept override { return numbers_; }
  Status put_block(RowBlock&& block) override {
    return table_.add_rows(block.bytes.view()) ? Status() : table_.status();
  }
  CombineTable& table() noexcept { return table_; }

  // For a combiner in Lua: first the keys, then their slots.

  /// Stores a key until `locate`. Returns the number of stored keys, at most CombineTable::kMostKeys.
  size_t take(const RowValue& key);
  /// The slots of all stored keys; nullptr when the table has failed.
  CombineSlot** locate();
  bool by_script() const noexcept { return !numbers_; }

 private:
  CombineTable table_;
  std::array<RowValue, CombineTable::kMostKeys> keys_;
  std::array<size_t, CombineTable::kMostKeys> offsets_;  // of their texts in key_bytes_
  std::array<CombineSlot*, CombineTable::kMostKeys> slots_;
  size_t taken_ = 0;
  std::string key_bytes_;  // of keys_; or a row
  bool numbers_;
  bool rows_;
  uint32_t buckets_;
  BlockSink sink_;
};

/// Rows that a task stores and later reads again itself. They are in the store, under a name that no other task uses,
/// so that they can be spilled when memory is short.
class ScratchRows : private NonCopyable {
 public:
  explicit ScratchRows(BlockStore& store);
  ~ScratchRows();

  /// Takes the rows, before `read`.
  BlockSink sink();
  /// Reads all rows in order; the source's destructor drops them.
  static std::unique_ptr<RowSource> read(std::unique_ptr<ScratchRows> rows);

 private:
  class Source;

  BlockStore& store_;
  OutputId id_;
  std::optional<BlockStore::Attempt> attempt_;
};

}  // namespace actorhost
