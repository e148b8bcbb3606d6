#pragma once
// The skeletons that digits.cpp draws: for each digit a few ways people write it, as strokes through points of a box,
// x to the right and y down from 0 to 100. Used by digits.cpp only.

#include <cstdint>
#include <span>

namespace actorhost {

struct ShapePoint {
  int8_t x;
  int8_t y;
};

struct ShapeStroke {
  bool smooth = false;  // a curve through the points, else straight lines
  std::span<const ShapePoint> points;
};

using DigitShape = std::span<const ShapeStroke>;

/// The ways to write `digit` (0..9), at least two.
std::span<const DigitShape> digit_shapes(unsigned digit) noexcept;

}  // namespace actorhost
