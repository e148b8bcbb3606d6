#include "host/engine/filter/sign.hpp"

#include <array>
#include <cmath>

namespace actorhost {

namespace {

constexpr uint64_t kBits = 8;  // signs of a byte

constexpr size_t sign_bytes(uint64_t n) noexcept { return static_cast<size_t>((n + kBits - 1) / kBits); }

// Eight sums in a fixed order, so that every machine computes the same bits.
template <typename T>
double sum_of_magnitudes(uint64_t n, const T* values) noexcept {
  std::array<double, 8> sums{};
  for (uint64_t i = 0; i < n; ++i) sums[i % sums.size()] += std::abs(static_cast<double>(values[i]));
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

template <typename T>
bool write_of(uint64_t n, const T* values, T* residual, FilterWriter& out) {
  const T scale = n == 0 ? T{0} : static_cast<T>(sum_of_magnitudes(n, values) / static_cast<double>(n));
  if (!std::isfinite(scale)) return false;
  out.put(scale);
  std::byte* bytes = out.take(sign_bytes(n));
  for (uint64_t first = 0; first < n; first += kBits) {
    unsigned signs = 0;
    for (uint64_t i = first; i < n && i < first + kBits; ++i) {
      const bool negative = values[i] < 0;
      signs |= static_cast<unsigned>(negative) << (i - first);
      if (residual != nullptr) residual[i] = values[i] - (negative ? -scale : scale);
    }
    bytes[first / kBits] = static_cast<std::byte>(signs);
  }
  return true;
}

template <typename T>
Status read_of(FilterReader& in, uint64_t n, T* out) {
  T scale = 0;
  if (!in.get(scale) || !std::isfinite(scale) || scale < 0) return malformed_filtered("an impossible scale");
  const std::byte* bytes = in.take(sign_bytes(n));
  if (bytes == nullptr) return malformed_filtered("fewer signs than elements");
  if (n % kBits != 0 && std::to_integer<unsigned>(bytes[n / kBits]) >> (n % kBits) != 0) {
    return malformed_filtered("signs beyond the elements");
  }
  for (uint64_t i = 0; i < n; ++i) {
    const bool negative = (std::to_integer<unsigned>(bytes[i / kBits]) >> (i % kBits) & 1) != 0;
    out[i] = negative ? -scale : scale;
  }
  return {};
}

}  // namespace

bool write_signs(Dtype dtype, uint64_t n, const void* values, void* residual, FilterWriter& out) {
  if (dtype == Dtype::f32) {
    return write_of(n, static_cast<const float*>(values), static_cast<float*>(residual), out);
  }
  return write_of(n, static_cast<const double*>(values), static_cast<double*>(residual), out);
}

Status read_signs(FilterReader& in, Dtype dtype, uint64_t n, void* out) {
  if (dtype == Dtype::f32) return read_of(in, n, static_cast<float*>(out));
  return read_of(in, n, static_cast<double*>(out));
}

}  // namespace actorhost
