#pragma once
// Convolutions and pooling of images, forward and backward. Arrays are contiguous and do not overlap: images (batch,
// height, width, channels), weights (kernel_h, kernel_w, channels / groups, filters), results (batch, out_h, out_w,
// filters). The caller checks the geometry; any size may be 0, windows may overlap, leave gaps, and lie partly or
// wholly outside of the image. Thread-safe; throws std::bad_alloc only.
//
// Results do not depend on the number of threads or on alignment. Sums over a batch are cut by the shapes alone; all
// other results of an image are the same in any batch. Convolutions differ in the last bits between instruction sets
// with fused multiply-add and without; pooling does not.

#include <optional>

#include "host/kernel/kernels.hpp"
#include "host/kernel/pool.hpp"

namespace actorhost::kernel {

/// Group i of `groups` makes filters [i, i + 1) * filters / groups from as many of the channels.
struct Conv {
  Windows windows;
  int64_t filters;
  int64_t groups = 1;
};

/// out = activation(convolution of `in` + bias). Without `bias` (null) it is 0. relu costs nothing, others are applied
/// while the results are in the cache. Needs room for the weights once more, and for each thread about 256 KB (or,
/// where that is more, kernel_h rows of an image); threads keep theirs until they end.
void conv(const Kernels& k, Dtype dtype, const Conv& c, const void* in, const void* weights, const void* bias,
          std::optional<Unary> activation, void* out, ThreadPool* pool = nullptr);

/// in_grad = what out_grad, the gradient before the activation, is for the input. Room as above.
void conv_to_input(const Kernels& k, Dtype dtype, const Conv& c, const void* out_grad, const void* weights,
                   void* in_grad, ThreadPool* pool = nullptr);

/// The same for the weights and, unless null, the bias. Needs room of at most 4 MB, and as above for each thread.
void conv_to_weights(const Kernels& k, Dtype dtype, const Conv& c, const void* in, const void* out_grad,
                     void* weight_grad, void* bias_grad, ThreadPool* pool = nullptr);

/// The largest element of each window, NaN where there is one, into out (batch, out_h, out_w, channels), and its place
/// in the window, kernel_w * row + column, into `places` (the first of equal ones). A window has at most kMostPlaces
/// pixels; one wholly outside gives 0.
void max_pool(const Kernels& k, Dtype dtype, const Windows& w, const void* in, void* out, uint16_t* places,
              ThreadPool* pool = nullptr);
void max_pool_to_input(const Kernels& k, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                       void* in_grad, ThreadPool* pool = nullptr);
inline constexpr int64_t kMostPlaces = 65536;

/// The mean of the pixels of each window that lie in the image: padding is not counted. 0 where there are none.
void average_pool(const Kernels& k, Dtype dtype, const Windows& w, const void* in, void* out,
                  ThreadPool* pool = nullptr);
void average_pool_to_input(const Kernels& k, Dtype dtype, const Windows& w, const void* out_grad, void* in_grad,
                           ThreadPool* pool = nullptr);

}  // namespace actorhost::kernel
