#pragma once
// How rows go from one step of a task to the next: in batches of views, so that a step costs a call for each batch and
// not for each row. A stream belongs to the thread that works on the task.

#include <array>
#include <cstdint>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/block.hpp"
#include "host/mapreduce/rows/row.hpp"

namespace actorhost {

inline constexpr uint32_t kBatchRows = 256;

/// The layout is shared with Lua (bindings/modules/ffi_mapreduce.h).
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

class RowSource {
 public:
  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  /// Fills `batch`, whose views hold until the next call; `count` is 0 at the end only. An error ends the stream.
  virtual Status next(RowBatch& batch) = 0;
  /// Bytes of files and of other tasks' outputs that were read so far.
  virtual uint64_t bytes_read() const noexcept { return 0; }
  /// Whether all its rows are pairs for sure.
  virtual bool only_pairs() const noexcept { return false; }
};

/// A source whose rows lie in whole blocks. Either `next` or `next_block` is called.
class BlockSource : public RowSource {
 public:
  /// Views into one block only. Code::bad_data for a block that is no rows.
  Status next(RowBatch& batch) final;
  /// The next block; one without rows at the end only.
  virtual Status next_block(RowBlock& block) = 0;

 private:
  RowBlock block_;
  RowReader reader_;
};

class RowSink {
 public:
  RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;
  virtual ~RowSink() = default;

  /// Takes a row; `second` is nullptr unless it is a pair. The bytes are copied.
  virtual Status put(const RowValue& first, const RowValue* second) = 0;
  virtual Status put(const RowBatch& batch) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      AH_TRY(put(batch.first[i], batch.pair[i] != 0 ? &batch.second[i] : nullptr));
    }
    return {};
  }
};

}  // namespace actorhost
