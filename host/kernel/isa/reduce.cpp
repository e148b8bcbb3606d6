// Reductions with a fixed order (kernels.hpp), and the softmax family that rests on them.
#include "host/kernel/isa/isa.hpp"
#include "host/kernel/isa/math.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

constexpr int kLanes = 32;
constexpr int64_t kBlock = 4096;
constexpr double kInfinity = __builtin_inf();

struct Add {
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
  static constexpr double kStart = -kInfinity;
  template <typename T>
  static T join(T x, T y) noexcept {
    return (x > y) | (x != x) ? x : y;
  }
};

struct Smaller : Add {
  static constexpr double kStart = kInfinity;
  template <typename T>
  static T join(T x, T y) noexcept {
    return (x < y) | (x != x) ? x : y;
  }
};

// One block of at most kBlock elements: kLanes running values, then folded pairwise.
template <typename Op, typename T, typename At>
inline T reduce_block(int64_t n, At at) noexcept {
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

// out = exp(row - max); gives the sum, and the maximum through `top`.
template <typename T>
inline T exponentials(int64_t columns, T* out, const T* row, T* top) noexcept {
  *top = static_cast<T>(reduce_all<Larger>(columns, row, 1));
  const T shift = *top;
  AH_INDEPENDENT
  for (int64_t j = 0; j < columns; ++j) out[j] = exp_of(row[j] - shift);
  return static_cast<T>(reduce_all<Add>(columns, out, 1));
}

// -log softmax(row)[label] without a place for the exponentials: in pieces on the stack.
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

int64_t arg_max(Dtype dtype, int64_t n, const void* a, int64_t step, bool smallest) noexcept {
  return by_dtype(dtype, [=]<typename T>(T) -> int64_t {
    const T* in = as<T>(a);
    int64_t best = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T x = in[i * step];
      if (x != x) return i;
      if (smallest ? x < in[best * step] : x > in[best * step]) best = i;
    }
    return best;
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
