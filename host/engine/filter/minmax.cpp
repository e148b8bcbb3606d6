#include "host/engine/filter/minmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/engine/filter/filter.hpp"

namespace actorhost {

namespace {

using kernel::Kernels;

constexpr uint64_t blocks_of(uint64_t n, uint32_t block) noexcept { return n / block + (n % block != 0 ? 1 : 0); }

// Computes the errors of the levels of one block, in parts that stay in the first-level cache, however large the block
// is.
template <typename T>
void write_residual(const Kernels& k, Dtype dtype, uint64_t n, const T* range, const uint8_t* levels,
                    std::byte* residual) {
  constexpr uint64_t kPart = 1024;
  T sent[kPart];
  for (uint64_t first = 0; first < n; first += kPart) {
    const auto count = static_cast<int64_t>(std::min(kPart, n - first));
    k.dequantise(dtype, count, sent, range, levels + first);
    k.residual_of(dtype, count, residual + first * sizeof(T), sent);
  }
}

template <typename T>
void write_of(const Kernels& k, Dtype dtype, uint64_t n, uint32_t block, const std::byte* values, std::byte* residual,
              FilterWriter& out) {
  out.put(block).put(uint32_t{0});
  const size_t ranges = out.size();
  out.take(blocks_of(n, block) * 2 * sizeof(T));
  size_t place = ranges;
  for (uint64_t first = 0; first < n; first += block, place += 2 * sizeof(T)) {
    const uint64_t count = std::min<uint64_t>(block, n - first);
    const std::byte* from = values + first * sizeof(T);
    const size_t before = out.size();
    auto* levels = reinterpret_cast<uint8_t*>(out.take(count));
    T range[2];
    if (k.quantise(dtype, static_cast<int64_t>(count), levels, range, from)) {
      if (residual != nullptr) write_residual(k, dtype, count, range, levels, residual + first * sizeof(T));
    } else {
      range[0] = range[1] = std::numeric_limits<T>::quiet_NaN();
      out.cut(before);
      std::memcpy(out.take(count * sizeof(T)), from, count * sizeof(T));
      if (residual != nullptr) std::memset(residual + first * sizeof(T), 0, count * sizeof(T));
    }
    std::memcpy(out.at(place), range, sizeof range);
  }
}

template <typename T>
Status read_block(const Kernels& k, FilterReader& in, Dtype dtype, uint64_t n, const std::byte* range_bytes,
                  std::byte* out) {
  T range[2];
  std::memcpy(range, range_bytes, sizeof range);
  if (std::isnan(range[0]) && std::isnan(range[1])) {
    const std::byte* bytes = in.take(n * sizeof(T));
    if (bytes == nullptr) return malformed_filtered("a block without its elements");
    std::memcpy(out, bytes, n * sizeof(T));
    return {};
  }
  if (!std::isfinite(range[0]) || !std::isfinite(range[1]) || range[0] > range[1])
    return malformed_filtered("an impossible range");
  const std::byte* levels = in.take(n);
  if (levels == nullptr) return malformed_filtered("a block without its levels");
  k.dequantise(dtype, static_cast<int64_t>(n), out, range, reinterpret_cast<const uint8_t*>(levels));
  return {};
}

template <typename T>
Status read_of(const Kernels& k, FilterReader& in, Dtype dtype, uint64_t n, std::byte* out) {
  uint32_t block = 0;
  uint32_t zero = 0;
  if (!in.get(block) || !in.get(zero) || zero != 0) return malformed_filtered("levels without their head");
  if (block < FilterSpec::kMinBlock || block > FilterSpec::kMaxBlock)
    return malformed_filtered("blocks of an impossible size");
  const uint64_t blocks = blocks_of(n, block);
  if (blocks > in.left() / (2 * sizeof(T))) return malformed_filtered("fewer ranges than blocks");
  const std::byte* range = in.take(blocks * 2 * sizeof(T));
  for (uint64_t first = 0; first < n; first += block, range += 2 * sizeof(T)) {
    AH_TRY(read_block<T>(k, in, dtype, std::min<uint64_t>(block, n - first), range, out + first * sizeof(T)));
  }
  return {};
}

}  // namespace

void write_levels(const Kernels& k, Dtype dtype, uint64_t n, uint32_t block, const void* values, void* residual,
                  FilterWriter& out) {
  const auto* from = static_cast<const std::byte*>(values);
  auto* left = static_cast<std::byte*>(residual);
  if (dtype == Dtype::f32) return write_of<float>(k, dtype, n, block, from, left, out);
  write_of<double>(k, dtype, n, block, from, left, out);
}

Status read_levels(const Kernels& k, FilterReader& in, Dtype dtype, uint64_t n, void* out) {
  auto* to = static_cast<std::byte*>(out);
  return dtype == Dtype::f32 ? read_of<float>(k, in, dtype, n, to) : read_of<double>(k, in, dtype, n, to);
}

}  // namespace actorhost
