#include "host/kernel/counted_kernels.hpp"

#include <type_traits>

namespace actorhost::kernel {

namespace {

ReportWork report = nullptr;
const Kernels* uncounted = nullptr;

double as_double(int64_t count) { return static_cast<double>(count); }

/// The product of the first `Counts` arguments of type int64_t: numbers of elements, or of rows and columns.
template <int Counts, typename First, typename... Rest>
double elements(First first, Rest... rest) {
  if constexpr (!std::is_same_v<First, int64_t>) {
    return elements<Counts>(rest...);
  } else if constexpr (Counts == 1) {
    return as_double(first);
  } else {
    return as_double(first) * elements<Counts - 1>(rest...);
  }
}

template <auto Member, int Counts = 1>
struct Counted;
template <typename R, typename... A, R (*Kernels::*Member)(A...) noexcept, int Counts>
struct Counted<Member, Counts> {
  static R call(A... arguments) noexcept {
    report({.elements = elements<Counts>(arguments...)});
    return (uncounted->*Member)(arguments...);
  }
};

void matrix_vector(Dtype dtype, int64_t count, int64_t depth, double alpha, const Operand& matrix, const void* x,
                   void* out, int64_t out_step, bool accumulate) noexcept {
  report({.operations = 2 * as_double(count) * as_double(depth)});
  uncounted->matrix_vector(dtype, count, depth, alpha, matrix, x, out, out_step, accumulate);
}

void step_product(Dtype dtype, const StepProduct& product) noexcept {
  const double sums = as_double(product.rows) * as_double(product.columns);
  const double terms = as_double(product.batch) * as_double(product.outer) * as_double(product.inner);
  report({.operations = 2 * sums * terms});
  uncounted->step_product(dtype, product);
}

/// The pixels that the windows read.
Work work_of(const Windows& w) {
  return {.elements = as_double(w.batch * w.out_h * w.out_w * w.channels) * as_double(w.kernel_h * w.kernel_w)};
}

void pool_windows(Pooling pooling, Dtype dtype, const Windows& w, const void* in, void* out,
                  uint16_t* places) noexcept {
  report(work_of(w));
  uncounted->pool_windows(pooling, dtype, w, in, out, places);
}

void unpool_windows(Pooling pooling, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                    void* in_grad) noexcept {
  report(work_of(w));
  uncounted->unpool_windows(pooling, dtype, w, out_grad, places, in_grad);
}

}  // namespace

void report_work(ReportWork function) noexcept { report = function; }

const Kernels& counted(const Kernels& base) noexcept {
  if (report == nullptr) return base;
  uncounted = &base;
  static const Kernels table{
      .isa = base.isa,
      .unary = Counted<&Kernels::unary>::call,
      .binary = Counted<&Kernels::binary>::call,
      .copy = Counted<&Kernels::copy>::call,
      .copy_turned = Counted<&Kernels::copy_turned, 2>::call,
      .fill = Counted<&Kernels::fill>::call,
      .from_bytes = Counted<&Kernels::from_bytes>::call,
      .is_finite = Counted<&Kernels::is_finite>::call,
      .reduce = Counted<&Kernels::reduce>::call,
      .reduce_rows = Counted<&Kernels::reduce_rows>::call,
      .integer_best = Counted<&Kernels::integer_best>::call,
      .integer_sum = Counted<&Kernels::integer_sum>::call,
      .arg_max = Counted<&Kernels::arg_max>::call,
      .arg_max_rows = Counted<&Kernels::arg_max_rows>::call,
      .all_close = Counted<&Kernels::all_close>::call,
      .softmax = Counted<&Kernels::softmax, 2>::call,
      .cross_entropy = Counted<&Kernels::cross_entropy, 2>::call,
      .matrix_vector = matrix_vector,
      .step_product = step_product,
      .step_panel = base.step_panel,
      .pool_windows = pool_windows,
      .unpool_windows = unpool_windows,
      .affine = Counted<&Kernels::affine>::call,
      .dot_rows = Counted<&Kernels::dot_rows>::call,
      .sort_columns = Counted<&Kernels::sort_columns, 2>::call,
      .dropout = Counted<&Kernels::dropout>::call,
      .softmax_grad = Counted<&Kernels::softmax_grad, 2>::call,
      .axpy = Counted<&Kernels::axpy>::call,
      .sgd = Counted<&Kernels::sgd>::call,
      .adagrad = Counted<&Kernels::adagrad>::call,
      .rmsprop = Counted<&Kernels::rmsprop>::call,
      .adam = Counted<&Kernels::adam>::call,
      .to_half = Counted<&Kernels::to_half>::call,
      .from_half = Counted<&Kernels::from_half>::call,
      .quantise = Counted<&Kernels::quantise>::call,
      .dequantise = Counted<&Kernels::dequantise>::call,
      .residual_of = Counted<&Kernels::residual_of>::call,
      .count_magnitudes = Counted<&Kernels::count_magnitudes>::call,
      .mark_magnitudes = Counted<&Kernels::mark_magnitudes>::call,
  };
  return table;
}

}  // namespace actorhost::kernel
