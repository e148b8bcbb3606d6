#pragma once
// Finds the range of a key between sorted splitters: the partitioning of rows for a sort. Range r has the keys from
// splitter r-1 (inclusive) to splitter r (exclusive), in the order of the sort, so equal keys stay together.

#include <cstdint>
#include <string_view>
#include <vector>

#include "host/base/blob.hpp"
#include "host/mapreduce/rows/sort_key.hpp"

namespace actorhost {

class KeyRanges {
 public:
  /// `splitters`: rows of one value each, in `order`, which is not SortOrder::hash. Code::bad_argument when splitters
  /// cannot be compared or are not in order; Code::bad_data when the bytes are not rows.
  static Result<KeyRanges> make(std::string_view splitters, SortOrder order);

  uint32_t ranges() const noexcept { return static_cast<uint32_t>(keys_.size() + 1); }
  /// Returns UINT32_MAX when the key cannot be compared with the splitters or with earlier keys; `refused` gives the
  /// error.
  uint32_t range_of(const RowValue& key) noexcept {
    if (!kinds_.takes(key)) [[unlikely]]
      return UINT32_MAX;
    const uint64_t rank = key_rank(key, order_);
    size_t begin = 0;
    for (size_t left = ranks_.size(); left > 0;) {
      // Branch-free: keys are random, so a branch on the comparison would be mispredicted.
      const size_t half = (left + 1) / 2;
      begin += ranks_[begin + half - 1] < rank ? half : 0;
      left -= half;
    }
    if (begin < ranks_.size() && ranks_[begin] == rank) begin = behind_ties(begin, rank, key);
    return static_cast<uint32_t>(begin);
  }
  Error refused(const RowValue& key) const { return kinds_.refused(key); }

 private:
  explicit KeyRanges(SortOrder order) : order_(order), kinds_(order) {}
  size_t behind_ties(size_t begin, uint64_t rank, const RowValue& key) const noexcept;

  SortOrder order_;
  KeyKinds kinds_;
  Blob bytes_;                   // of the splitters
  std::vector<RowValue> keys_;   // point into bytes_
  std::vector<uint64_t> ranks_;  // of keys_
};

}  // namespace actorhost
