#include "host/engine/filter/half.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr uint64_t kBlock = 1024;  // stays in the first-level cache

// Calls visit(first, n) for blocks of at most kBlock elements.
template <typename Visit>
void for_each_block(uint64_t count, Visit&& visit) {
  for (uint64_t first = 0; first < count; first += kBlock) visit(first, std::min(kBlock, count - first));
}

}  // namespace

bool write_halves(const kernel::Kernels& k, Dtype dtype, uint64_t n, const void* values, void* residual,
                  FilterWriter& out) {
  const size_t before = out.size();
  auto* halves = reinterpret_cast<uint16_t*>(out.take(n * sizeof(uint16_t)));
  const auto* from = static_cast<const std::byte*>(values);
  const size_t item = dtype_size(dtype);
  bool fits = true;
  for_each_block(n, [&](uint64_t first, uint64_t count) {
    fits = fits && k.to_half(dtype, static_cast<int64_t>(count), halves + first, from + first * item);
  });
  if (!fits) {
    out.cut(before);
    return false;
  }
  if (residual == nullptr) return true;
  alignas(8) std::byte sent[kBlock * sizeof(double)];
  for_each_block(n, [&](uint64_t first, uint64_t count) {
    k.from_half(dtype, static_cast<int64_t>(count), sent, halves + first);
    k.residual_of(dtype, static_cast<int64_t>(count), static_cast<std::byte*>(residual) + first * item, sent);
  });
  return true;
}

Status read_halves(const kernel::Kernels& k, FilterReader& in, Dtype dtype, uint64_t n, void* out) {
  if (n > in.left() / sizeof(uint16_t)) return Error{Code::bad_data, "filtered: fewer halves than elements"};
  const std::byte* bytes = in.take(n * sizeof(uint16_t));
  uint16_t halves[kBlock];  // aligned copy: the bytes may have any alignment
  for_each_block(n, [&](uint64_t first, uint64_t count) {
    std::memcpy(halves, bytes + first * sizeof(uint16_t), count * sizeof(uint16_t));
    k.from_half(dtype, static_cast<int64_t>(count), static_cast<std::byte*>(out) + first * dtype_size(dtype), halves);
  });
  return {};
}

}  // namespace actorhost
