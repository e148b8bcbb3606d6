#pragma once
// Chooses the elements of largest magnitude: exactly k elements, of equal elements the first, in time linear in the
// size of the tensor. Elements equal to 0 are never chosen, since decoding starts from zeros; so fewer than k may be
// chosen. NaN counts as larger than infinity, so faults are always sent. One thread at a time may use it. It reuses its
// memory for the next tensor: a bit an element.
//
// Method: one pass counts magnitudes by their first 12 bits, which gives the span of magnitudes that contains the k-th
// largest. A second pass marks all elements from the lower end of the span up. The elements within the span, a few per
// cent, are gathered, and nth_element finds the smallest chosen magnitude.

#include <bit>
#include <cstdint>
#include <vector>

#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

class TopkChoice {
 public:
  /// Chooses among n < 2^32 elements.
  void choose(const kernel::Kernels& k, Dtype dtype, uint64_t n, const void* values, uint64_t keep);

  /// True if there were more infinite elements and NaN than elements to choose.
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

enum class Selection : uint8_t { all = 0, gaps = 1, bitmap = 2 };

/// The shorter encoding of these ascending indices, all below `count`: their number, and gaps or a bitmap.
Selection shorter_form(const std::vector<uint32_t>& indices, uint64_t count);
void write_indices(const std::vector<uint32_t>& indices, uint64_t count, Selection form, FilterWriter& out);

/// Ascending indices below `count`.
Status read_indices(FilterReader& in, Selection form, uint64_t count, std::vector<uint32_t>& out);

}  // namespace actorhost
