#include "host/kernel/aggregate.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "host/kernel/kernels.hpp"

namespace actorhost::kernel {

namespace {

constexpr size_t kLanes = 64;         // columns that are sorted together
constexpr size_t kNetworkLimit = 64;  // more vectors are sorted column by column

template <typename T>
double dot_of(uint64_t n, const T* a, const T* b) noexcept {
  std::array<double, 8> sums{};
  uint64_t i = 0;
  for (; i + sums.size() <= n; i += sums.size()) {
    for (size_t lane = 0; lane < sums.size(); ++lane) {
      sums[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    }
  }
  for (size_t lane = 0; i < n; ++i, ++lane) sums[lane] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

template <typename T>
T ordered(T value) noexcept {
  return value == value ? value : std::numeric_limits<T>::infinity();
}

template <typename T>
void trimmed_mean_of(Dtype dtype, uint64_t n, std::span<const void* const> vectors, size_t trim, T* out) {
  const size_t count = vectors.size();
  const double share = 1 / static_cast<double>(count - 2 * trim);
  std::vector<T> rows(count * kLanes);
  std::vector<T> column(count);
  for (uint64_t begin = 0; begin < n; begin += kLanes) {
    const auto width = static_cast<size_t>(std::min<uint64_t>(kLanes, n - begin));
    for (size_t row = 0; row < count; ++row) {
      const T* from = static_cast<const T*>(vectors[row]) + begin;
      for (size_t lane = 0; lane < width; ++lane) rows[row * kLanes + lane] = ordered(from[lane]);
    }
    if (count <= kNetworkLimit) {
      kernels().sort_columns(dtype, kLanes, static_cast<int64_t>(count), rows.data());
    } else {
      for (size_t lane = 0; lane < width; ++lane) {
        for (size_t row = 0; row < count; ++row) column[row] = rows[row * kLanes + lane];
        std::sort(column.begin(), column.end());
        for (size_t row = 0; row < count; ++row) rows[row * kLanes + lane] = column[row];
      }
    }
    std::array<double, kLanes> sums{};
    for (size_t row = trim; row < count - trim; ++row) {
      for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += static_cast<double>(rows[row * kLanes + lane]);
    }
    for (size_t lane = 0; lane < width; ++lane) out[begin + lane] = static_cast<T>(sums[lane] * share);
  }
}

}  // namespace

double dot(Dtype dtype, uint64_t n, const void* a, const void* b) noexcept {
  if (dtype == Dtype::f64) return dot_of(n, static_cast<const double*>(a), static_cast<const double*>(b));
  return dot_of(n, static_cast<const float*>(a), static_cast<const float*>(b));
}

void trimmed_mean(Dtype dtype, uint64_t n, std::span<const void* const> vectors, size_t trim, void* out) {
  if (dtype == Dtype::f64) return trimmed_mean_of(dtype, n, vectors, trim, static_cast<double*>(out));
  trimmed_mean_of(dtype, n, vectors, trim, static_cast<float*>(out));
}

}  // namespace actorhost::kernel
