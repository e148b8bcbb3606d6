#pragma once
// Streams of rows between the steps of a task. Rows move in batches of views, so that a step costs one call per batch
// and not per row. A stream belongs to the thread that works on the task.

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/mapreduce/rows/block.hpp"
#include "host/mapreduce/rows/row.hpp"

namespace actorhost {

inline constexpr uint32_t kBatchRows = 256;

/// The layout is shared with Lua (bindings/modules/mapreduce/ffi_mapreduce.h).
struct RowBatch {
  uint32_t count = 0;
  uint32_t at = 0;  // the row that Lua is working on, for errors
  std::array<RowValue, kBatchRows> first;
  std::array<RowValue, kBatchRows> second;  // of pairs
  std::array<uint8_t, kBatchRows> pair;

  void add(const RowReader::Row& row) noexcept {
    first[count] = row.first;
    second[count] = row.second;
    pair[count++] = row.pair ? 1 : 0;
  }
  void add(const RowValue& value) noexcept {
    first[count] = value;
    pair[count++] = 0;
  }
};

class RowSource : public Interface {
 public:
  /// Fills `batch`, whose views are valid until the next call; `count` is 0 only at the end. An error ends the stream.
  virtual Status next(RowBatch& batch) = 0;
  /// Bytes of files and of other tasks' outputs read so far.
  virtual uint64_t bytes_read() const noexcept { return 0; }
  /// Whether all rows are known to be pairs.
  virtual bool only_pairs() const noexcept { return false; }
};

/// A source that changes the rows of another source.
class RowsThrough : public RowSource {
 public:
  explicit RowsThrough(std::unique_ptr<RowSource> rows) : rows_(std::move(rows)) {}
  uint64_t bytes_read() const noexcept override { return rows_->bytes_read(); }

 protected:
  std::unique_ptr<RowSource> rows_;
};

/// A source that reads whole blocks. A caller uses either `next` or `next_block`.
class BlockSource : public RowSource {
 public:
  /// Returns views into one block only. Code::bad_data for a malformed block.
  Status next(RowBatch& batch) final {
    batch.count = 0;
    RowReader::Row row;
    for (;;) {
      while (batch.count < kBatchRows && reader_.next(row)) batch.add(row);
      if (batch.count > 0) return {};
      if (!reader_.ok()) return Error{Code::bad_data, "a block of rows is damaged"};
      AH_TRY(next_block(block_));
      if (block_.rows == 0) return {};
      reader_ = RowReader(block_.bytes.view());
    }
  }
  /// Reads the next block; a block without rows marks the end.
  virtual Status next_block(RowBlock& block) = 0;

 private:
  RowBlock block_;
  RowReader reader_;
};

class RowSink : public Interface {
 public:
  /// Takes a row; `second` is nullptr unless the row is a pair. The bytes are copied.
  virtual Status put(const RowValue& first, const RowValue* second) = 0;
  virtual Status put(const RowBatch& batch) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      AH_TRY(put(batch.first[i], batch.pair[i] != 0 ? &batch.second[i] : nullptr));
    }
    return {};
  }
};

}  // namespace actorhost
