#pragma once
#include "bindings/modules/array/ffi_tensor.h"
/* FFI text "ffi/nn": the passes of neural network layers. Plain C for ffi.cdef, which skips lines that start with '#'.
   All tensors are contiguous and of one element type; results are allocated, with their shapes. Shapes: x (n, height,
   width, channels), y (n, out_h, out_w, filters), weight (kernel_h, kernel_w, channels / groups, filters); for pooling
   y has x's channels. Functions return a status of ffi_tensor.h. */

/* The windows of a convolution or pooling; y's shape gives their number. */
typedef struct ah_windows {
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, groups;
} ah_windows;

/* Normalisation by channel, the last dimension: gamma and beta may be null. */
typedef struct ah_normalisation {
  const ah_tensor *mean, *variance, *gamma, *beta;
  double epsilon;
} ah_normalisation;

typedef struct ah_nn_api {
  /* y = activation(convolution + bias); bias may be null, activation is a unary operation or -1. */
  int32_t (*conv)(ah_tensor* y, const ah_tensor* x, const ah_tensor* weight, const ah_tensor* bias,
                  const ah_windows* windows, int32_t activation);
  /* Gradients from the gradient of the convolution's result before the activation. */
  int32_t (*conv_to_input)(ah_tensor* x_grad, const ah_tensor* y_grad, const ah_tensor* weight,
                           const ah_windows* windows);
  int32_t (*conv_to_weights)(ah_tensor* weight_grad, ah_tensor* bias_grad, const ah_tensor* x, const ah_tensor* y_grad,
                             const ah_windows* windows);
  /* `places` has one number per element of y. */
  int32_t (*max_pool)(ah_tensor* y, uint16_t* places, const ah_tensor* x, const ah_windows* windows);
  int32_t (*max_pool_to_input)(ah_tensor* x_grad, const ah_tensor* y_grad, const uint16_t* places,
                               const ah_windows* windows);
  int32_t (*average_pool)(ah_tensor* y, const ah_tensor* x, const ah_windows* windows);
  int32_t (*average_pool_to_input)(ah_tensor* x_grad, const ah_tensor* y_grad, const ah_windows* windows);

  int32_t (*channel_moments)(ah_tensor* mean, ah_tensor* variance, const ah_tensor* x);
  int32_t (*normalise)(ah_tensor* y, const ah_tensor* x, const ah_normalisation* by);
  /* x_grad may be null, and both gamma_grad and beta_grad may be null. With of_batch, mean and variance are x's own. */
  int32_t (*normalise_grad)(ah_tensor* x_grad, ah_tensor* gamma_grad, ah_tensor* beta_grad, const ah_tensor* x,
                            const ah_tensor* y_grad, const ah_normalisation* by, int32_t of_batch);

  /* y = x * 1 / (1 - rate), or 0 for a share `rate` of the elements, chosen by seed and number. */
  int32_t (*dropout)(ah_tensor* y, const ah_tensor* x, double rate, uint64_t seed, uint64_t number);
  /* The gradient of an activation's input, by a binary operation on y_grad and the result (for gelu: the input). */
  int32_t (*activation_grad)(int32_t op, ah_tensor* x_grad, const ah_tensor* y_grad, const ah_tensor* at);
  int32_t (*softmax_grad)(ah_tensor* x_grad, const ah_tensor* y_grad, const ah_tensor* y);
} ah_nn_api;
