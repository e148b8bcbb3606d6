#pragma once
// Hand-drawn-looking digits that this code draws itself: a stand-in for MNIST where its files are not there. Each
// image is one of several skeletons of its digit, warped, sheared, turned, scaled and shifted at random, stroked with
// a pen of random width and ink, then blurred, dirtied with stray strokes and noise. A sample depends on the seed and
// its own number only, and the same seed gives the same bytes on every machine: no function of libm but the exactly
// rounded sqrt is used, and the file is compiled without contraction of a * b + c.
//
// Any thread. About 13 us a sample on one core of 2023.

#include <cstddef>
#include <cstdint>

#include "host/data/idx.hpp"

namespace actorhost {

/// How far samples differ from their skeletons; lengths are in pixels of the 28 x 28 image unless said otherwise.
struct DigitStyle {
  float turn = 0.33F;     // radians, at most, either way
  float shear = 0.40F;    // at most, either way
  float warp = 2.3F;      // displacement of the corners of a 4 x 4 grid, at most
  float shift = 1.7F;     // at most, either way
  float thin = 0.65F;     // half width of the thinnest pen
  float thick = 1.55F;    // half width of the thickest
  float small = 0.69F;    // least size, of the full box of 20 pixels; width and height vary apart
  float clutter = 0.32F;  // chance of a stray stroke, and of a second one after it
  float noise = 28;       // of 255: noise of each pixel, at most, either way
};

/// Samples `first` .. `first` + `n` - 1 of the endless sequence of `seed`: 28 x 28, labels 0..9 equally likely.
ImageSet draw_digits(uint64_t seed, uint64_t first, size_t n, const DigitStyle& style = {});

/// `train` samples from number 0 on and `test` samples from number 2^32 on: they never overlap.
Mnist draw_mnist(uint64_t seed, size_t train, size_t test);

}  // namespace actorhost
