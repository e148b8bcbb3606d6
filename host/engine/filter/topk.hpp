#pragma once
// Chooses the k elements of largest magnitude of a tensor, in time linear in its size. Of equal elements it chooses the
// first. It never chooses an element equal to 0, because decoding starts from zeros; so it may choose fewer than k
// elements. NaN counts as larger than infinity, so elements that are not finite are chosen first. One thread at a time
// may use a TopkChoice. It reuses its memory, one bit for each element, for the next tensor.
//
// For comparison it also chooses k random elements. Of these, an infinite element or NaN waits in the residual until it
// is chosen.
//
// Method: one pass counts magnitudes by their first 12 bits, and so finds the span of magnitudes that contains the k-th
// largest. A second pass marks all elements from the lower end of the span up. The elements within the span are a few
// per cent; nth_element finds the smallest chosen magnitude among them.

#include <bit>
#include <cstdint>
#include <vector>

#include "host/base/random.hpp"
#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

class TopkChoice {
 public:
  /// Chooses at most `keep` of n < 2^32 elements.
  void choose(const kernel::Kernels& k, Dtype dtype, uint64_t n, const void* values, uint64_t keep);

  /// Chooses `keep` of n < 2^32 elements; each set of them is equally likely.
  void choose_random(uint64_t n, uint64_t keep, Rng& rng);

  /// True if there were more infinite elements and NaN than `keep`, so some of them are not chosen.
  bool left_non_finite() const noexcept { return left_non_finite_; }
  bool chosen(uint64_t i) const noexcept { return (marks_[i / 64] >> (i % 64) & 1) != 0; }

  /// Calls visit(i) for each chosen element of [first, first + count), in order.
  template <typename Visit>
  void for_each(uint64_t first, uint64_t count, Visit&& visit) const {
    const uint64_t end = first + count;
    for (uint64_t at = first; at < end; at = (at / 64 + 1) * 64) {
      uint64_t word = marks_[at / 64] >> (at % 64);
      if (end - at < 64) word &= (uint64_t{1} << (end - at)) - 1;
      for (; word != 0; word &= word - 1) visit(at + static_cast<uint64_t>(std::countr_zero(word)));
    }
  }

 private:
  template <typename T>
  void choose_of(const kernel::Kernels& k, Dtype dtype, uint64_t n, const T* values, uint64_t keep);

  std::vector<uint64_t> marks_;
  std::vector<uint32_t> counts_;
  std::vector<uint64_t> within_;
  bool left_non_finite_ = false;
};

/// The encoding of the chosen elements: all elements, or the number of chosen indices and then their gaps or a bitmap.
enum class Selection : uint8_t { all = 0, gaps = 1, bitmap = 2 };

/// The shorter encoding, gaps or bitmap, of these ascending indices below `count`.
Selection shorter_form(const std::vector<uint32_t>& indices, uint64_t count);
void write_indices(const std::vector<uint32_t>& indices, uint64_t count, Selection form, FilterWriter& out);

/// Reads indices into `out`. Fails unless they are ascending and below `count`.
Status read_indices(FilterReader& in, Selection form, uint64_t count, std::vector<uint32_t>& out);

}  // namespace actorhost
