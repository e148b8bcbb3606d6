#pragma once
// Reductions with a fixed order (kernels.hpp), for sums, softmax and products with a vector.

#include <type_traits>

#include "host/kernel/isa/isa.hpp"
#include "host/kernel/isa/math.hpp"

namespace actorhost::kernel::AH_ISA {

inline constexpr int64_t kBlock = 4096;
inline constexpr double kInfinity = __builtin_inf();

struct Add {
  static constexpr int kLanes = 32;  // running values; a sum's result depends on their number
  static constexpr double kStart = 0;
  template <typename T>
  static T in(T x) noexcept {
    return x;
  }
  template <typename T>
  static T join(T x, T y) noexcept {
    return x + y;
  }
};

struct AddSquares : Add {
  template <typename T>
  static T in(T x) noexcept {
    return x * x;
  }
};

/// The largest or smallest element; NaN if there is one. `better` is one instruction, but loses a NaN in its first
/// argument.
struct Best : Add {
  static constexpr int kLanes = 64;
};

struct Larger : Best {
  static constexpr double kStart = -kInfinity;
  template <typename T>
  static T better(T x, T y) noexcept {
    return x > y ? x : y;
  }
  template <typename T>
  static T join(T x, T y) noexcept {
    return (x > y) | (x != x) ? x : y;
  }
};

struct Smaller : Best {
  static constexpr double kStart = kInfinity;
  template <typename T>
  static T better(T x, T y) noexcept {
    return x < y ? x : y;
  }
  template <typename T>
  static T join(T x, T y) noexcept {
    return (x < y) | (x != x) ? x : y;
  }
};

/// Joins whole groups of Op::kLanes elements to the running values; returns the number of elements.
template <typename Op, typename T, typename At>
inline int64_t join_groups(int64_t n, T* lanes, At at) noexcept {
  int64_t i = 0;
  for (; i + Op::kLanes <= n; i += Op::kLanes) {
    for (int j = 0; j < Op::kLanes; ++j) lanes[j] = Op::join(lanes[j], Op::in(at(i + j)));
  }
  return i;
}

/// As join_groups, by `better` and one search for NaN in two elements at once. The last group overlaps the group
/// before, so all elements of a block with a whole group are joined.
template <typename Op, typename T, typename At>
requires std::is_base_of_v<Best, Op>
inline int64_t join_groups(int64_t n, T* lanes, At at) noexcept {
  constexpr int kHalf = Op::kLanes / 2;
  using Int = typename FloatBits<T>::Int;
  if (n < Op::kLanes) return 0;
  Int any_nan[kHalf] = {};
  const auto join = [&](int64_t i) __attribute__((always_inline)) {
    for (int j = 0; j < kHalf; ++j) {
      const T x = at(i + j);
      const T y = at(i + kHalf + j);
      lanes[j] = Op::better(x, lanes[j]);
      lanes[kHalf + j] = Op::better(y, lanes[kHalf + j]);
      any_nan[j] |= __builtin_isunordered(x, y) ? Int{1} : Int{0};
    }
  };
  for (int64_t i = 0; i + Op::kLanes <= n; i += Op::kLanes) join(i);
  if (n % Op::kLanes != 0) join(n - Op::kLanes);
  Int found = 0;
  for (int j = 0; j < kHalf; ++j) found |= any_nan[j];
  if (found != 0) lanes[0] = static_cast<T>(__builtin_nan(""));
  return n;
}

/// One block of at most kBlock elements: running values, which are then folded pairwise.
template <typename Op, typename T, typename At>
inline T reduce_block(int64_t n, At at) noexcept {
  constexpr int kLanes = Op::kLanes;
  T lanes[kLanes];
  for (int j = 0; j < kLanes; ++j) lanes[j] = static_cast<T>(Op::kStart);
  int64_t i = join_groups<Op>(n, lanes, at);
  for (int j = 0; i < n; ++i, ++j) lanes[j] = Op::join(lanes[j], Op::in(at(i)));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] = Op::join(lanes[j], lanes[j + width]);
  }
  return lanes[0];
}

template <typename Op, typename T>
inline double reduce_all(int64_t n, const T* a, int64_t step) noexcept {
  double total = Op::kStart;
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t count = n - from < kBlock ? n - from : kBlock;
    const T* block = a + from * step;
    const T part = step == 1 ? reduce_block<Op, T>(count, [=](int64_t i) { return block[i]; })
                             : reduce_block<Op, T>(count, [=](int64_t i) { return block[i * step]; });
    total = Op::join(total, static_cast<double>(part));
  }
  return total;
}

}  // namespace actorhost::kernel::AH_ISA
