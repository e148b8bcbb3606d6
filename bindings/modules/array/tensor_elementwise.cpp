// Elementwise operations of ffi_tensor.h and the choice of their element types.
#include <algorithm>
#include <cmath>
#include <optional>

#include "bindings/modules/array/tensor_operation.hpp"

namespace actorhost::tensor {

namespace {

using kernel::Binary, kernel::Unary;

/// Whether the operation exists for whole numbers; other operations on whole numbers run in float32.
bool is_whole_operation(Unary op) noexcept {
  switch (op) {
    case Unary::exp:
    case Unary::log:
    case Unary::sqrt:
    case Unary::tanh:
    case Unary::sigmoid:
    case Unary::gelu: return false;
    default: return op < Unary::sin || op > Unary::reciprocal;
  }
}

bool is_whole_operation(Binary op) noexcept {
  switch (op) {
    case Binary::div:
    case Binary::relu_grad:
    case Binary::tanh_grad:
    case Binary::sigmoid_grad:
    case Binary::gelu_grad:
    case Binary::atan2:
    case Binary::hypot: return false;
    default: return true;
  }
}

bool is_logical(Binary op) noexcept { return op >= Binary::logical_and; }

bool is_comparison(Binary op) noexcept { return op >= Binary::eq && op <= Binary::ge; }

/// Booleans support add (or), multiply (and) and comparisons, but no difference, power or remainder.
bool is_truth_operation(Binary op) noexcept {
  return op != Binary::sub && op != Binary::pow && op != Binary::mod && op != Binary::floor_div;
}

/// The rank of a whole type in bool < uint8 < int32 < int64.
int width(Dtype dtype) noexcept { return dtype == Dtype::b8 ? 0 : static_cast<int>(dtype_size(dtype)); }

/// The common type of both; no value for float32 with float64.
std::optional<Dtype> common_type(Dtype a, Dtype b) noexcept {
  if (a == b) return a;
  if (is_floating(a) && is_floating(b)) return std::nullopt;
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  return width(a) > width(b) ? a : b;
}

int32_t unary(int32_t code, ah_tensor* out, const ah_tensor* a) noexcept {
  return guarded_status([&]() -> int32_t {
    const auto op = static_cast<Unary>(code);
    const auto& k = kernels_of(a);
    std::unique_ptr<Copied> typed;
    View in = view_of(*a);
    if (!is_floating(in.dtype) && !is_whole_operation(op)) in = as_type(k, in, Dtype::f32, typed);
    if (in.dtype == Dtype::b8 && op == Unary::square) in = as_type(k, in, Dtype::i64, typed);
    if (in.dtype == Dtype::b8 && op == Unary::neg) return wrong_kind(*a);
    View like = in;
    like.dtype = kernel::result_of(op, in.dtype);
    AH_TENSOR_TRY(prepare(a->context_, *out, like));
    std::unique_ptr<Copied> keep;
    const View to = view_of(*out);
    kernel::unary(k, op, to, apart(k, to, in, keep));
    return AH_TENSOR_OK;
  });
}

/// Records the first element of the right operand that the whole operation refuses, for a result of this shape.
int32_t check_right(ah_tensor_context* context, const kernel::Kernels& k, Binary op, const View& b,
                    const Shape& result) {
  if (is_floating(b.dtype) || (op != Binary::pow && op != Binary::mod && op != Binary::floor_div)) return AH_TENSOR_OK;
  if (!result.is_valid() || result.elements() == 0) return AH_TENSOR_OK;  // `prepare` refuses an invalid shape
  std::unique_ptr<Copied> keep;
  View in = b;
  if (!b.contiguous()) {
    keep = std::make_unique<Copied>(k, b);
    in = keep->view;
  }
  const int64_t bad = kernel::first_unfit(op, in.dtype, in.size(), in.data);
  if (bad == in.size()) return AH_TENSOR_OK;
  context->bad_row = bad + 1;
  context->bad_value = kernel::number_at(in.dtype, in.at(bad));
  return op == Binary::pow ? AH_TENSOR_POWER : AH_TENSOR_ZERO;
}

/// Runs the operation; both operands must have its type.
int32_t run_binary(ah_tensor_context* context, Binary op, ah_tensor* out, const View& left, const View& right) {
  View like{.dtype = kernel::result_of(op, left.dtype)};
  if (!kernel::broadcast_shapes(left.shape, right.shape, like.shape)) return AH_TENSOR_SHAPE;
  const auto& k = *state_of(context).kernels;
  AH_TENSOR_TRY(check_right(context, k, op, right, like.shape));
  AH_TENSOR_TRY(prepare(context, *out, like));
  const View to = view_of(*out);
  View wide_left;
  View wide_right;
  (void)kernel::broadcast_to(left, like, wide_left);
  (void)kernel::broadcast_to(right, like, wide_right);
  std::unique_ptr<Copied> keep_left;
  std::unique_ptr<Copied> keep_right;
  kernel::binary(k, op, to, apart(k, to, wide_left, keep_left), apart(k, to, wide_right, keep_right));
  return AH_TENSOR_OK;
}

int32_t binary(int32_t code, ah_tensor* out, const ah_tensor* a, const ah_tensor* b) noexcept {
  return guarded_status([&]() -> int32_t {
    const auto op = static_cast<Binary>(code);
    const View left = view_of(*a);
    const View right = view_of(*b);
    if (left.dtype == right.dtype && is_floating(left.dtype) && !is_logical(op))
      return run_binary(a->context_, op, out, left, right);
    auto type = is_logical(op) ? Dtype::b8 : common_type(left.dtype, right.dtype);
    if (!type) return AH_TENSOR_DTYPE;
    if (!is_floating(*type) && !is_whole_operation(op)) type = Dtype::f32;
    if (*type == Dtype::b8 && !is_truth_operation(op)) return wrong_kind(*a);
    // A whole number beside a float32 may need more digits than float32 has.
    if (is_comparison(op) && is_floating(*type) && left.dtype != right.dtype) type = Dtype::f64;
    const auto& k = kernels_of(a);
    std::unique_ptr<Copied> typed_left;
    std::unique_ptr<Copied> typed_right;
    return run_binary(a->context_, op, out, as_type(k, left, *type, typed_left), as_type(k, right, *type, typed_right));
  });
}

bool is_whole(double value) noexcept { return value == std::floor(value) && std::fabs(value) < 0x1p63; }

/// The common type of a tensor's type and a number.
Dtype scalar_type(Binary op, Dtype type, double value, bool swapped) noexcept {
  if (is_logical(op)) return Dtype::b8;
  if (is_floating(type)) return type;
  if (is_comparison(op)) return is_whole(value) ? Dtype::i64 : Dtype::f64;
  const bool root = op == Binary::pow && value < 0 && !swapped;
  if (!is_whole(value) || !is_whole_operation(op) || root) return Dtype::f32;
  return type == Dtype::b8 ? Dtype::i64 : type;
}

int32_t binary_scalar(int32_t code, ah_tensor* out, const ah_tensor* a, double value, int32_t swapped) noexcept {
  return guarded_status([&]() -> int32_t {
    const auto op = static_cast<Binary>(code);
    const auto type = scalar_type(op, static_cast<Dtype>(a->type_), value, swapped != 0);
    if (!is_floating(type) && type != Dtype::b8 && kernel::first_unfit(type, Dtype::f64, 1, &value) == 0) {
      a->context_->bad_row = 0;
      a->context_->bad_value = value;
      a->context_->bad_type = static_cast<int32_t>(type);
      return AH_TENSOR_RANGE;
    }
    const auto& k = kernels_of(a);
    std::unique_ptr<Copied> typed;
    const View in = as_type(k, view_of(*a), type, typed);
    auto single = static_cast<float>(value);
    alignas(int64_t) std::byte element[sizeof(int64_t)];
    if (!is_floating(type)) kernel::whole_fill(type, 1, {element, 1}, value);
    View scalar{.data = element, .dtype = type, .shape = in.shape};  // with steps of 0
    if (type == Dtype::f32) scalar.data = &single;
    if (type == Dtype::f64) scalar.data = &value;
    AH_TENSOR_TRY(check_right(a->context_, k, op, swapped != 0 ? in : scalar, in.shape));
    const Dtype result = kernel::result_of(op, type);
    AH_TENSOR_TRY(prepare(a->context_, *out, result == type ? in : View{.dtype = result, .shape = in.shape}));
    const View to = view_of(*out);
    std::unique_ptr<Copied> keep;
    const View from = apart(k, to, in, keep);
    kernel::binary(k, op, to, swapped != 0 ? scalar : from, swapped != 0 ? from : scalar);
    return AH_TENSOR_OK;
  });
}

int32_t where(ah_tensor* out, const ah_tensor* cond, const ah_tensor* a, const ah_tensor* b) noexcept {
  return guarded_status([&]() -> int32_t {
    const auto type = common_type(static_cast<Dtype>(a->type_), static_cast<Dtype>(b->type_));
    if (!type) return AH_TENSOR_DTYPE;
    const auto& k = kernels_of(a);
    std::unique_ptr<Copied> typed[3];
    const View in[3] = {as_type(k, view_of(*cond), Dtype::b8, typed[0]), as_type(k, view_of(*a), *type, typed[1]),
                        as_type(k, view_of(*b), *type, typed[2])};
    View like{.dtype = *type};
    Shape pair;
    if (!kernel::broadcast_shapes(in[1].shape, in[2].shape, pair)) return AH_TENSOR_SHAPE;
    if (!kernel::broadcast_shapes(in[0].shape, pair, like.shape)) return AH_TENSOR_SHAPE;
    AH_TENSOR_TRY(prepare(a->context_, *out, like));
    const View to = view_of(*out);
    std::unique_ptr<Copied> keep[3];
    View wide[3];
    for (size_t i = 0; i < 3; ++i) {
      (void)kernel::broadcast_to(in[i], like, wide[i]);
      wide[i] = apart(k, to, wide[i], keep[i]);
    }
    kernel::choose(to, wide[0], wide[1], wide[2]);
    return AH_TENSOR_OK;
  });
}

int32_t axpy(double alpha, const ah_tensor* x, ah_tensor* y) noexcept {
  return guarded_status([&]() -> int32_t {
    const View to = view_of(*y);
    View in = view_of(*x);
    View from;
    if (!is_floating(to.dtype)) return wrong_kind(*y);
    if (is_floating(in.dtype) && in.dtype != to.dtype) return AH_TENSOR_DTYPE;
    const auto& k = kernels_of(x);
    std::unique_ptr<Copied> typed;
    in = as_type(k, in, to.dtype, typed);
    if (!kernel::broadcast_to(in, to, from)) return AH_TENSOR_SHAPE;
    std::unique_ptr<Copied> keep;
    kernel::axpy(k, alpha, apart(k, to, from, keep), to);
    return AH_TENSOR_OK;
  });
}

int32_t copy(ah_tensor* out, const ah_tensor* a) noexcept {
  return guarded_status([&]() -> int32_t {
    const View to = view_of(*out);
    View from;
    if (!kernel::broadcast_to(view_of(*a), to, from)) return AH_TENSOR_SHAPE;
    if (to.size() == 0) return AH_TENSOR_OK;
    AH_TENSOR_TRY(check_fit(*a, to.dtype));
    const auto& k = kernels_of(a);
    std::unique_ptr<Copied> keep;
    kernel::copy(k, to, apart(k, to, from, keep));
    return AH_TENSOR_OK;
  });
}

}  // namespace

void add_elementwise(ah_tensor_api& api) noexcept {
  api.unary = unary;
  api.binary = binary;
  api.binary_scalar = binary_scalar;
  api.where = where;
  api.axpy = axpy;
  api.copy = copy;
}

}  // namespace actorhost::tensor
