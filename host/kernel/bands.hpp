#pragma once
// Shared parts of the three directions of a convolution (conv.cpp, conv_weights.cpp): bands of image rows with padding,
// the groups of filters, and tasks for threads.

#include <algorithm>

#include "host/base/blob.hpp"
#include "host/kernel/conv.hpp"

namespace actorhost::kernel {

// Bytes of image rows per band: a band and a panel of weights fit the second-level cache.
inline constexpr int64_t kBandBytes = 128 << 10;
// Multiply-adds below which the calling thread works alone.
inline constexpr double kWorkForThreads = 2e6;
// The cost of an element copied or added, in multiply-adds.
inline constexpr double kCopyWork = 8;

inline void each_task(ThreadPool* pool, double work, int64_t count, const std::function<void(int)>& task) {
  if (pool != nullptr && work >= kWorkForThreads) return pool->run(static_cast<int>(count), task);
  for (int i = 0; i < count; ++i) task(i);
}

inline std::byte* thread_scratch(int64_t bytes) {
  thread_local Blob buffer;
  if (buffer.size() < static_cast<size_t>(bytes)) buffer = Blob::allocate(static_cast<size_t>(bytes));
  return buffer.data();
}

// Images, or a range of their channels that starts at `data`. Steps in elements.
template <typename T>
struct Images {
  T* data;
  int64_t height, width, channels;
  int64_t pixel;  // from pixel to pixel
  T* at(int64_t image, int64_t row, int64_t column) const noexcept {
    return data + ((image * height + row) * width + column) * pixel;
  }
};

// The positions of windows in images: as in Windows, but pads may be negative.
struct Grid {
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, rows, columns;

  int64_t top(int64_t row) const noexcept { return row * stride_h - pad_top; }
  int64_t rows_of(int64_t windows) const noexcept { return (windows - 1) * stride_h + kernel_h; }
  int64_t width() const noexcept { return (columns - 1) * stride_w + kernel_w; }
};

// Reads rows of windows [from, to) of an image, with zero columns as padding, into scratch memory with `gap` elements
// between pixels. If the image already has this layout, no copy is made. Rows outside of the image stay uninitialised:
// their products are left out.
template <typename T>
class Band {
 public:
  Band(const Images<const T>& images, const Grid& grid, int64_t bytes = kBandBytes, int64_t gap = 0)
      : images_(images), grid_(grid), pixel_(images.channels + gap) {
    const bool inside = grid.pad_top <= 0 && grid.pad_left <= 0 &&
                        grid.rows_of(grid.rows) - grid.pad_top <= images.height &&
                        grid.width() - grid.pad_left <= images.width;
    in_place_ = inside && images.pixel == pixel_;
    row_ = (in_place_ ? images.width : grid.width()) * pixel_;
    const int64_t fit = bytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(row_, 1);
    windows_ = std::clamp<int64_t>((fit - grid.kernel_h) / grid.stride_h + 1, 1, std::max<int64_t>(grid.rows, 1));
  }

  /// Rows of windows in a band, number of bands, distances between image rows and between pixels, elements of scratch
  /// for `read`.
  int64_t windows() const noexcept { return windows_; }
  int64_t count() const noexcept { return (grid_.rows + windows_ - 1) / windows_; }
  int64_t row() const noexcept { return row_; }
  int64_t pixel() const noexcept { return pixel_; }
  int64_t elements() const noexcept { return in_place_ ? 0 : grid_.rows_of(windows_) * row_; }

  const T* read(int64_t image, int64_t from, int64_t to, T* scratch) const noexcept {
    const int64_t top = grid_.top(from);
    if (in_place_) return images_.at(image, top, -grid_.pad_left);
    const int64_t rows = grid_.rows_of(to - from);
    const int64_t end = std::min(rows, images_.height - top);
    for (int64_t y = std::max<int64_t>(0, -top); y < end; ++y) read_row(image, top + y, scratch + y * row_);
    return scratch;
  }

  /// Prefetches the image rows that row `window` of the band is the first to read; a copied band is cached already.
  /// Inline, since GCC drops calls of functions that only prefetch.
  [[gnu::always_inline]] void fetch(const T* pixels, int64_t window) const noexcept {
    if (!in_place_) return;
    const int64_t first = (window - 1) * grid_.stride_h + grid_.kernel_h;
    const auto* rows = reinterpret_cast<const std::byte*>(pixels + first * row_);
    const int64_t bytes = grid_.stride_h * row_ * static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(rows + i, 0, 2);
  }

 private:
  static constexpr int64_t kCacheLine = 64;

  void read_row(int64_t image, int64_t row, T* to) const noexcept {
    const int64_t channels = images_.channels;
    const int64_t width = grid_.width();
    const int64_t before = std::clamp<int64_t>(grid_.pad_left, 0, width);
    const int64_t end = std::clamp<int64_t>(images_.width + grid_.pad_left, before, width);
    std::fill_n(to, before * pixel_, T{0});
    if (images_.pixel == pixel_ && end > before) {
      std::copy_n(images_.at(image, row, before - grid_.pad_left), (end - before) * channels, to + before * pixel_);
    } else {
      for (int64_t x = before; x < end; ++x)
        std::copy_n(images_.at(image, row, x - grid_.pad_left), channels, to + x * pixel_);
    }
    std::fill_n(to + end * pixel_, (width - end) * pixel_, T{0});
  }

  Images<const T> images_;
  Grid grid_;
  bool in_place_;
  int64_t pixel_;
  int64_t row_;
  int64_t windows_;
};

// One group of a convolution: its channels, filters and weights.
struct ConvGroup {
  Windows w;
  int64_t channels, filters, all_filters, i;

  ConvGroup(const Conv& c, int64_t group)
      : w(c.windows),
        channels(w.channels / c.groups),
        filters(c.filters / c.groups),
        all_filters(c.filters),
        i(group) {}

  template <typename U>
  Images<U> images(U* data) const noexcept {
    return {data + i * channels, w.height, w.width, channels, w.channels};
  }
  template <typename U>
  Images<U> results(U* data) const noexcept {
    return {data + i * filters, w.out_h, w.out_w, filters, all_filters};
  }
  Grid grid() const noexcept {
    return {w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_top, w.pad_left, w.out_h, w.out_w};
  }
  /// The weights of the kernel pixel (y, x).
  template <typename U>
  U* weights(U* data, int64_t y, int64_t x) const noexcept {
    return data + (y * w.kernel_w + x) * channels * all_filters + i * filters;
  }
};

template <typename F>
void by_element(Dtype dtype, F f) {
  if (dtype == Dtype::f32) return f(float{});
  f(double{});
}

template <typename T>
const T* as(const void* p) noexcept {
  return static_cast<const T*>(p);
}

}  // namespace actorhost::kernel
