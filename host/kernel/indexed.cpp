#include "host/kernel/indexed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

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

/// Calls f(i, row) for each position, converted to count from 0.
template <typename F>
void each_position(const View& index, F f) {
  with_type(index.dtype, [&]<typename T>(T) {
    const T* at = elements<T>(index);
    const int64_t n = index.size();
    for (int64_t i = 0; i < n; ++i) f(i, static_cast<int64_t>(at[i]) - 1);
  });
}

/// to += x, with wraparound.
template <typename T>
void add_to(T& to, T x) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    to += x;
  } else if constexpr (std::is_same_v<T, Truth>) {
    to = Truth(to || x);
  } else {
    to = static_cast<T>(static_cast<std::make_unsigned_t<T>>(to) + static_cast<std::make_unsigned_t<T>>(x));
  }
}

/// Ascending order, NaN last.
template <typename T>
bool below(T x, T y) noexcept {
  if constexpr (std::is_floating_point_v<T>) return x < y || (y != y && x == x);
  return x < y;
}

/// For each element of `index`, calls f with the element of `moved` at the given position and the element of `still` at
/// the same place as the index.
template <typename T, typename F>
void each_gathered(const View& index, int dim, const View& moved, const View& still, F f) {
  std::array<int64_t, Shape::kMaxRank> at{};
  const auto d = static_cast<size_t>(dim);
  const size_t rank = index.shape.rank;
  T* const moved_data = elements<T>(moved);
  T* const still_data = elements<T>(still);
  each_position(index, [&](int64_t, int64_t position) {
    int64_t from = position * moved.steps[d];
    int64_t to = 0;
    for (size_t i = 0; i < rank; ++i) {
      if (i != d) from += at[i] * moved.steps[i];
      to += at[i] * still.steps[i];
    }
    f(moved_data[from], still_data[to]);
    for (size_t i = rank; i-- > 0 && ++at[i] == index.shape[i];) at[i] = 0;
  });
}

template <typename T>
void sort_run(const T* from, int64_t n, bool descending, T* values, int64_t* positions, std::vector<int64_t>& order) {
  if (positions == nullptr && !descending) {
    std::copy_n(from, n, values);
    std::stable_sort(values, values + n, below<T>);
    return;
  }
  order.resize(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const T x = from[i];
    const T y = from[j];
    if (!descending) return below(x, y);
    return x != x || y != y ? below(x, y) : y < x;
  });
  for (int64_t i = 0; i < n; ++i) {
    const int64_t place = order[static_cast<size_t>(i)];
    if (values != nullptr) values[i] = from[place];
    if (positions != nullptr) positions[i] = place + 1;
  }
}

/// kWidth 0: the rows have `width` elements, a number that is unknown at compile time.
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
    elements<int64_t>(out)[i] = best + 1;
  }
  return points.shape[0];
}

}  // namespace

int64_t first_bad_position(const View& index, int64_t rows) noexcept {
  return with_type(index.dtype, [&]<typename T>(T) {
    const T* at = elements<T>(index);
    const auto bad = [&](T position) {
      if constexpr (std::is_floating_point_v<T>) {
        return !(position >= 1 && position <= static_cast<T>(rows) && position == std::floor(position));
      } else {
        const auto whole = static_cast<int64_t>(position);
        return whole < 1 || whole > rows;
      }
    };
    return static_cast<int64_t>(std::find_if(at, at + index.size(), bad) - at);
  });
}

void take_rows(const View& from, int dim, const View& index, const View& out) noexcept {
  int64_t outer = 1;
  int64_t inner = 1;
  for (int d = 0; d < from.shape.rank; ++d) {
    if (d != dim) (d < dim ? outer : inner) *= from.shape[static_cast<size_t>(d)];
  }
  const auto bytes = static_cast<size_t>(inner) * dtype_size(from.dtype);
  if (bytes == 0) return;
  const auto rows = static_cast<size_t>(from.shape[static_cast<size_t>(dim)]);
  const auto* source = static_cast<const char*>(from.data);
  auto* to = static_cast<char*>(out.data);
  for (int64_t o = 0; o < outer; ++o) {
    const auto each = [&](auto size) {
      each_position(index, [to, source, size](int64_t i, int64_t row) {
        std::memcpy(to + static_cast<size_t>(i) * size, source + static_cast<size_t>(row) * size, size);
      });
    };
    if (bytes == 4) {  // single elements, without a call of memcpy for each
      each(std::integral_constant<size_t, 4>());
    } else if (bytes == 8) {
      each(std::integral_constant<size_t, 8>());
    } else if (bytes == 1) {
      each(std::integral_constant<size_t, 1>());
    } else {
      each(bytes);
    }
    source += rows * bytes;
    to += static_cast<size_t>(index.size()) * bytes;
  }
}

void add_rows(const View& rows, const View& index, const View& to, bool put) noexcept {
  with_type(to.dtype, [&]<typename T>(T) {
    const int64_t width = row_size(to);
    const T* from = elements<T>(rows);
    T* sums = elements<T>(to);
    each_position(index, [&](int64_t i, int64_t row) {
      if (put) {
        std::copy_n(from + i * width, width, sums + row * width);
      } else {
        for (int64_t d = 0; d < width; ++d) add_to(sums[row * width + d], from[i * width + d]);
      }
    });
  });
}

void gather(const View& from, int dim, const View& index, const View& out) noexcept {
  with_type(from.dtype, [&]<typename T>(T) { each_gathered<T>(index, dim, from, out, [](T& x, T& to) { to = x; }); });
}

void scatter(const View& from, int dim, const View& index, const View& to, bool add) noexcept {
  with_type(from.dtype, [&]<typename T>(T) {
    if (add) return each_gathered<T>(index, dim, to, from, [](T& sum, T& x) { add_to(sum, x); });
    each_gathered<T>(index, dim, to, from, [](T& place, T& x) { place = x; });
  });
}

int64_t count_nonzero(const View& a) noexcept {
  return with_type(a.dtype, [&]<typename T>(T) {
    const T* at = elements<T>(a);
    return static_cast<int64_t>(std::count_if(at, at + a.size(), [](T x) { return x != 0; }));
  });
}

void nonzero(const View& a, const View& out) noexcept {
  with_type(a.dtype, [&]<typename T>(T) {
    auto* to = elements<int64_t>(out);
    for (int64_t i = 0; i < a.size(); ++i) {
      if (elements<T>(a)[i] != 0) *to++ = i + 1;
    }
  });
}

void sort(const View& a, bool descending, const View& values, const View& positions) {
  const int64_t n = a.shape.rank == 0 ? 1 : a.shape[a.shape.rank - size_t{1}];
  if (a.size() == 0) return;
  with_type(a.dtype, [&]<typename T>(T) {
    std::vector<int64_t> order;
    for (int64_t at = 0; at < a.size(); at += n) {
      sort_run(elements<T>(a) + at, n, descending, values.data == nullptr ? nullptr : elements<T>(values) + at,
               positions.data == nullptr ? nullptr : elements<int64_t>(positions) + at, order);
    }
  });
}

void search(const View& sorted, const View& values, bool right, const View& out) noexcept {
  with_type(sorted.dtype, [&]<typename T>(T) {
    const T* first = elements<T>(sorted);
    const T* last = first + sorted.size();
    for (int64_t i = 0; i < values.size(); ++i) {
      const T x = elements<T>(values)[i];
      const T* at = right ? std::upper_bound(first, last, x, below<T>) : std::lower_bound(first, last, x, below<T>);
      elements<int64_t>(out)[i] = at - first + 1;
    }
  });
}

int64_t nearest_rows(const View& points, const View& rows, const View& out) noexcept {
  const auto by = [&]<typename T>(T) {
    switch (points.shape[1]) {
      case 1: return nearest<T, 1>(points, rows, out);
      case 2: return nearest<T, 2>(points, rows, out);
      case 3: return nearest<T, 3>(points, rows, out);
      case 4: return nearest<T, 4>(points, rows, out);
      default: return nearest<T, 0>(points, rows, out);
    }
  };
  return points.dtype == Dtype::f32 ? by(float{}) : by(double{});
}

}  // namespace actorhost::kernel
