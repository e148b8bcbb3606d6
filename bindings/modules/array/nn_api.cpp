// The functions of ffi_nn.h. On the Vm's thread; large operations use the state's threads.

#include <cmath>

#include "bindings/modules/array/ffi_nn.h"
#include "bindings/modules/array/lua_tensor.hpp"
#include "bindings/modules/array/tensor_operation.hpp"
#include "bindings/vm/vm.hpp"
#include "host/base/random.hpp"
#include "host/kernel/conv.hpp"
#include "host/kernel/normalise.hpp"

namespace actorhost {

namespace {

using tensor::guarded_status, tensor::kernels_of, tensor::state_of;

// Whether all non-null tensors are contiguous and of one element type.
template <typename... Tensors>
int32_t check_alike(const ah_tensor* first, const Tensors*... others) noexcept {
  if (((others != nullptr && others->type_ != first->type_) || ...)) return AH_TENSOR_DTYPE;
  const auto fits = [](const ah_tensor* t) { return t == nullptr || view_of(*t).contiguous(); };
  return fits(first) && (fits(others) && ...) ? AH_TENSOR_OK : AH_TENSOR_SHAPE;
}

Dtype dtype_of(const ah_tensor* t) noexcept { return static_cast<Dtype>(t->type_); }

kernel::ThreadPool* thread_pool_of(const ah_tensor* t) noexcept { return state_of(t->context_).pool.get(); }

// Whether the tensor has `count` elements; true for null.
bool has(const ah_tensor* t, int64_t count) noexcept { return t == nullptr || t->count_ == count; }

void* data_of(ah_tensor* t) noexcept { return t == nullptr ? nullptr : t->data_; }
const void* data_of(const ah_tensor* t) noexcept { return t == nullptr ? nullptr : t->data_; }

void* element(ah_tensor* t, int64_t i) noexcept { return kernel::element_at(dtype_of(t), t->data_, i); }
const void* element(const ah_tensor* t, int64_t i) noexcept {
  return kernel::element_at(dtype_of(t), static_cast<const void*>(t->data_), i);
}

// The geometry of windows from x to y; false for inconsistent shapes.
bool windows_of(const ah_tensor* x, const ah_tensor* y, const ah_windows* w, kernel::Windows& out) noexcept {
  if (x->ndim_ != 4 || y->ndim_ != 4 || x->extent_[0] != y->extent_[0]) return false;
  if (w->kernel_h < 1 || w->kernel_w < 1 || w->stride_h < 1 || w->stride_w < 1) return false;
  out = {x->extent_[0], x->extent_[1], x->extent_[2], x->extent_[3], w->kernel_h,   w->kernel_w,
         w->stride_h,   w->stride_w,   w->pad_top,    w->pad_left,   y->extent_[1], y->extent_[2]};
  return true;
}

// The geometry of a convolution; false for inconsistent shapes.
bool conv_of(const ah_tensor* x, const ah_tensor* y, const ah_tensor* weight, const ah_windows* w,
             kernel::Conv& out) noexcept {
  if (!windows_of(x, y, w, out.windows) || weight->ndim_ != 4 || w->groups < 1) return false;
  out.filters = y->extent_[3];
  out.groups = w->groups;
  return x->extent_[3] % w->groups == 0 && out.filters % w->groups == 0 && weight->extent_[0] == w->kernel_h &&
         weight->extent_[1] == w->kernel_w && weight->extent_[2] == x->extent_[3] / w->groups &&
         weight->extent_[3] == out.filters;
}

int32_t conv(ah_tensor* y, const ah_tensor* x, const ah_tensor* weight, const ah_tensor* bias, const ah_windows* w,
             int32_t activation) noexcept {
  return guarded_status([&]() -> int32_t {
    AH_TENSOR_TRY(check_alike(y, x, weight, bias));
    kernel::Conv c{};
    if (!conv_of(x, y, weight, w, c) || !has(bias, c.filters)) return AH_TENSOR_SHAPE;
    std::optional<kernel::Unary> unary;
    if (activation >= 0) unary = static_cast<kernel::Unary>(activation);
    kernel::conv(kernels_of(x), dtype_of(x), c, x->data_, weight->data_, data_of(bias), unary, y->data_,
                 thread_pool_of(x));
    return AH_TENSOR_OK;
  });
}

int32_t conv_to_input(ah_tensor* x_grad, const ah_tensor* y_grad, const ah_tensor* weight,
                      const ah_windows* w) noexcept {
  return guarded_status([&]() -> int32_t {
    AH_TENSOR_TRY(check_alike(x_grad, y_grad, weight));
    kernel::Conv c{};
    if (!conv_of(x_grad, y_grad, weight, w, c)) return AH_TENSOR_SHAPE;
    kernel::conv_to_input(kernels_of(x_grad), dtype_of(x_grad), c, y_grad->data_, weight->data_, x_grad->data_,
                          thread_pool_of(x_grad));
    return AH_TENSOR_OK;
  });
}

int32_t conv_to_weights(ah_tensor* weight_grad, ah_tensor* bias_grad, const ah_tensor* x, const ah_tensor* y_grad,
                        const ah_windows* w) noexcept {
  return guarded_status([&]() -> int32_t {
    AH_TENSOR_TRY(check_alike(x, y_grad, weight_grad, bias_grad));
    kernel::Conv c{};
    if (!conv_of(x, y_grad, weight_grad, w, c) || !has(bias_grad, c.filters)) return AH_TENSOR_SHAPE;
    kernel::conv_to_weights(kernels_of(x), dtype_of(x), c, x->data_, y_grad->data_, weight_grad->data_,
                            data_of(bias_grad), thread_pool_of(x));
    return AH_TENSOR_OK;
  });
}

// Runs run(windows) for a pooling of x to y, or for its gradients.
template <typename F>
int32_t pool(const ah_tensor* x, const ah_tensor* y, const ah_windows* w, F run) noexcept {
  return guarded_status([&]() -> int32_t {
    AH_TENSOR_TRY(check_alike(x, y));
    kernel::Windows windows{};
    if (!windows_of(x, y, w, windows) || x->extent_[3] != y->extent_[3]) return AH_TENSOR_SHAPE;
    run(windows);
    return AH_TENSOR_OK;
  });
}

int32_t max_pool(ah_tensor* y, uint16_t* places, const ah_tensor* x, const ah_windows* w) noexcept {
  return pool(x, y, w, [&](const kernel::Windows& windows) {
    kernel::max_pool(kernels_of(x), dtype_of(x), windows, x->data_, y->data_, places, thread_pool_of(x));
  });
}

int32_t max_pool_to_input(ah_tensor* x_grad, const ah_tensor* y_grad, const uint16_t* places,
                          const ah_windows* w) noexcept {
  return pool(x_grad, y_grad, w, [&](const kernel::Windows& windows) {
    kernel::max_pool_to_input(kernels_of(x_grad), dtype_of(x_grad), windows, y_grad->data_, places, x_grad->data_,
                              thread_pool_of(x_grad));
  });
}

int32_t average_pool(ah_tensor* y, const ah_tensor* x, const ah_windows* w) noexcept {
  return pool(x, y, w, [&](const kernel::Windows& windows) {
    kernel::average_pool(kernels_of(x), dtype_of(x), windows, x->data_, y->data_, thread_pool_of(x));
  });
}

int32_t average_pool_to_input(ah_tensor* x_grad, const ah_tensor* y_grad, const ah_windows* w) noexcept {
  return pool(x_grad, y_grad, w, [&](const kernel::Windows& windows) {
    kernel::average_pool_to_input(kernels_of(x_grad), dtype_of(x_grad), windows, y_grad->data_, x_grad->data_,
                                  thread_pool_of(x_grad));
  });
}

// ---- Normalisation ----

// The channels of x: its last dimension.
kernel::Channels channels_of(const ah_tensor* x) noexcept {
  const int64_t channels = x->ndim_ == 0 ? 1 : x->extent_[x->ndim_ - 1];
  return {kernels_of(x), dtype_of(x), channels == 0 ? 0 : x->count_ / channels, channels};
}

kernel::Normalisation normalisation_of(const ah_normalisation* by) noexcept {
  return {by->mean->data_, by->variance->data_, by->epsilon, data_of(by->gamma), data_of(by->beta)};
}

int32_t channel_moments(ah_tensor* mean, ah_tensor* variance, const ah_tensor* x) noexcept {
  return guarded_status([&]() -> int32_t {
    AH_TENSOR_TRY(check_alike(x, mean, variance));
    const kernel::Channels c = channels_of(x);
    if (!has(mean, c.channels) || !has(variance, c.channels)) return AH_TENSOR_SHAPE;
    kernel::channel_moments(c, x->data_, mean->data_, variance->data_);
    return AH_TENSOR_OK;
  });
}

int32_t check_normalisation(const kernel::Channels& c, const ah_tensor* x, const ah_normalisation* by) noexcept {
  AH_TENSOR_TRY(check_alike(x, by->mean, by->variance, by->gamma, by->beta));
  const bool fit = has(by->mean, c.channels) && has(by->variance, c.channels) && has(by->gamma, c.channels) &&
                   has(by->beta, c.channels);
  return fit ? AH_TENSOR_OK : AH_TENSOR_SHAPE;
}

int32_t normalise(ah_tensor* y, const ah_tensor* x, const ah_normalisation* by) noexcept {
  return guarded_status([&]() -> int32_t {
    const kernel::Channels c = channels_of(x);
    AH_TENSOR_TRY(check_normalisation(c, x, by));
    AH_TENSOR_TRY(check_alike(x, y));
    if (!has(y, x->count_)) return AH_TENSOR_SHAPE;
    kernel::normalise(c, normalisation_of(by), x->data_, y->data_);
    return AH_TENSOR_OK;
  });
}

int32_t normalise_grad(ah_tensor* x_grad, ah_tensor* gamma_grad, ah_tensor* beta_grad, const ah_tensor* x,
                       const ah_tensor* y_grad, const ah_normalisation* by, int32_t of_batch) noexcept {
  return guarded_status([&]() -> int32_t {
    const kernel::Channels c = channels_of(x);
    AH_TENSOR_TRY(check_normalisation(c, x, by));
    AH_TENSOR_TRY(check_alike(x, y_grad, x_grad, gamma_grad, beta_grad));
    const bool fit =
        has(y_grad, x->count_) && has(x_grad, x->count_) && has(gamma_grad, c.channels) && has(beta_grad, c.channels);
    if (!fit) return AH_TENSOR_SHAPE;
    kernel::normalise_grad(c, normalisation_of(by), of_batch != 0, x->data_, y_grad->data_, data_of(x_grad),
                           data_of(gamma_grad), data_of(beta_grad));
    return AH_TENSOR_OK;
  });
}

// ---- Elementwise ----

int32_t dropout(ah_tensor* y, const ah_tensor* x, double rate, uint64_t seed, uint64_t number) noexcept {
  AH_TENSOR_TRY(check_alike(x, y));
  if (!has(y, x->count_)) return AH_TENSOR_SHAPE;
  const uint64_t key = StepRng(seed, 0, number).next();
  const auto least = static_cast<uint32_t>(std::llround(rate * 0x1p32 > 0xffffffffp0 ? 0xffffffffp0 : rate * 0x1p32));
  kernel::in_pieces(thread_pool_of(x), x->count_, [&](int64_t first, int64_t count) {
    kernels_of(x).dropout(dtype_of(x), count, element(y, first), element(x, first), key, first, least, 1 / (1 - rate));
  });
  return AH_TENSOR_OK;
}

int32_t activation_grad(int32_t op, ah_tensor* x_grad, const ah_tensor* y_grad, const ah_tensor* at) noexcept {
  AH_TENSOR_TRY(check_alike(x_grad, y_grad, at));
  if (!has(y_grad, at->count_) || !has(x_grad, at->count_)) return AH_TENSOR_SHAPE;
  kernel::in_pieces(thread_pool_of(at), at->count_, [&](int64_t first, int64_t count) {
    kernels_of(at).binary(static_cast<kernel::Binary>(op), dtype_of(at), count, element(x_grad, first), 1,
                          element(y_grad, first), 1, element(at, first), 1);
  });
  return AH_TENSOR_OK;
}

int32_t softmax_grad(ah_tensor* x_grad, const ah_tensor* y_grad, const ah_tensor* y) noexcept {
  AH_TENSOR_TRY(check_alike(y, y_grad, x_grad));
  if (!has(y_grad, y->count_) || !has(x_grad, y->count_)) return AH_TENSOR_SHAPE;
  const kernel::Channels c = channels_of(y);
  kernels_of(y).softmax_grad(c.dtype, c.rows, c.channels, x_grad->data_, y_grad->data_, y->data_);
  return AH_TENSOR_OK;
}

}  // namespace

void open_nn(Vm& vm) {
  static const ah_nn_api api = {conv,         conv_to_input,         conv_to_weights, max_pool,  max_pool_to_input,
                                average_pool, average_pool_to_input, channel_moments, normalise, normalise_grad,
                                dropout,      activation_grad,       softmax_grad};
  vm.register_ffi("nn", &api);
}

}  // namespace actorhost
