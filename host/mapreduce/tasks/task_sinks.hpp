#pragma once
// Where the rows of a task go: into the buckets of its output as they come, or combined by key first. A sink belongs to
// the thread that works on the task.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/mapreduce/rows/bucket_blocks.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "host/mapreduce/tables/combine_table.hpp"
#include "host/mapreduce/tasks/block_store.hpp"

namespace actorhost {

class TaskSink : public RowSink {
 public:
  /// All rows of `source`, by way of `batch` or in whole blocks; counts them in `rows`.
  Status pour(RowSource& source, RowBatch& batch, uint64_t& rows);
  /// All rows have been put; call once.
  virtual Status finish() = 0;

 protected:
  /// Whether it takes whole blocks, by `put_block`.
  virtual bool takes_blocks() const noexcept { return false; }
  virtual Status put_block(RowBlock&&) { return Error{Code::internal, "this sink takes no blocks"}; }
};

/// Rows of any kind, spread by their first value. With one bucket they stay in order.
class BucketSink final : public TaskSink {
 public:
  BucketSink(uint32_t buckets, size_t memory, MemoryBudget* budget, BlockSink sink)
      : blocks_(buckets, memory, budget, std::move(sink)) {}
  Status put(const RowValue& first, const RowValue* second) override;
  Status finish() override { return blocks_.finish(); }

 private:
  BucketBlocks blocks_;
};

/// Pairs, of which the values of each key become one; with Combine::row any rows, of which one of each is left. What is
/// left goes to `sink` in so many buckets.
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

  // Of a combiner in Lua: keys first, then their slots.

  /// Keeps a key until `locate`; how many wait, at most CombineTable::kMostKeys.
  size_t take(const RowValue& key);
  /// The slots of all keys that wait; nullptr when the table has failed.
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

/// Rows that a task puts aside and reads again itself. They lie in the store, under a name that no other task asks for,
/// so that they are spilled when memory is short.
class ScratchRows {
 public:
  explicit ScratchRows(BlockStore& store);
  ~ScratchRows();
  ScratchRows(const ScratchRows&) = delete;
  ScratchRows& operator=(const ScratchRows&) = delete;

  /// Takes them, before `read`.
  BlockSink sink();
  /// All of them, in order; they go with the source.
  static std::unique_ptr<RowSource> read(std::unique_ptr<ScratchRows> rows);

 private:
  class Source;

  BlockStore& store_;
  OutputId id_;
  std::optional<BlockStore::Attempt> attempt_;
};

}  // namespace actorhost
