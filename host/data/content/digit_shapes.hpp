#pragma once
// The skeletons that digits.cpp draws: for each digit a few common handwritten forms, as strokes through points of a
// box, x to the right and y down from 0 to 100. Used by digits.cpp only.

#include <cstdint>
#include <span>

namespace actorhost {

struct ShapePoint {
  int8_t x;
  int8_t y;
};

struct ShapeStroke {
  bool smooth = false;  // a curve through the points, otherwise straight lines
  std::span<const ShapePoint> points;
};

using DigitShape = std::span<const ShapeStroke>;

/// The forms of `digit` (0..9), at least two.
std::span<const DigitShape> digit_shapes(unsigned digit) noexcept;

}  // namespace actorhost
