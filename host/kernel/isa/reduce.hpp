#pragma once
// Reductions with a fixed order (kernels.hpp), for sums, softmax and products with a vector.

#include "host/kernel/isa/isa.hpp"

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

struct Larger : Add {
  static constexpr int kLanes = 64;  // a selection has a longer latency than an addition, so more must be in flight
  static constexpr double kStart = -kInfinity;
  template <typename T>
  static T join(T x, T y) noexcept {
    return (x > y) | (x != x) ? x : y;
  }
};

struct Smaller : Add {
  static constexpr int kLanes = 64;
  static constexpr double kStart = kInfinity;
  template <typename T>
  static T join(T x, T y) noexcept {
    return (x < y) | (x != x) ? x : y;
  }
};

/// One block of at most kBlock elements: running values, which are then folded pairwise.
template <typename Op, typename T, typename At>
inline T reduce_block(int64_t n, At at) noexcept {
  constexpr int kLanes = Op::kLanes;
  T lanes[kLanes];
  for (int j = 0; j < kLanes; ++j) lanes[j] = static_cast<T>(Op::kStart);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lanes[j] = Op::join(lanes[j], Op::in(at(i + j)));
  }
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
