#pragma once
// Convolutions and pooling of images, forward and backward. Arrays are contiguous and do not overlap: images (batch,
// height, width, channels), weights (kernel_h, kernel_w, channels / groups, filters), results (batch, out_h, out_w,
// filters). The caller checks the geometry. Any size may be 0; windows may overlap, leave gaps, and be partly or
// completely outside of the image. Pure functions over the caller's memory: thread-safe; they throw std::bad_alloc
// only.
//
// Results do not depend on the number of threads or on alignment. The result of an image does not depend on the other
// images of its batch; gradients of weights are sums over the batch, in an order that depends only on the shapes. With
// fused multiply-add (isa v3, v4) convolutions differ in the last bits from convolutions without it; pooling does not.

#include <optional>

#include "host/kernel/kernels.hpp"
#include "host/kernel/pool.hpp"

namespace actorhost::kernel {

/// A convolution. The filters and the channels are divided into `groups` equal ranges; a range of filters reads only
/// the range of channels with the same number.
struct Conv {
  Windows windows;
  int64_t filters;
  int64_t groups = 1;
};

/// out = activation(convolution of `in` + bias). A null `bias` is 0. relu has no extra cost; other activations are
/// applied while the results are in the cache. Allocates a copy of the weights, and for each thread about 256 KB (or
/// kernel_h rows of an image, if larger), which the thread retains until it ends.
void conv(const Kernels& k, Dtype dtype, const Conv& c, const void* in, const void* weights, const void* bias,
          std::optional<Unary> activation, void* out, ThreadPool* pool = nullptr);

/// Computes in_grad, the gradient of the input, from `out_grad`, the gradient of the result before its activation.
/// Allocates like `conv`.
void conv_to_input(const Kernels& k, Dtype dtype, const Conv& c, const void* out_grad, const void* weights,
                   void* in_grad, ThreadPool* pool = nullptr);

/// Computes the gradients of the weights and, unless bias_grad is null, of the bias. Allocates at most 4 MB, and for
/// each thread as much as `conv`.
void conv_to_weights(const Kernels& k, Dtype dtype, const Conv& c, const void* in, const void* out_grad,
                     void* weight_grad, void* bias_grad, ThreadPool* pool = nullptr);

/// Writes the largest element of each window to out (batch, out_h, out_w, channels): NaN if the window has a NaN, 0 if
/// the window is completely outside of the image. Writes the position of this element in the window, kernel_w * row +
/// column, to `places`; of equal elements the position of the first. A window has at most kMostPlaces pixels.
void max_pool(const Kernels& k, Dtype dtype, const Windows& w, const void* in, void* out, uint16_t* places,
              ThreadPool* pool = nullptr);
/// Computes in_grad: adds each element of out_grad at the place of its window's largest element.
void max_pool_to_input(const Kernels& k, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                       void* in_grad, ThreadPool* pool = nullptr);
inline constexpr int64_t kMostPlaces = 65536;

/// Writes the mean of each window over its pixels inside the image, without padding; 0 for a window without such
/// pixels.
void average_pool(const Kernels& k, Dtype dtype, const Windows& w, const void* in, void* out,
                  ThreadPool* pool = nullptr);
/// Computes in_grad: divides each element of out_grad equally over its window's pixels inside the image.
void average_pool_to_input(const Kernels& k, Dtype dtype, const Windows& w, const void* out_grad, void* in_grad,
                           ThreadPool* pool = nullptr);

}  // namespace actorhost::kernel
