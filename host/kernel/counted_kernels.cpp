#include "host/kernel/counted_kernels.hpp"

#include <type_traits>

namespace actorhost::kernel {

namespace {

ReportWork report = nullptr;
const Kernels* wrapped = nullptr;

/// The first argument of type int64_t, a number of elements or rows.
template <typename First, typename... Rest>
int64_t first_count(First first, Rest... rest) {
  if constexpr (std::is_same_v<First, int64_t>) {
    return first;
  } else {
    return first_count(rest...);
  }
}

/// The first argument of type int64_t times the next argument, a number of columns.
template <typename First, typename Second, typename... Rest>
int64_t first_two_counts(First first, Second second, Rest... rest) {
  if constexpr (std::is_same_v<First, int64_t>) {
    return first * second;
  } else {
    return first_two_counts(second, rest...);
  }
}

double as_double(int64_t count) { return static_cast<double>(count); }

/// An operation of `n` elements.
template <auto Member>
struct Elementwise;
template <typename R, typename... A, R (*Kernels::*Member)(A...) noexcept>
struct Elementwise<Member> {
  static R call(A... arguments) noexcept {
    report({.elements = as_double(first_count(arguments...))});
    return (wrapped->*Member)(arguments...);
  }
};

/// An operation of rows and columns.
template <auto Member>
struct Rows;
template <typename R, typename... A, R (*Kernels::*Member)(A...) noexcept>
struct Rows<Member> {
  static R call(A... arguments) noexcept {
    report({.elements = as_double(first_two_counts(arguments...))});
    return (wrapped->*Member)(arguments...);
  }
};

void matrix_vector(Dtype dtype, int64_t count, int64_t depth, double alpha, const Operand& matrix, const void* x,
                   void* out, int64_t out_step, bool accumulate) noexcept {
  report({.operations = 2 * as_double(count) * as_double(depth)});
  wrapped->matrix_vector(dtype, count, depth, alpha, matrix, x, out, out_step, accumulate);
}

void step_product(Dtype dtype, const StepProduct& product) noexcept {
  const double sums = as_double(product.rows) * as_double(product.columns);
  const double terms = as_double(product.batch) * as_double(product.outer) * as_double(product.inner);
  report({.operations = 2 * sums * terms});
  wrapped->step_product(dtype, product);
}

/// The pixels that the windows read.
Work work_of(const Windows& w) {
  return {.elements = as_double(w.batch * w.out_h * w.out_w * w.channels) * as_double(w.kernel_h * w.kernel_w)};
}

void pool_windows(Pooling pooling, Dtype dtype, const Windows& w, const void* in, void* out,
                  uint16_t* places) noexcept {
  report(work_of(w));
  wrapped->pool_windows(pooling, dtype, w, in, out, places);
}

void unpool_windows(Pooling pooling, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                    void* in_grad) noexcept {
  report(work_of(w));
  wrapped->unpool_windows(pooling, dtype, w, out_grad, places, in_grad);
}

}  // namespace

void report_work(ReportWork function) noexcept { report = function; }

ReportWork work_report() noexcept { return report; }

const Kernels& counted(const Kernels& base) noexcept {
  wrapped = &base;
  static const Kernels table{
      .isa = base.isa,
      .unary = Elementwise<&Kernels::unary>::call,
      .binary = Elementwise<&Kernels::binary>::call,
      .copy = Elementwise<&Kernels::copy>::call,
      .copy_turned = Rows<&Kernels::copy_turned>::call,
      .fill = Elementwise<&Kernels::fill>::call,
      .from_bytes = Elementwise<&Kernels::from_bytes>::call,
      .is_finite = Elementwise<&Kernels::is_finite>::call,
      .reduce = Elementwise<&Kernels::reduce>::call,
      .reduce_rows = Elementwise<&Kernels::reduce_rows>::call,
      .arg_max = Elementwise<&Kernels::arg_max>::call,
      .arg_max_rows = Elementwise<&Kernels::arg_max_rows>::call,
      .all_close = Elementwise<&Kernels::all_close>::call,
      .softmax = Rows<&Kernels::softmax>::call,
      .cross_entropy = Rows<&Kernels::cross_entropy>::call,
      .matrix_vector = matrix_vector,
      .step_product = step_product,
      .step_panel = base.step_panel,
      .pool_windows = pool_windows,
      .unpool_windows = unpool_windows,
      .affine = Elementwise<&Kernels::affine>::call,
      .dot_rows = Elementwise<&Kernels::dot_rows>::call,
      .dropout = Elementwise<&Kernels::dropout>::call,
      .softmax_grad = Rows<&Kernels::softmax_grad>::call,
      .axpy = Elementwise<&Kernels::axpy>::call,
      .sgd = Elementwise<&Kernels::sgd>::call,
      .adagrad = Elementwise<&Kernels::adagrad>::call,
      .rmsprop = Elementwise<&Kernels::rmsprop>::call,
      .adam = Elementwise<&Kernels::adam>::call,
      .to_half = Elementwise<&Kernels::to_half>::call,
      .from_half = Elementwise<&Kernels::from_half>::call,
      .quantise = Elementwise<&Kernels::quantise>::call,
      .dequantise = Elementwise<&Kernels::dequantise>::call,
      .residual_of = Elementwise<&Kernels::residual_of>::call,
      .count_magnitudes = Elementwise<&Kernels::count_magnitudes>::call,
      .mark_magnitudes = Elementwise<&Kernels::mark_magnitudes>::call,
  };
  return table;
}

}  // namespace actorhost::kernel
