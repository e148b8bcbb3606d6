#pragma once
// Normalisation of channels: in a contiguous matrix rows x channels, each channel (the last dimension of images, or a
// feature) has a mean and a variance. Sums are computed in double, in an order that depends only on the shape: the same
// bits on every instruction set. Thread-safe; throws std::bad_alloc only.

#include "host/kernel/kernels.hpp"

namespace actorhost::kernel {

struct Channels {
  const Kernels& k;
  Dtype dtype;
  int64_t rows;
  int64_t channels;
};

/// The parameters per channel of a normalisation y = gamma * (x - mean) / sqrt(variance + epsilon) + beta. A null gamma
/// is 1, a null beta 0.
struct Normalisation {
  const void* mean;
  const void* variance;
  double epsilon;
  const void* gamma;
  const void* beta;
};

/// The mean of each channel and its population variance (divided by the number of rows); NaN without rows.
void channel_moments(const Channels& c, const void* x, void* mean, void* variance);

void normalise(const Channels& c, const Normalisation& by, const void* x, void* y);

/// The gradients of gamma, beta (both null or neither) and x (null: not computed) from the gradient of y. With
/// `of_batch`, mean and variance are computed from x itself, so the gradient of x includes their derivatives (source:
/// Ioffe, Szegedy, Batch normalization, ICML 2015, section 3). Otherwise they are constants.
void normalise_grad(const Channels& c, const Normalisation& by, bool of_batch, const void* x, const void* y_grad,
                    void* x_grad, void* gamma_grad, void* beta_grad);

}  // namespace actorhost::kernel
