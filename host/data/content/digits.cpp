#include "host/data/content/digits.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "host/base/random.hpp"
#include "host/data/content/digit_shapes.hpp"

namespace actorhost {

namespace {

constexpr int kSide = 28;
constexpr size_t kPixels = kSide * kSide;
constexpr float kBox = 20;      // the skeleton's box at full size, in the middle of the image
constexpr int kCurveSteps = 5;  // straight segments between two points of a curve
constexpr float kEdge = 0.6F;   // half width of the pen's soft edge
constexpr uint64_t kTestStream = uint64_t{1} << 32;

struct Point {
  float x = 0;
  float y = 0;
};

/// Uniform in [-1, 1).
float either_way(Rng& rng) { return static_cast<float>(2 * rng.uniform() - 1); }
/// Uniform in [low, high).
float between(Rng& rng, float low, float high) { return low + (high - low) * static_cast<float>(rng.uniform()); }

/// Maps the points of a sample's skeleton into the image: warp, shear, rotate, scale, shift.
class Placement {
 public:
  Placement(const DigitStyle& style, Rng& rng) {
    for (Point& corner : warp_) {
      corner.x = style.warp * either_way(rng);
      corner.y = style.warp * either_way(rng);
    }
    const float width = kBox * between(rng, style.small * 0.85F, 0.95F);
    const float height = kBox * between(rng, style.small, 1.05F);
    const float slant = style.shear * either_way(rng);
    // With t = tan(angle / 2), these formulas give an exact rotation without sine and cosine.
    const float t = style.turn / 2 * either_way(rng);
    const float cosine = (1 - t * t) / (1 + t * t);
    const float sine = 2 * t / (1 + t * t);
    xx_ = cosine * width;
    xy_ = -sine * height - cosine * slant * height;
    yx_ = sine * width;
    yy_ = cosine * height - sine * slant * height;
    shift_ = {kSide / 2.0F + style.shift * either_way(rng), kSide / 2.0F + style.shift * either_way(rng)};
  }

  /// Maps `x`, `y` in 0..1 to pixels.
  Point place(float x, float y) const {
    const Point off = warp_at(x, y);
    x -= 0.5F;
    y -= 0.5F;
    return {shift_.x + xx_ * x + xy_ * y + off.x, shift_.y + yx_ * x + yy_ * y + off.y};
  }

 private:
  Point warp_at(float x, float y) const {
    const float gx = std::clamp(x * 3, 0.0F, 2.999F);
    const float gy = std::clamp(y * 3, 0.0F, 2.999F);
    const auto ix = static_cast<size_t>(gx);
    const auto iy = static_cast<size_t>(gy);
    const float fx = gx - static_cast<float>(ix);
    const float fy = gy - static_cast<float>(iy);
    const Point* row = &warp_[iy * 4 + ix];
    const auto mix = [&](float a, float b, float c, float d) {
      const float top = a + (b - a) * fx;
      const float bottom = c + (d - c) * fx;
      return top + (bottom - top) * fy;
    };
    return {mix(row[0].x, row[1].x, row[4].x, row[5].x), mix(row[0].y, row[1].y, row[4].y, row[5].y)};
  }

  std::array<Point, 16> warp_;
  float xx_, xy_, yx_, yy_;
  Point shift_;
};

/// Squared distance of each pixel from the nearest drawn line, up to `reach`.
class Canvas {
 public:
  explicit Canvas(float reach) : reach_(reach) { distance_.fill(reach * reach); }

  void line(Point a, Point b) {
    const int x0 = first(std::min(a.x, b.x));
    const int x1 = last(std::max(a.x, b.x));
    const int y0 = first(std::min(a.y, b.y));
    const int y1 = last(std::max(a.y, b.y));
    const float dx = b.x - a.x;
    const float dy = b.y - a.y;
    const float length = dx * dx + dy * dy;
    const float scale = length > 0 ? 1 / length : 0;
    for (int y = y0; y <= y1; ++y) {
      const float py = static_cast<float>(y) + 0.5F - a.y;
      float* row = &distance_[static_cast<size_t>(y) * kSide];
      for (int x = x0; x <= x1; ++x) {
        const float px = static_cast<float>(x) + 0.5F - a.x;
        const float t = std::clamp((px * dx + py * dy) * scale, 0.0F, 1.0F);
        const float ex = px - t * dx;
        const float ey = py - t * dy;
        row[x] = std::min(row[x], ex * ex + ey * ey);
      }
    }
  }

  /// Inks the pixels under the pen of half width `half`: each gets at least `strength` times the pen's coverage of it.
  void ink(float half, float strength, std::array<float, kPixels>& image) const {
    const float limit = half + kEdge;
    for (size_t i = 0; i < kPixels; ++i) {
      if (distance_[i] >= limit * limit) continue;
      const float inside = (limit - std::sqrt(distance_[i])) / (2 * kEdge);
      image[i] = std::max(image[i], strength * std::min(inside, 1.0F));
    }
  }

 private:
  int first(float low) const { return std::clamp(static_cast<int>(low - reach_), 0, kSide - 1); }
  int last(float high) const { return std::clamp(static_cast<int>(high + reach_), 0, kSide - 1); }

  std::array<float, kPixels> distance_;
  float reach_;
};

/// Point of the Catmull-Rom curve through p[1] and p[2] at t in 0..1, in one coordinate.
float curve(float p0, float p1, float p2, float p3, float t) {
  const float a = 2 * p1;
  const float b = p2 - p0;
  const float c = 2 * p0 - 5 * p1 + 4 * p2 - p3;
  const float d = 3 * p1 - p0 - 3 * p2 + p3;
  return 0.5F * (a + t * (b + t * (c + t * d)));
}

void draw_stroke(const ShapeStroke& stroke, const Placement& placement, Canvas& canvas) {
  const auto points = stroke.points;
  const auto at = [&](size_t i) { return Point{static_cast<float>(points[i].x), static_cast<float>(points[i].y)}; };
  Point from = placement.place(at(0).x / 100, at(0).y / 100);
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const Point p1 = at(i);
    const Point p2 = at(i + 1);
    const Point p0 = i == 0 ? p1 : at(i - 1);
    const Point p3 = i + 2 < points.size() ? at(i + 2) : p2;
    for (int step = 1; step <= kCurveSteps; ++step) {
      const float t = static_cast<float>(step) / kCurveSteps;
      const float x = stroke.smooth ? curve(p0.x, p1.x, p2.x, p3.x, t) : p1.x + (p2.x - p1.x) * t;
      const float y = stroke.smooth ? curve(p0.y, p1.y, p2.y, p3.y, t) : p1.y + (p2.y - p1.y) * t;
      const Point to = placement.place(x / 100, y / 100);
      canvas.line(from, to);
      from = to;
    }
  }
}

/// Draws a stray stroke at a random place, shorter and fainter than the strokes of the digit.
void draw_clutter(Rng& rng, std::array<float, kPixels>& image) {
  const Point from{between(rng, 0, kSide), between(rng, 0, kSide)};
  const Point to{from.x + 6 * either_way(rng), from.y + 6 * either_way(rng)};
  const float half = between(rng, 0.3F, 0.9F);
  Canvas canvas(half + kEdge);
  canvas.line(from, to);
  canvas.ink(half, between(rng, 0.3F, 0.9F), image);
}

/// Blurs by a 3 x 3 kernel (w, 1 - 2 w, w) in each direction.
void blur(float w, std::array<float, kPixels>& image) {
  std::array<float, kPixels> half{};
  for (size_t y = 0; y < kSide; ++y) {
    for (size_t x = 0; x < kSide; ++x) {
      const float* p = &image[y * kSide + x];
      half[y * kSide + x] = (1 - 2 * w) * p[0] + w * ((x > 0 ? p[-1] : 0) + (x + 1 < kSide ? p[1] : 0));
    }
  }
  for (size_t y = 0; y < kSide; ++y) {
    for (size_t x = 0; x < kSide; ++x) {
      const float* p = &half[y * kSide + x];
      image[y * kSide + x] = (1 - 2 * w) * p[0] + w * ((y > 0 ? p[-kSide] : 0) + (y + 1 < kSide ? p[kSide] : 0));
    }
  }
}

/// Converts the image to bytes, with noise: each random number serves eight pixels.
void expose(const std::array<float, kPixels>& image, float noise, Rng& rng, std::byte* out) {
  for (size_t i = 0; i < kPixels; i += 8) {
    uint64_t bits = rng.next();
    for (size_t k = i; k < i + 8; ++k, bits >>= 8) {
      const float offset = (static_cast<float>(bits & 0xff) / 127.5F - 1) * noise;
      const float value = std::clamp(image[k] * 255 + offset, 0.0F, 255.0F);
      const float up = value + 0.5F;  // never negative, so truncation rounds to nearest
      out[k] = static_cast<std::byte>(static_cast<int>(up));
    }
  }
}

unsigned draw_digit(Rng rng, const DigitStyle& style, std::byte* out) {
  const auto digit = static_cast<unsigned>(rng.below(10));
  const auto shapes = digit_shapes(digit);
  const DigitShape shape = shapes[rng.below(shapes.size())];
  const Placement placement(style, rng);
  const float half = between(rng, style.thin, style.thick);
  std::array<float, kPixels> image{};
  Canvas canvas(half + kEdge);
  for (const ShapeStroke& stroke : shape) draw_stroke(stroke, placement, canvas);
  canvas.ink(half, between(rng, 0.65F, 1), image);
  for (int i = 0; i < 2 && rng.uniform() < static_cast<double>(style.clutter); ++i) draw_clutter(rng, image);
  blur(between(rng, 0, 0.22F), image);
  expose(image, style.noise * static_cast<float>(rng.uniform()), rng, out);
  return digit;
}

}  // namespace

ImageSet draw_digits(uint64_t seed, uint64_t first, size_t n, const DigitStyle& style) {
  ImageSet set{n, kSide, kSide, Blob::allocate(n * kPixels), Blob::allocate(n)};
  for (size_t i = 0; i < n; ++i) {
    const unsigned digit = draw_digit(Rng(seed, first + i), style, set.images.data() + i * kPixels);
    set.labels.data()[i] = static_cast<std::byte>(digit);
  }
  return set;
}

Mnist draw_mnist(uint64_t seed, size_t train, size_t test) {
  return {draw_digits(seed, 0, train), draw_digits(seed, kTestStream, test)};
}

}  // namespace actorhost
