#pragma once
// Sorts by a 64-bit rank first: byte by byte in place from the most significant (American flag sort), small parts by
// comparisons. Makes ten times fewer comparisons than std::sort on millions of entries and needs no second array.

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace actorhost {

/// `rank(entry)` is a uint64_t. `less` orders all entries and agrees with the rank. `ties(first, count)` sorts entries
/// of equal rank in parts that comparisons have not sorted.
template <typename Entry, typename Rank, typename Less, typename Ties>
void radix_sort(Entry* first, size_t count, const Rank& rank, const Less& less, const Ties& ties, int shift = 56) {
  constexpr size_t kSmall = 192;
  std::array<size_t, 256> ends;  // of parts; `heads` has where the next entry of each part goes
  for (;; shift -= 8) {
    if (count <= kSmall) return std::sort(first, first + count, less);
    if (shift < 0) return ties(first, count);
    ends.fill(0);
    for (size_t i = 0; i < count; ++i) ++ends[(rank(first[i]) >> shift) & 255];
    if (ends[(rank(first[0]) >> shift) & 255] != count) break;  // otherwise all entries have the same byte here
  }
  std::array<size_t, 256> heads;
  size_t begin = 0;
  for (size_t part = 0; part < 256; ++part) {
    heads[part] = begin;
    begin += ends[part];
    ends[part] = begin;
  }
  for (size_t part = 0; part < 256; ++part) {
    while (heads[part] < ends[part]) {
      Entry entry = first[heads[part]];
      for (size_t to = (rank(entry) >> shift) & 255; to != part; to = (rank(entry) >> shift) & 255) {
        std::swap(entry, first[heads[to]++]);
      }
      first[heads[part]++] = entry;
    }
  }
  begin = 0;
  for (const size_t end : ends) {
    if (end - begin > 1) radix_sort(first + begin, end - begin, rank, less, ties, shift - 8);
    begin = end;
  }
}

}  // namespace actorhost
