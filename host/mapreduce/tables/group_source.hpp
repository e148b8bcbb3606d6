#pragma once
// Rows grouped by equal keys, as batches: the input of group_by_key, joins and set operations. Owned and used by the
// task's thread.

#include <memory>
#include <string>
#include <vector>

#include "host/mapreduce/rows/groups.hpp"
#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// Copies the rows of a batch until it is full, each with its `RowBatch::pair`. A row of a merge is valid only until
/// the next row, a row of a batch until the next batch.
class BatchCopy {
 public:
  void begin();
  bool full() const noexcept { return flags_.size() == kBatchRows || bytes_.size() >= kMostBytes; }
  void add(std::string_view row, uint8_t flags) {
    bytes_.append(row);
    flags_.push_back(flags);
  }
  /// Adds all copied rows to `batch`.
  void fill(RowBatch& batch) const;

 private:
  static constexpr size_t kMostBytes = size_t{1} << 20;  // so that memory never holds 256 rows of 100 MB at once

  std::string bytes_;
  std::vector<uint8_t> flags_;
};

/// Flags of RowBatch::pair besides bit 0. kSameKey: the row has the key of the previous row. The bits from kInputShift
/// on are the number of the row's input.
inline constexpr uint8_t kSameKey = 2;
inline constexpr unsigned kInputShift = 2;
inline constexpr size_t kMostInputs = size_t{1} << (8 - kInputShift);

/// All rows of all inputs, key after key; within a key in the order of the inputs.
class GroupSource final : public RowSource {
 public:
  explicit GroupSource(std::vector<std::unique_ptr<SortedRows>> inputs)
      : count_(inputs.size()), input_(inputs.size()), groups_(std::move(inputs)) {}
  Status next(RowBatch& batch) override;

 private:
  bool next_row(RowReader::Row& row);

  size_t count_;
  size_t input_;      // of the current key
  bool same_ = true;  // `next` has returned a row of the current key
  RowGroups groups_;
  BatchCopy copy_;
};

enum class SetOperation : uint8_t { intersection, subtract };

/// Distinct rows that both inputs have, or rows of the first input that the second does not have. The inputs have
/// wrapped rows: texts that are the bytes of rows.
class SetSource final : public RowSource {
 public:
  SetSource(std::vector<std::unique_ptr<SortedRows>> inputs, SetOperation operation)
      : operation_(operation), groups_(std::move(inputs)) {}
  Status next(RowBatch& batch) override;

 private:
  SetOperation operation_;
  RowGroups groups_;
  BatchCopy copy_;
};

}  // namespace actorhost
