#include "host/kernel/indexed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace actorhost::kernel {

namespace {

template <typename T>
T* elements(const View& view) noexcept {
  return static_cast<T*>(view.data);
}

int64_t row_size(const View& view) noexcept {
  int64_t size = 1;
  for (int d = 1; d < view.shape.rank; ++d) size *= view.shape[static_cast<size_t>(d)];
  return size;
}

/// Calls f(type) with a value of the view's element type.
template <typename F>
auto by_type(const View& view, F f) {
  return view.dtype == Dtype::f32 ? f(float{}) : f(double{});
}

/// Calls f(i, row) with each position, from 0.
template <typename F>
void each_position(const View& index, F f) {
  by_type(index, [&](auto type) {
    const auto* at = elements<decltype(type)>(index);
    for (int64_t i = 0; i < index.size(); ++i) f(i, static_cast<int64_t>(at[i]) - 1);
  });
}

/// kWidth 0: rows have `width` elements, a number that is not known at compile time.
template <typename T, int64_t kWidth>
int64_t nearest(const View& points, const View& rows, const View& out) noexcept {
  const int64_t width = kWidth != 0 ? kWidth : points.shape[1];
  const int64_t count = rows.shape[0];
  const T* point = elements<T>(points);
  for (int64_t i = 0; i < points.shape[0]; ++i, point += width) {
    T least = std::numeric_limits<T>::infinity();
    int64_t best = count;
    const T* row = elements<T>(rows);
    for (int64_t j = 0; j < count; ++j, row += width) {
      T distance = 0;
      for (int64_t d = 0; d < width; ++d) {
        const T apart = point[d] - row[d];
        distance += apart * apart;
      }
      if (distance < least) {
        least = distance;
        best = j;
      }
    }
    if (best == count) return i;
    elements<T>(out)[i] = static_cast<T>(best + 1);
  }
  return points.shape[0];
}

}  // namespace

int64_t first_bad_position(const View& index, int64_t rows) noexcept {
  return by_type(index, [&](auto type) {
    using T = decltype(type);
    const T* at = elements<T>(index);
    const auto bad = [&](T position) {
      return !(position >= 1 && position <= static_cast<T>(rows) && position == std::floor(position));
    };
    return static_cast<int64_t>(std::find_if(at, at + index.size(), bad) - at);
  });
}

void take_rows(const View& from, const View& index, const View& out) noexcept {
  const auto bytes = static_cast<size_t>(row_size(from)) * dtype_size(from.dtype);
  if (bytes == 0) return;
  const auto* source = static_cast<const char*>(from.data);
  auto* to = static_cast<char*>(out.data);
  each_position(index, [&](int64_t i, int64_t row) {
    std::memcpy(to + static_cast<size_t>(i) * bytes, source + static_cast<size_t>(row) * bytes, bytes);
  });
}

void add_rows(const View& rows, const View& index, const View& to) noexcept {
  by_type(to, [&](auto type) {
    using T = decltype(type);
    const int64_t width = row_size(to);
    const T* from = elements<T>(rows);
    T* sums = elements<T>(to);
    each_position(index, [&](int64_t i, int64_t row) {
      for (int64_t d = 0; d < width; ++d) sums[row * width + d] += from[i * width + d];
    });
  });
}

int64_t nearest_rows(const View& points, const View& rows, const View& out) noexcept {
  return by_type(points, [&](auto type) {
    using T = decltype(type);
    switch (points.shape[1]) {
      case 1: return nearest<T, 1>(points, rows, out);
      case 2: return nearest<T, 2>(points, rows, out);
      case 3: return nearest<T, 3>(points, rows, out);
      case 4: return nearest<T, 4>(points, rows, out);
      default: return nearest<T, 0>(points, rows, out);
    }
  });
}

}  // namespace actorhost::kernel
