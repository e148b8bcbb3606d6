// Reductions with a fixed order (kernels.hpp), and the softmax family, which uses them.
#include "host/kernel/isa/reduce.hpp"

#include "host/kernel/isa/isa.hpp"
#include "host/kernel/isa/math.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

template <typename F>
inline auto by_op(Reduce op, F f) noexcept {
  switch (op) {
    case Reduce::sum: return f(Add{});
    case Reduce::max: return f(Larger{});
    case Reduce::min: return f(Smaller{});
    case Reduce::sum_squares: break;
  }
  return f(AddSquares{});
}

// out = exp(row - max); returns the sum, and the maximum through `top`.
template <typename T>
inline T exponentials(int64_t columns, T* out, const T* row, T* top) noexcept {
  *top = static_cast<T>(reduce_all<Larger>(columns, row, 1));
  const T shift = *top;
  AH_INDEPENDENT
  for (int64_t j = 0; j < columns; ++j) out[j] = exp_of(row[j] - shift);
  return static_cast<T>(reduce_all<Add>(columns, out, 1));
}

// -log softmax(row)[label]; the exponentials are computed in pieces on the stack.
template <typename T>
inline double row_loss(int64_t columns, const T* row, int32_t label) noexcept {
  constexpr int64_t kPiece = 256;
  T piece[kPiece];
  const T top = static_cast<T>(reduce_all<Larger>(columns, row, 1));
  double sum = 0;
  for (int64_t from = 0; from < columns; from += kPiece) {
    const int64_t count = columns - from < kPiece ? columns - from : kPiece;
    for (int64_t j = 0; j < count; ++j) piece[j] = exp_of(row[from + j] - top);
    sum += reduce_all<Add>(count, piece, 1);
  }
  return log_of(sum) + (static_cast<double>(top) - static_cast<double>(row[label]));
}

}  // namespace

double reduce(Reduce op, Dtype dtype, int64_t n, const void* a, int64_t step) noexcept {
  return by_dtype(dtype, [=]<typename T>(T) {
    return by_op(op, [=]<typename Op>(Op) { return reduce_all<Op>(n, as<T>(a), step); });
  });
}

void reduce_rows(Reduce op, Dtype dtype, int64_t n, double* total, const void* a, int64_t step) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    by_op(op, [=]<typename Op>(Op) {
      const T* in = as<T>(a);
      if (step == 1) {
        for (int64_t i = 0; i < n; ++i) total[i] = Op::join(total[i], Op::in(static_cast<double>(in[i])));
      } else {
        for (int64_t i = 0; i < n; ++i) total[i] = Op::join(total[i], Op::in(static_cast<double>(in[i * step])));
      }
    });
  });
}

namespace {

/// Calls f with a value of the C++ type of an integer type.
template <typename F>
inline auto by_integer(Dtype dtype, F f) noexcept {
  return dtype == Dtype::u8 ? f(uint8_t{}) : dtype == Dtype::i32 ? f(int32_t{}) : f(int64_t{});
}

// Folds n elements in running values: 256 bytes of them, four registers of AVX-512. `start` changes no result.
template <typename Total, typename T, typename F>
inline Total fold_integers(int64_t n, const T* a, Total start, F f) noexcept {
  constexpr int64_t kRunning = 256 / sizeof(Total);
  Total lanes[kRunning];
  for (int64_t j = 0; j < kRunning; ++j) lanes[j] = start;
  int64_t i = 0;
  for (; i + kRunning <= n; i += kRunning) {
    for (int64_t j = 0; j < kRunning; ++j) lanes[j] = f(lanes[j], static_cast<Total>(a[i + j]));
  }
  for (; i < n; ++i) lanes[0] = f(lanes[0], static_cast<Total>(a[i]));
  for (int64_t j = 1; j < kRunning; ++j) lanes[0] = f(lanes[0], lanes[j]);
  return lanes[0];
}

}  // namespace

int64_t integer_best(Dtype dtype, int64_t n, const void* a, bool smallest) noexcept {
  return by_integer(dtype, [=]<typename T>(T) -> int64_t {
    const T* in = as<T>(a);
    if (smallest) return fold_integers(n, in, in[0], [](T x, T y) { return y < x ? y : x; });
    return fold_integers(n, in, in[0], [](T x, T y) { return y > x ? y : x; });
  });
}

int64_t integer_sum(Dtype dtype, int64_t n, const void* a) noexcept {
  return by_integer(dtype, [=]<typename T>(T) {
    return static_cast<int64_t>(fold_integers(n, as<T>(a), uint64_t{0}, [](uint64_t x, uint64_t y) { return x + y; }));
  });
}

namespace {

/// Skips groups of elements in which none is wanted.
template <int kGroup, typename Int, typename Wanted>
inline int64_t skip_groups(int64_t where, int64_t n, Wanted wanted) noexcept {
  for (; where + kGroup <= n; where += kGroup) {
    Int any = 0;
    for (int j = 0; j < kGroup; ++j) any |= wanted(where + j) ? 1U : 0U;
    if (any != 0) break;
  }
  return where;
}

/// The first index from `where` on with a wanted element; there is such an element.
template <typename Int, typename Wanted>
inline int64_t find(int64_t where, int64_t n, Wanted wanted) noexcept {
  where = skip_groups<64, Int>(where, n, wanted);
  where = skip_groups<8, Int>(where, n, wanted);
  while (!wanted(where)) ++where;
  return where;
}

// Finds the first block that contains the best element by reducing each block, then searches this block.
template <typename Op, typename T, typename At>
inline int64_t arg_best(int64_t n, At at) noexcept {
  T best = at(0);
  int64_t where = 0;
  for (int64_t from = 0; from < n && best == best; from += kBlock) {
    const int64_t count = n - from < kBlock ? n - from : kBlock;
    const T found = reduce_block<Op, T>(count, [=](int64_t i) { return at(from + i); });
    if (found != best && (Op::join(found, best) == found || found != found)) {
      best = found;
      where = from;
    }
  }
  using Int = typename FloatBits<T>::Int;
  if (best != best) return find<Int>(where, n, [=](int64_t i) { return at(i) != at(i); });
  return find<Int>(where, n, [=](int64_t i) { return at(i) == best; });
}

}  // namespace

int64_t arg_max(Dtype dtype, int64_t n, const void* a, int64_t step, bool smallest) noexcept {
  return by_dtype(dtype, [=]<typename T>(T) -> int64_t {
    const T* in = as<T>(a);
    const auto plain = [=](int64_t i) { return in[i]; };
    const auto stepped = [=](int64_t i) { return in[i * step]; };
    if (smallest) return step == 1 ? arg_best<Smaller, T>(n, plain) : arg_best<Smaller, T>(n, stepped);
    return step == 1 ? arg_best<Larger, T>(n, plain) : arg_best<Larger, T>(n, stepped);
  });
}

void arg_max_rows(Dtype dtype, int64_t n, void* best, double* at, const void* a, int64_t step, int64_t row,
                  bool smallest) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    const T* in = as<T>(a);
    T* top = as<T>(best);
    const auto where = static_cast<double>(row);
    const T sign = smallest ? T{-1} : T{1};
    const auto take = [=](int64_t i, T x) {
      const T is = top[i];
      const bool better = (row == 0) | (sign * x > sign * is) | ((x != x) & (is == is));
      top[i] = better ? x : is;
      at[i] = better ? where : at[i];
    };
    if (step == 1) {
      AH_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) take(i, in[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) take(i, in[i * step]);
    }
  });
}

namespace {

// Whether two blocks are equal, or close. Neither loop ends early, so the compiler vectorises both.
template <typename T>
inline bool block_equal(int64_t n, const T* a, const T* b, bool nan_equal) noexcept {
  typename FloatBits<T>::Int bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool both_nan = nan_equal & (a[i] != a[i]) & (b[i] != b[i]);
    bad |= (a[i] == b[i]) | both_nan ? 0U : 1U;
  }
  return bad == 0;
}

template <typename T, typename S>
inline bool block_close(int64_t n, const T* a, int64_t a_step, const S* b, int64_t b_step, double rtol, double atol,
                        bool nan_equal) noexcept {
  uint64_t bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(a[i * a_step]);
    const auto y = static_cast<double>(b[i * b_step]);
    const bool both_nan = nan_equal & (x != x) & (y != y);
    const bool near = (y - y == 0) & (absolute(x - y) <= atol + rtol * absolute(y));
    bad |= (x == y) | both_nan | near ? 0U : 1U;
  }
  return bad == 0;
}

}  // namespace

bool all_close(int64_t n, Dtype a_dtype, const void* a, int64_t a_step, Dtype b_dtype, const void* b, int64_t b_step,
               double rtol, double atol, bool nan_equal) noexcept {
  const bool exact = rtol == 0 && atol == 0 && a_dtype == b_dtype && a_step == 1 && b_step == 1;
  return by_dtype(a_dtype, [=]<typename T>(T) {
    return by_dtype(b_dtype, [=]<typename S>(S) {
      for (int64_t from = 0; from < n; from += kBlock) {
        const int64_t count = n - from < kBlock ? n - from : kBlock;
        const T* left = as<T>(a) + from * a_step;
        const S* right = as<S>(b) + from * b_step;
        const bool close = exact ? block_equal(count, left, as<T>(b) + from, nan_equal)
                           : a_step == 1 && b_step == 1
                               ? block_close(count, left, 1, right, 1, rtol, atol, nan_equal)
                               : block_close(count, left, a_step, right, b_step, rtol, atol, nan_equal);
        if (!close) return false;
      }
      return true;
    });
  });
}

void softmax(Dtype dtype, int64_t rows, int64_t columns, void* out, int64_t out_lead, const void* a,
             int64_t a_lead) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    for (int64_t i = 0; i < rows; ++i) {
      T* to = as<T>(out) + i * out_lead;
      T top;
      const T factor = 1 / exponentials(columns, to, as<T>(a) + i * a_lead, &top);
      for (int64_t j = 0; j < columns; ++j) to[j] *= factor;
    }
  });
}

double cross_entropy(Dtype dtype, int64_t rows, int64_t columns, const void* scores, int64_t lead,
                     const int32_t* labels, void* grad, int64_t grad_lead, double grad_scale) noexcept {
  return by_dtype(dtype, [=]<typename T>(T) {
    double total = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const T* row = as<T>(scores) + i * lead;
      total += row_loss(columns, row, labels[i]);
      if (grad == nullptr) continue;
      T* to = as<T>(grad) + i * grad_lead;
      T top;
      const T factor = static_cast<T>(grad_scale) / exponentials(columns, to, row, &top);
      for (int64_t j = 0; j < columns; ++j) to[j] *= factor;
      to[labels[i]] -= static_cast<T>(grad_scale);
    }
    return total;
  });
}

}  // namespace actorhost::kernel::AH_ISA
