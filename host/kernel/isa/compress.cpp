// The kernels of compression filters: half precision, 256 levels between the smallest and the largest element of a
// block, and the elements of largest magnitude. They use integer arithmetic on the bits, or float operations in a fixed
// order, so that encoding and decoding give the same bits on every machine.
#include "host/kernel/isa/isa.hpp"
#include "host/kernel/isa/math.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

constexpr int kLanes = 16;
constexpr uint16_t kHalfInfinity = 0x7c00;
constexpr uint16_t kHalfQuiet = 0x0200;

template <typename T>
struct HalfOf : FloatBits<T> {
  using typename FloatBits<T>::Int;
  using FloatBits<T>::kMantissa;
  static constexpr int kShift = kMantissa - 10;
  static constexpr Int kSign = Int{1} << (8 * sizeof(T) - 1);
  static constexpr Int kOne = Int{1};
  static constexpr Int kInfinity = (2 * FloatBits<T>::kBias + 1) << kMantissa;
  static constexpr Int kRebias = (FloatBits<T>::kBias - 15) << kMantissa;
  static constexpr Int kFirstNormal = (FloatBits<T>::kBias - 14) << kMantissa;  // 2^-14
  static constexpr Int kBeyond = (FloatBits<T>::kBias + 16) << kMantissa;       // 2^16
  /// Adding 2^(mantissa - 24) moves a number's multiple of 2^-24, the step of subnormal halves, into the low bits.
  static constexpr Int kMagic = (FloatBits<T>::kBias + kMantissa - 24) << kMantissa;
};

template <typename T>
inline uint16_t to_half_one(T x) noexcept {
  using H = HalfOf<T>;
  using Int = typename H::Int;
  const Int bits = bits_of(x);
  const Int size = bits & ~H::kSign;
  const Int tie = (H::kOne << (H::kShift - 1)) - 1;
  const Int normal = (size + tie + ((size >> H::kShift) & 1) - H::kRebias) >> H::kShift;
  const Int small = bits_of(of_bits<T>(size) + of_bits<T>(H::kMagic)) - H::kMagic;
  const Int special = size > H::kInfinity ? kHalfInfinity | kHalfQuiet | ((size >> H::kShift) & 0x3ff) : kHalfInfinity;
  Int half = size < H::kFirstNormal ? small : normal;
  half = size >= H::kBeyond ? special : half;
  return static_cast<uint16_t>(half | (bits >> (8 * sizeof(T) - 16) & 0x8000));
}

template <typename T>
inline T from_half_one(uint16_t half) noexcept {
  using H = HalfOf<T>;
  using Int = typename H::Int;
  const Int size = half & 0x7fffU;
  const Int sign = static_cast<Int>(half & 0x8000U) << (8 * sizeof(T) - 16);
  const Int normal = (size << H::kShift) + H::kRebias;
  const Int small = bits_of(of_bits<T>(H::kMagic + size) - of_bits<T>(H::kMagic));
  const Int quiet = static_cast<Int>(size > kHalfInfinity) << (H::kMantissa - 1);
  const Int special = H::kInfinity | ((size & 0x3ff) << H::kShift) | quiet;
  // Uses masks instead of branches: g++ would move the subtraction into a branch, and not vectorise the loop.
  const Int is_small = Int{0} - static_cast<Int>(size < 0x400);
  const Int is_special = Int{0} - static_cast<Int>(size >= kHalfInfinity);
  const Int bits = (small & is_small) | (special & is_special) | (normal & ~(is_small | is_special));
  return of_bits<T>(bits | sign);
}

// Writes the smallest and the largest element to range[0] and range[1]; false if an element is infinite or NaN. It uses
// lanes as reduce.cpp does, so that the choice between 0 and -0 does not depend on the register width.
template <typename T>
inline bool range_of(int64_t n, const T* a, T* range) noexcept {
  T low[kLanes];
  T high[kLanes];
  T bad[kLanes];  // x - x: 0 or NaN
  for (int j = 0; j < kLanes; ++j) {
    low[j] = high[j] = a[0];
    bad[j] = 0;
  }
  const auto update = [&](int j, T x) {
    low[j] = x < low[j] ? x : low[j];
    high[j] = x > high[j] ? x : high[j];
    bad[j] += x - x;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) update(j, a[i + j]);
  }
  for (int j = 0; i < n; ++i, ++j) update(j, a[i]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) {
      low[j] = low[j + width] < low[j] ? low[j + width] : low[j];
      high[j] = high[j + width] > high[j] ? high[j + width] : high[j];
      bad[j] += bad[j + width];
    }
  }
  range[0] = low[0];
  range[1] = high[0];
  return bad[0] == 0;
}

// The scale of the levels. Numbers are multiplied by `factor`, so that neither the width of a range nor 255 times the
// width overflows. Encoder and decoder derive `factor` from the range.
template <typename T>
struct Levels {
  T factor;
  T low;
  T high;
  T width;

  explicit Levels(const T* range) noexcept {
    constexpr T kWidest = sizeof(T) == 4 ? T(0x1p119) : T(0x1p1015);
    factor = range[1] * T(0.5) - range[0] * T(0.5) < kWidest ? T(1) : T(0x1p-10);
    low = range[0] * factor;
    high = range[1] * factor;
    width = high - low;
  }
};

template <typename T>
inline void to_levels(int64_t n, const T* a, const T* range, uint8_t* out) noexcept {
  const Levels<T> levels(range);
  if (levels.width == 0) {
    __builtin_memset(out, 0, static_cast<size_t>(n));
    return;
  }
  const T factor = levels.factor;
  const T low = levels.low;
  const T width = levels.width;
  AH_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<uint8_t>(static_cast<int32_t>((a[i] * factor - low) / width * T(255) + T(0.5)));
  }
}

// A magnitude as an integer in the same order; NaN is above infinity.
template <typename T>
inline typename FloatBits<T>::Int magnitude(T x) noexcept {
  return bits_of(x) & ~HalfOf<T>::kSign;
}

}  // namespace

bool to_half(Dtype dtype, int64_t n, uint16_t* out, const void* a) noexcept {
  return by_dtype(dtype, [=]<typename T>(T) {
    const T* in = as<T>(a);
    typename FloatBits<T>::Int fits = 1;
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const uint16_t half = to_half_one(in[i]);
      out[i] = half;
      const bool grown = ((half & 0x7fff) == kHalfInfinity) & (magnitude(in[i]) < HalfOf<T>::kInfinity);
      fits &= grown ? 0U : 1U;
    }
    return fits != 0;
  });
}

void from_half(Dtype dtype, int64_t n, void* out, const uint16_t* halves) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    T* to = as<T>(out);
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) to[i] = from_half_one<T>(halves[i]);
  });
}

bool quantise(Dtype dtype, int64_t n, uint8_t* out, void* range, const void* a) noexcept {
  return by_dtype(dtype, [=]<typename T>(T) {
    T* ends = as<T>(range);
    if (!range_of(n, as<T>(a), ends)) return false;
    to_levels(n, as<T>(a), ends, out);
    return true;
  });
}

void dequantise(Dtype dtype, int64_t n, void* out, const void* range, const uint8_t* levels) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    const T* ends = as<T>(range);
    T* to = as<T>(out);
    const Levels<T> scale(ends);
    if (scale.width == 0) {
      for (int64_t i = 0; i < n; ++i) to[i] = ends[0];
      return;
    }
    const T back = 1 / scale.factor;
    const T low = scale.low;
    const T high = scale.high;
    const T width = scale.width;
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T x = low + static_cast<T>(levels[i]) * width / T(255);
      to[i] = (x < high ? x : high) * back;
    }
  });
}

void residual_of(Dtype dtype, int64_t n, void* residual, const void* sent) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    T* to = as<T>(residual);
    const T* in = as<T>(sent);
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T left = to[i] - in[i];
      to[i] = left - left == 0 ? left : T(0);
    }
  });
}

void count_magnitudes(Dtype dtype, int64_t n, uint32_t* counts, const void* a) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    constexpr int kShift = static_cast<int>(8 * sizeof(T)) - 1 - kMagnitudeBits;
    const T* in = as<T>(a);
    // Uses two tables: neighbours are often equal, and two increments of the same counter in a row would wait for each
    // other.
    uint32_t* other = counts + kMagnitudes;
    int64_t i = 0;
    for (; i + 2 <= n; i += 2) {
      ++counts[magnitude(in[i]) >> kShift];
      ++other[magnitude(in[i + 1]) >> kShift];
    }
    if (i < n) ++counts[magnitude(in[i]) >> kShift];
  });
}

void mark_magnitudes(Dtype dtype, int64_t n, uint64_t* marks, const void* a, uint64_t least) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    using Int = typename FloatBits<T>::Int;
    const T* in = as<T>(a);
    const Int floor = static_cast<Int>(least);
    for (int64_t from = 0; from < n; from += 64) {
      uint8_t flags[64] = {};
      const T* block = in + from;
      if (n - from >= 64) {
        for (int i = 0; i < 64; ++i) flags[i] = magnitude(block[i]) >= floor ? 1 : 0;
      } else {
        for (int64_t i = 0; i < n - from; ++i) flags[i] = magnitude(block[i]) >= floor ? 1 : 0;
      }
      uint64_t word = 0;
      for (int byte = 0; byte < 8; ++byte) {
        uint64_t eight;
        __builtin_memcpy(&eight, flags + static_cast<ptrdiff_t>(8) * byte, sizeof eight);
        word |= (eight * 0x0102040810204080U >> 56) << (8 * byte);  // gathers the lowest bit of each byte
      }
      marks[from / 64] = word;
    }
  });
}

}  // namespace actorhost::kernel::AH_ISA
