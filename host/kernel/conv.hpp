#pragma once
// Convolutions and pooling of images, forward and backward. Arrays are contiguous and do not overlap: images (batch,
// height, width, channels), weights (kernel_h, kernel_w, channels / groups, filters), results (batch, out_h, out_w,
// filters). The caller checks the geometry. Any size may be 0; windows may overlap, leave gaps, and be partly or
// completely outside of the image. Thread-safe; throws std::bad_alloc only.
//
// Results do not depend on the number of threads or on alignment. Sums over a batch are split by the shapes only; all
// other results of an image are the same in any batch. Convolutions differ in the last bits between instruction sets
// with and without fused multiply-add; pooling does not.

#include <optional>

#include "host/kernel/kernels.hpp"
#include "host/kernel/pool.hpp"

namespace actorhost::kernel {

/// Group i of `groups` computes filters [i, i + 1) * filters / groups from the same fraction of the channels.
struct Conv {
  Windows windows;
  int64_t filters;
  int64_t groups = 1;
};

/// out = activation(convolution of `in` + bias). A null `bias` is 0. relu has no extra cost; other activations are
/// applied while the results are cached. Allocates a copy of the weights, and for each thread about 256 KB (or kernel_h
/// rows of an image, if larger), which the thread retains until it ends.
void conv(const Kernels& k, Dtype dtype, const Conv& c, const void* in, const void* weights, const void* bias,
          std::optional<Unary> activation, void* out, ThreadPool* pool = nullptr);

/// in_grad = gradient of the input, from out_grad, the gradient before the activation. Memory as above.
void conv_to_input(const Kernels& k, Dtype dtype, const Conv& c, const void* out_grad, const void* weights,
                   void* in_grad, ThreadPool* pool = nullptr);

/// Gradients of the weights and, unless null, of the bias. Allocates at most 4 MB, and for each thread as above.
void conv_to_weights(const Kernels& k, Dtype dtype, const Conv& c, const void* in, const void* out_grad,
                     void* weight_grad, void* bias_grad, ThreadPool* pool = nullptr);

/// Writes the largest element of each window, or NaN if the window has one, into out (batch, out_h, out_w, channels).
/// Writes its position in the window, kernel_w * row + column, into `places` (the first of equal elements). A window
/// has at most kMostPlaces pixels; a window completely outside of the image gives 0.
void max_pool(const Kernels& k, Dtype dtype, const Windows& w, const void* in, void* out, uint16_t* places,
              ThreadPool* pool = nullptr);
void max_pool_to_input(const Kernels& k, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                       void* in_grad, ThreadPool* pool = nullptr);
inline constexpr int64_t kMostPlaces = 65536;

/// The mean over the pixels of each window inside the image: padding is not counted. 0 for a window without pixels.
void average_pool(const Kernels& k, Dtype dtype, const Windows& w, const void* in, void* out,
                  ThreadPool* pool = nullptr);
void average_pool_to_input(const Kernels& k, Dtype dtype, const Windows& w, const void* out_grad, void* in_grad,
                           ThreadPool* pool = nullptr);

}  // namespace actorhost::kernel
