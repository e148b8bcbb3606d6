// Products whose left operand is addressed by steps (kernels.hpp), for convolutions and matrices. A result tile of rows
// x two vectors stays in registers. Each element of the sum reads two vectors of b and broadcasts one element of each
// row of a. A result element is one chain of fused multiply-adds in any tile, so its bits do not depend on how rows are
// split.
#if defined(__FMA__)
#include <immintrin.h>
#endif

#include "host/kernel/isa/isa.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kTileRows = 14;  // 28 of 32 registers
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kTileRows = 6;  // 12 of 16 registers
#else
constexpr int kVectorBytes = 16;
constexpr int kTileRows = 6;
#endif
constexpr int kVectors = 2;
// Elements of the sum to prefetch b ahead: a panel may exceed the first-level cache.
constexpr int64_t kAhead = 8;

template <typename T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  static constexpr int64_t kCount = kVectorBytes / static_cast<int64_t>(sizeof(T));
};

template <typename T>
using Vector = typename Lanes<T>::Vector;

template <typename T>
[[gnu::always_inline]] inline Vector<T> multiply_add(Vector<T> a, Vector<T> b, Vector<T> c) noexcept {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return _mm512_fmadd_ps(a, b, c);
  if constexpr (sizeof(T) == 8) return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  if constexpr (sizeof(T) == 4) return _mm256_fmadd_ps(a, b, c);
  if constexpr (sizeof(T) == 8) return _mm256_fmadd_pd(a, b, c);
#else
  return a * b + c;
#endif
}

template <typename T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) noexcept {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <int kIndex>
struct Constant {
  static constexpr int kValue = kIndex;
};

// f(Constant<0>) .. f(Constant<kCount - 1>), unrolled, so that arrays of vectors become registers.
template <int kCount, typename F>
[[gnu::always_inline]] inline void repeat(const F& f) noexcept {
  if constexpr (kCount > 0) {
    repeat<kCount - 1>(f);
    f(Constant<kCount - 1>{});
  }
}

// Addresses of up to 15 rows from few registers: every fifth row, and the step times 1, 2, 3 and 4. The asm hides from
// the compiler that `three` is three steps; otherwise it uses a register for each row.
template <typename T, int kRows>
struct Rows {
  static constexpr int kFives = (kRows + 4) / 5;
  const char* five[kFives];
  int64_t step;
  int64_t three;

  [[gnu::always_inline]] Rows(const T* a, int64_t a_step) noexcept
      : step(a_step * static_cast<int64_t>(sizeof(T))), three(3 * step) {
    repeat<kFives>([&](auto i) __attribute__((always_inline)) {
      five[i.kValue] = reinterpret_cast<const char*>(a + 5 * i.kValue * a_step);
      asm("" : "+r"(five[i.kValue]));
    });
    asm("" : "+r"(three));
  }

  template <int kRow>
  [[gnu::always_inline]] T at() const noexcept {
    constexpr int kRest = kRow % 5;
    T x;
    __builtin_memcpy(&x, five[kRow / 5] + (kRest == 3 ? three : kRest * step), sizeof x);
    return x;
  }

  [[gnu::always_inline]] void advance(int64_t bytes) noexcept {
    repeat<kFives>([&](auto i) __attribute__((always_inline)) { five[i.kValue] += bytes; });
  }
};

template <typename T, int kRows, int kWide>
[[gnu::noinline]] void tile(const StepProduct& s, const T* a, T* c) noexcept {
  Vector<T> sums[kRows][kWide];
  repeat<kRows>([&](auto i) __attribute__((always_inline)) {
    repeat<kWide>([&](auto v) __attribute__((always_inline)) {
      sums[i.kValue][v.kValue] = load(as<T>(s.start) + v.kValue * Lanes<T>::kCount);
    });
  });
  const int64_t inner = s.inner;
  const int64_t a_inner = s.a_inner * static_cast<int64_t>(sizeof(T));
  const int64_t b_inner = s.b_inner;
  Rows<T, kRows> rows(a, s.a_step);
  const int64_t a_back = (s.a_outer - inner * s.a_inner) * static_cast<int64_t>(sizeof(T));
  const T* b = as<T>(s.b);
  const int64_t b_back = s.b_outer - inner * b_inner;
  const int64_t a_next = (s.a_batch - s.outer * s.a_outer) * static_cast<int64_t>(sizeof(T));
  const int64_t b_next = s.b_batch - s.outer * s.b_outer;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t p = 0; p < s.outer; ++p) {
      for (int64_t q = 0; q < inner; ++q) {
        Vector<T> right[kWide];
        repeat<kWide>([&](auto v)
                          __attribute__((always_inline)) { right[v.kValue] = load(b + v.kValue * Lanes<T>::kCount); });
        repeat<kWide>([&](auto v) __attribute__((always_inline)) {
          __builtin_prefetch(b + kAhead * b_inner + v.kValue * Lanes<T>::kCount);
        });
        repeat<kRows>([&](auto i) __attribute__((always_inline)) {
          const Vector<T> left = rows.template at<i.kValue>() - Vector<T>{};
          repeat<kWide>([&](auto v) __attribute__((always_inline)) {
            sums[i.kValue][v.kValue] = multiply_add<T>(left, right[v.kValue], sums[i.kValue][v.kValue]);
          });
        });
        rows.advance(a_inner);
        b += b_inner;
      }
      rows.advance(a_back);
      b += b_back;
    }
    rows.advance(a_next);
    b += b_next;
  }
  if (s.relu) {
    repeat<kRows>([&](auto i) __attribute__((always_inline)) {
      repeat<kWide>([&](auto v) __attribute__((always_inline)) {
        Vector<T>& sum = sums[i.kValue][v.kValue];
        sum = sum < 0 ? Vector<T>{} : sum;
      });
    });
  }
  const bool whole = s.columns == kWide * Lanes<T>::kCount;
  repeat<kRows>([&](auto i) __attribute__((always_inline)) {
    T* row = c + i.kValue * s.c_step;
    if (!whole) {
      T some[kWide * Lanes<T>::kCount];
      repeat<kWide>([&](auto v) __attribute__((always_inline)) {
        __builtin_memcpy(some + v.kValue * Lanes<T>::kCount, &sums[i.kValue][v.kValue], kVectorBytes);
      });
      for (int64_t j = 0; j < s.columns; ++j) row[j] = s.accumulate ? row[j] + some[j] : some[j];
      return;
    }
    repeat<kWide>([&](auto v) __attribute__((always_inline)) {
      T* to = row + v.kValue * Lanes<T>::kCount;
      const Vector<T> value = s.accumulate ? load(to) + sums[i.kValue][v.kValue] : sums[i.kValue][v.kValue];
      __builtin_memcpy(to, &value, sizeof value);
    });
  });
}

template <typename T, int kWide, int kRows = kTileRows>
inline void tile_of(int64_t rows, const StepProduct& s, const T* a, T* c) noexcept {
  if (rows == kRows) return tile<T, kRows, kWide>(s, a, c);
  if constexpr (kRows > 1) tile_of<T, kWide, kRows - 1>(rows, s, a, c);
}

// Splits rows into tiles of about the same size, at most the largest tile that fits the registers.
template <typename T, int kWide>
void tiles(const StepProduct& s) noexcept {
  const int64_t count = (s.rows + kTileRows - 1) / kTileRows;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = s.rows * i / count;
    const int64_t to = s.rows * (i + 1) / count;
    tile_of<T, kWide>(to - from, s, as<T>(s.a) + from * s.a_step, as<T>(s.c) + from * s.c_step);
  }
}

}  // namespace

int64_t step_panel(Dtype dtype) noexcept {
  return by_dtype(dtype, []<typename T>(T) { return kVectors * Lanes<T>::kCount; });
}

void step_product(Dtype dtype, const StepProduct& product) noexcept {
  by_dtype(dtype, [&]<typename T>(T) {
    if (product.columns > Lanes<T>::kCount) return tiles<T, kVectors>(product);
    tiles<T, 1>(product);
  });
}

}  // namespace actorhost::kernel::AH_ISA
