#pragma once
// Sources that merge sorted inputs and group their rows by key: GroupSource for group_by_key and joins, SetSource for
// set operations. Owned and used by the thread of the task; `next` may block on the disk.

#include <memory>
#include <string>
#include <vector>

#include "host/mapreduce/rows/groups.hpp"
#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// Collects copies of rows for a batch. A row of a merge is valid only until the next row, but the rows of a batch must
/// be valid until the next batch.
class BatchCopy {
 public:
  void begin();
  bool full() const noexcept { return flags_.size() == kBatchRows || bytes_.size() >= kMostBytes; }
  /// Copies a row. Its RowBatch::pair gets `flags`.
  void add(std::string_view row, uint8_t flags) {
    bytes_.append(row);
    flags_.push_back(flags);
  }
  /// Adds all collected rows to `batch`.
  void fill(RowBatch& batch) const;

 private:
  static constexpr size_t kMostBytes = size_t{1} << 20;  // a batch of large rows ends here

  std::string bytes_;
  std::vector<uint8_t> flags_;
};

// The bits of RowBatch::pair that GroupSource sets. Bit 0 marks a pair, as in any batch.
inline constexpr uint8_t kSameKey = 2;      // the row has the key of the previous row
inline constexpr unsigned kInputShift = 2;  // the bits from here on are the number of the row's input
inline constexpr size_t kMostInputs = size_t{1} << (8 - kInputShift);

/// Gives all rows of all inputs, one key after the other; the rows of a key are in the order of the inputs.
class GroupSource final : public RowSource {
 public:
  explicit GroupSource(std::vector<std::unique_ptr<SortedRows>> inputs)
      : count_(inputs.size()), input_(inputs.size()), groups_(std::move(inputs)) {}
  Status next(RowBatch& batch) override;

 private:
  bool next_row(RowReader::Row& row);

  size_t count_;
  size_t input_;      // the input of the next row, for the current key
  bool same_ = true;  // `next` has already given a row of the current key
  RowGroups groups_;
  BatchCopy copy_;
};

enum class SetOperation : uint8_t { intersection, subtract };

/// Gives each distinct row that is in both inputs (intersection), or only in the first input (subtract). The key of an
/// input's row is a text: the encoded bytes of the row to give.
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
