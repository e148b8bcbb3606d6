#include "host/mapreduce/rows/key_ranges.hpp"

#include <algorithm>

namespace actorhost {

Result<KeyRanges> KeyRanges::make(std::string_view splitters, SortOrder order) {
  if (order == SortOrder::hash) return Error{Code::bad_argument, "keys are ranged by their order, not by their hash"};
  KeyRanges ranges(order);
  ranges.bytes_ = Blob::copy_of(splitters);
  RowReader reader(ranges.bytes_.view());
  RowReader::Row row;
  while (reader.next(row)) {
    if (!ranges.kinds_.takes(row.first)) return ranges.kinds_.refused(row.first);
    const uint64_t rank = key_rank(row.first, order);
    if (!ranges.keys_.empty() &&
        (rank < ranges.ranks_.back() ||
         (rank == ranges.ranks_.back() && compare_ties(ranges.keys_.back(), row.first, order) > 0))) {
      return Error{Code::bad_argument,
                   "splitters must be in order: " + describe(row.first) + " follows " + describe(ranges.keys_.back())};
    }
    ranges.keys_.push_back(row.first);
    ranges.ranks_.push_back(rank);
  }
  if (!reader.ok()) return Error{Code::bad_data, "the splitters of a sort are broken"};
  return ranges;
}

size_t KeyRanges::behind_ties(size_t begin, uint64_t rank, const RowValue& key) const noexcept {
  const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = keys_.begin() + (std::upper_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
  const auto at = std::partition_point(
      first, last, [&](const RowValue& splitter) { return compare_ties(splitter, key, order_) <= 0; });
  return static_cast<size_t>(at - keys_.begin());
}

}  // namespace actorhost
