#pragma once
// Synthetic handwritten digits: a substitute for MNIST on machines without its files. Each image is one of several
// skeletons of its digit, warped, sheared, rotated, scaled and shifted at random. It is stroked with a pen of random
// width and ink, blurred, and disturbed by stray strokes and noise. A sample depends only on the seed and its own
// number, and the same seed gives the same bytes on every machine: the code uses no function of libm but the exactly
// rounded sqrt, and the file is compiled without contraction of a * b + c.
//
// Any thread. About 13 us a sample on one core of 2023.

#include <cstddef>
#include <cstdint>

#include "host/data/content/idx.hpp"

namespace actorhost {

/// The variation of samples around their skeletons; lengths are in pixels of the 28 x 28 image unless stated otherwise.
struct DigitStyle {
  float turn = 0.33F;     // maximum, in radians, either way
  float shear = 0.40F;    // maximum, either way
  float warp = 2.3F;      // maximum displacement of the corners of a 4 x 4 grid
  float shift = 1.7F;     // maximum, either way
  float thin = 0.65F;     // half width of the thinnest pen
  float thick = 1.55F;    // half width of the thickest
  float small = 0.69F;    // minimum size, of the full box of 20 pixels; width and height vary separately
  float clutter = 0.32F;  // probability of a stray stroke, and of a second stroke after it
  float noise = 28;       // maximum noise of each pixel, of 255, either way
};

/// Samples `first` .. `first` + `n` - 1 of the endless sequence of `seed`: 28 x 28, labels 0..9 equally likely.
ImageSet draw_digits(uint64_t seed, uint64_t first, size_t n, const DigitStyle& style = {});

/// `train` samples from number 0 on and `test` samples from number 2^32 on, so they never overlap.
Mnist draw_mnist(uint64_t seed, size_t train, size_t test);

}  // namespace actorhost
