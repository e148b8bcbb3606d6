#pragma once
// Normalisation of channels: a matrix rows x channels, contiguous, where each channel (the last dimension of images, or
// a feature) has a mean and a variance. Sums are made in double, in an order that depends on the shape alone: the same
// bits on every instruction set. Thread-safe; throws std::bad_alloc only.

#include "host/kernel/kernels.hpp"

namespace actorhost::kernel {

struct Channels {
  const Kernels& k;
  Dtype dtype;
  int64_t rows;
  int64_t channels;
};

/// What a normalisation y = gamma * (x - mean) / sqrt(variance + epsilon) + beta has for each channel. gamma and beta
/// may be null: 1 and 0.
struct Normalisation {
  const void* mean;
  const void* variance;
  double epsilon;
  const void* gamma;
  const void* beta;
};

/// The mean of each channel and its variance (of all rows, not an estimate); NaN where there are no rows.
void channel_moments(const Channels& c, const void* x, void* mean, void* variance);

void normalise(const Channels& c, const Normalisation& by, const void* x, void* y);

/// The gradients of gamma, beta (both null or neither) and x (null: not wanted) from that of y. With `of_batch` mean
/// and variance are those of x itself, so its gradient goes through them too (source: Ioffe, Szegedy, Batch
/// normalization, ICML 2015, section 3); without, they are constants.
void normalise_grad(const Channels& c, const Normalisation& by, bool of_batch, const void* x, const void* y_grad,
                    void* x_grad, void* gamma_grad, void* beta_grad);

}  // namespace actorhost::kernel
