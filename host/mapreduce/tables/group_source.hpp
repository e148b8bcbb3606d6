#pragma once
// Rows of equal keys together, as batches: what tasks of group_by_key, joins and set operations read. Owned and used by
// the task's thread.

#include <memory>
#include <string>
#include <vector>

#include "host/mapreduce/rows/groups.hpp"
#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// Copies of the rows of a batch until it is full, each with its `RowBatch::pair`: a merge's row is valid only until
/// the next one, a batch's rows until it has been read.
class BatchCopy {
 public:
  void begin();
  bool full() const noexcept { return flags_.size() == kBatchRows || bytes_.size() >= kMostBytes; }
  void add(std::string_view row, uint8_t flags) {
    bytes_.append(row);
    flags_.push_back(flags);
  }
  /// Adds them all to `batch`.
  void fill(RowBatch& batch) const;

 private:
  static constexpr size_t kMostBytes = size_t{1} << 20;  // lest 256 rows of 100 MB are held at once

  std::string bytes_;
  std::vector<uint8_t> flags_;
};

/// Flags of RowBatch::pair beside bit 0: the key is that of the row before; and from kInputShift on, of which input the
/// row is.
inline constexpr uint8_t kSameKey = 2;
inline constexpr unsigned kInputShift = 2;
inline constexpr size_t kMostInputs = size_t{1} << (8 - kInputShift);

/// All rows of all inputs, key after key; of a key those of the first input first.
class GroupSource final : public RowSource {
 public:
  explicit GroupSource(std::vector<std::unique_ptr<SortedRows>> inputs)
      : count_(inputs.size()), input_(inputs.size()), groups_(std::move(inputs)) {}
  Status next(RowBatch& batch) override;

 private:
  bool next_row(RowReader::Row& row);

  size_t count_;
  size_t input_;      // of the present key
  bool same_ = true;  // a row of the present key was given out
  RowGroups groups_;
  BatchCopy copy_;
};

enum class SetOperation : uint8_t { intersection, subtract };

/// Distinct rows that both inputs have, or of the first those that the second has not. The inputs' rows are wrapped:
/// texts that are the bytes of rows.
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
