#include "host/engine/filter/topk.hpp"

#include <algorithm>
#include <functional>
#include <type_traits>

namespace actorhost {

namespace {

using kernel::kMagnitudeBits;
using kernel::kMagnitudes;

template <typename T>
using Whole = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <typename T>
uint64_t magnitude(T x) noexcept {
  constexpr auto kAll = static_cast<Whole<T>>(~Whole<T>{0} >> 1);
  return std::bit_cast<Whole<T>>(x) & kAll;
}

size_t gap_bytes(uint64_t gap) noexcept { return (static_cast<size_t>(std::bit_width(gap)) + 6) / 7; }

size_t bitmap_bytes(uint64_t count) noexcept { return static_cast<size_t>((count + 7) / 8); }

}  // namespace

void TopkChoice::choose(const kernel::Kernels& k, Dtype dtype, uint64_t n, const void* values, uint64_t keep) {
  if (dtype == Dtype::f32) return choose_of(k, dtype, n, static_cast<const float*>(values), keep);
  choose_of(k, dtype, n, static_cast<const double*>(values), keep);
}

// Floyd's method: one draw for each chosen element.
void TopkChoice::choose_random(uint64_t n, uint64_t keep, Rng& rng) {
  marks_.assign((n + 63) / 64, 0);
  left_non_finite_ = false;
  for (uint64_t last = n - std::min(keep, n); last < n; ++last) {
    const uint64_t drawn = rng.below(last + 1);
    const uint64_t i = chosen(drawn) ? last : drawn;
    marks_[i / 64] |= uint64_t{1} << (i % 64);
  }
}

template <typename T>
void TopkChoice::choose_of(const kernel::Kernels& k, Dtype dtype, uint64_t n, const T* values, uint64_t keep) {
  constexpr int kShift = static_cast<int>(8 * sizeof(T)) - 1 - kMagnitudeBits;
  constexpr int kExponentBits = sizeof(T) == 4 ? 8 : 11;
  constexpr uint64_t kInfinite = ((uint64_t{1} << kExponentBits) - 1) << (kMagnitudeBits - kExponentBits);
  const auto size = static_cast<int64_t>(n);
  marks_.resize((n + 63) / 64);
  left_non_finite_ = false;
  if (n == 0) return;
  counts_.assign(2 * static_cast<size_t>(kMagnitudes), 0);
  k.count_magnitudes(dtype, size, counts_.data(), values);
  uint64_t above = 0;  // the span
  uint64_t span = kMagnitudes;
  uint64_t in_span = 0;
  while (span > 0 && above + in_span < keep) {
    above += in_span;
    --span;
    in_span = uint64_t{counts_[span]} + counts_[span + kMagnitudes];
  }
  for (uint64_t b = kInfinite, seen = 0; b < kMagnitudes && !left_non_finite_; ++b) {
    seen += uint64_t{counts_[b]} + counts_[b + kMagnitudes];
    left_non_finite_ = seen > keep;
  }
  k.mark_magnitudes(dtype, size, marks_.data(), values, std::max<uint64_t>(span << kShift, 1));
  if (above + in_span <= keep) return;

  const uint64_t end = (span + 1) << kShift;
  within_.clear();
  for_each(0, n, [&](uint64_t i) {
    if (const uint64_t m = magnitude(values[i]); m < end) within_.push_back(m);
  });
  const uint64_t wanted = keep - above;
  if (within_.size() <= wanted) return;  // the rest of the span is zeros
  const auto last = within_.begin() + static_cast<ptrdiff_t>(wanted) - 1;
  std::nth_element(within_.begin(), last, within_.end(), std::greater<>());
  const uint64_t smallest = wanted == 0 ? end : *last;
  uint64_t ties = wanted - static_cast<uint64_t>(
                               std::count_if(within_.begin(), within_.end(), [=](uint64_t m) { return m > smallest; }));
  for_each(0, n, [&](uint64_t i) {
    const uint64_t m = magnitude(values[i]);
    if (m > smallest) return;
    if (m == smallest && ties > 0) {
      --ties;
    } else {
      marks_[i / 64] &= ~(uint64_t{1} << (i % 64));
    }
  });
}

Selection shorter_form(const std::vector<uint32_t>& indices, uint64_t count) {
  size_t gaps = 0;
  uint64_t next = 0;  // one past the last index
  for (const uint32_t i : indices) {
    gaps += gap_bytes(i - next + 1);
    next = uint64_t{i} + 1;
  }
  return gaps <= bitmap_bytes(count) ? Selection::gaps : Selection::bitmap;
}

void write_indices(const std::vector<uint32_t>& indices, uint64_t count, Selection form, FilterWriter& out) {
  out.put(static_cast<uint32_t>(indices.size()));
  if (form == Selection::bitmap) {
    std::byte* bits = out.take(bitmap_bytes(count));
    std::memset(bits, 0, bitmap_bytes(count));
    for (const uint32_t i : indices) bits[i / 8] |= std::byte{1} << (i % 8);
    return;
  }
  constexpr size_t kMostBytes = 5;
  const size_t before = out.size();
  std::byte* to = out.take(indices.size() * kMostBytes);
  size_t used = 0;
  uint64_t next = 0;
  for (const uint32_t i : indices) {
    uint64_t gap = i - next + 1;
    for (; gap >= 0x80; gap >>= 7) to[used++] = static_cast<std::byte>(gap | 0x80);
    to[used++] = static_cast<std::byte>(gap);
    next = uint64_t{i} + 1;
  }
  out.cut(before + used);
}

namespace {

Status read_gaps(FilterReader& in, uint32_t n, uint64_t count, std::vector<uint32_t>& out) {
  if (n > in.left()) return malformed_filtered("fewer gaps than elements");
  out.reserve(n);
  uint64_t next = 0;
  for (uint32_t i = 0; i < n; ++i) {
    uint64_t gap = 0;
    uint8_t byte = 0x80;
    for (int shift = 0; (byte & 0x80) != 0; shift += 7) {
      if (shift > 28 || !in.get(byte)) return malformed_filtered("a gap that does not end");
      gap |= static_cast<uint64_t>(byte & 0x7f) << shift;
    }
    if (gap == 0 || gap > count - next) return malformed_filtered("an index that is not there");
    next += gap;
    out.push_back(static_cast<uint32_t>(next - 1));
  }
  return {};
}

Status read_bitmap(FilterReader& in, uint32_t n, uint64_t count, std::vector<uint32_t>& out) {
  if (n > count) return malformed_filtered("more indices than elements");
  const std::byte* bits = in.take(bitmap_bytes(count));
  if (bits == nullptr) return malformed_filtered("a bitmap that does not end");
  out.reserve(n);
  for (uint64_t at = 0; at < count; at += 64) {
    uint64_t word = 0;
    std::memcpy(&word, bits + at / 8, std::min<size_t>(sizeof word, bitmap_bytes(count) - at / 8));
    for (; word != 0; word &= word - 1) {
      const uint64_t i = at + static_cast<uint64_t>(std::countr_zero(word));
      if (i >= count || out.size() == n) return malformed_filtered("a bitmap whose marks differ from its count");
      out.push_back(static_cast<uint32_t>(i));
    }
  }
  if (out.size() != n) return malformed_filtered("a bitmap whose marks differ from its count");
  return {};
}

}  // namespace

Status read_indices(FilterReader& in, Selection form, uint64_t count, std::vector<uint32_t>& out) {
  uint32_t n = 0;
  if (!in.get(n)) return malformed_filtered("a choice without its size");
  out.clear();
  return form == Selection::gaps ? read_gaps(in, n, count, out) : read_bitmap(in, n, count, out);
}

}  // namespace actorhost
