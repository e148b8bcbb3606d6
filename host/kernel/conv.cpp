// All three directions are sums of products over windows, computed by Kernels::step_product. Forward is a product of
// pixels and panels of weights. To the input is a convolution of the result's gradient with flipped weights (with a
// stride, one convolution for each remainder). For few channels it is a product of gradients and weights, whose rows
// are added to the image. To the weights (conv_weights.cpp) is a product of pixels and gradients, summed over pixels.
// Images with padding are copied a few rows at a time; images without padding are read in place. No matrix of windows
// is built.
#include "host/kernel/conv.hpp"

#include "host/kernel/bands.hpp"

namespace actorhost::kernel {

namespace {

// Weights in panels of step_panel filters, each panel after its bias. Unused columns of an incomplete last panel are 0.
template <typename T>
class Panels {
 public:
  Panels(const Kernels& k, Dtype dtype, int64_t depth, int64_t filters)
      : width_(k.step_panel(dtype)),
        filters_(filters),
        size_((depth + 1) * width_),
        bytes_(Blob::allocate(static_cast<size_t>(count() * size_) * sizeof(T))) {}

  int64_t width() const noexcept { return width_; }
  int64_t filters() const noexcept { return filters_; }
  int64_t count() const noexcept { return (filters_ + width_ - 1) / width_; }
  int64_t columns(int64_t panel) const noexcept { return std::min(width_, filters_ - panel * width_); }
  const T* start(int64_t panel) const noexcept { return reinterpret_cast<const T*>(bytes_.data()) + panel * size_; }

  /// Fills each panel: writes its bias (0 if null), then calls put(first filter, columns, rows of the panel).
  template <typename F>
  void fill(const T* bias, ThreadPool* pool, const F& put) {
    each_task(pool, kCopyWork * static_cast<double>(count() * size_), count(), [&](int p) {
      T* panel = reinterpret_cast<T*>(bytes_.data()) + p * size_;
      if (columns(p) < width_ || bias == nullptr) std::fill_n(panel, columns(p) < width_ ? size_ : width_, T{0});
      if (bias != nullptr) std::copy_n(bias + p * width_, columns(p), panel);
      put(p * width_, columns(p), panel + width_);
    });
  }

 private:
  int64_t width_;
  int64_t filters_;
  int64_t size_;
  Blob bytes_;
};

// One convolution: writes the result for the windows of `grid` over `in` to `out`, whose pixels may be apart.
template <typename T>
struct Job {
  const Kernels& k;
  Dtype dtype;
  int64_t batch;
  Images<const T> in;
  Grid grid;
  T* out;
  int64_t out_image, out_row, out_pixel;
  const Panels<T>& panels;
  std::optional<Unary> activation;

  void run(ThreadPool* pool) {
    if (batch * grid.rows * grid.columns == 0 || panels.count() == 0) return;
    const Band<T> band(in, grid);
    const double work = static_cast<double>(batch * grid.rows * grid.columns) *
                        static_cast<double>(grid.kernel_h * grid.kernel_w * in.channels) *
                        static_cast<double>(panels.count() * panels.width());
    each_task(pool, work, batch * band.count(), [&](int i) {
      const int64_t from = i % band.count() * band.windows();
      rows(band, i / band.count(), from, std::min(from + band.windows(), grid.rows));
    });
  }

  void rows(const Band<T>& band, int64_t image, int64_t from, int64_t to) {
    T* scratch = reinterpret_cast<T*>(thread_scratch(band.elements() * static_cast<int64_t>(sizeof(T))));
    const T* pixels = band.read(image, from, to, scratch);
    StepProduct product{};
    product.batch = 1;
    product.rows = grid.columns;
    product.inner = grid.kernel_w * in.channels;
    product.a_step = grid.stride_w * in.channels;
    product.a_outer = band.row();
    product.a_inner = 1;
    product.b_outer = product.inner * panels.width();
    product.b_inner = panels.width();
    product.c_step = out_pixel;
    product.relu = activation == Unary::relu;
    for (int64_t p = 0; p < panels.count(); ++p) {
      product.columns = panels.columns(p);
      product.start = panels.start(p);
      for (int64_t y = from; y < to; ++y) {
        if (p == 0 && y + 1 < to) band.fetch(pixels, y + 1 - from);
        const int64_t above = std::max<int64_t>(0, -grid.top(y));
        product.outer = std::max<int64_t>(0, std::min(grid.kernel_h, in.height - grid.top(y)) - above);
        product.a = pixels + ((y - from) * grid.stride_h + above) * band.row();
        product.b = panels.start(p) + panels.width() + above * product.b_outer;
        product.c = out + image * out_image + y * out_row + p * panels.width();
        k.step_product(dtype, product);
      }
    }
    if (activation && !product.relu) activate(image, from, to);
  }

  // Applies the activation to one group of filters in each pixel.
  void activate(int64_t image, int64_t from, int64_t to) const noexcept {
    const int64_t filters = panels.filters();
    for (int64_t y = from; y < to; ++y) {
      T* row = out + image * out_image + y * out_row;
      if (filters == out_pixel) {
        k.unary(*activation, dtype, grid.columns * filters, row, 1, row, 1);
      } else {
        for (int64_t x = 0; x < grid.columns; ++x, row += out_pixel) {
          k.unary(*activation, dtype, filters, row, 1, row, 1);
        }
      }
    }
  }
};

template <typename T>
void forward(const Kernels& k, Dtype dtype, const ConvGroup& g, const T* in, const T* weights, const T* bias,
             std::optional<Unary> activation, T* out, ThreadPool* pool) {
  const int64_t depth = g.w.kernel_h * g.w.kernel_w * g.channels;
  Panels<T> panels(k, dtype, depth, g.filters);
  const T* from = g.weights(weights, 0, 0);
  panels.fill(bias == nullptr ? nullptr : bias + g.i * g.filters, pool, [&](int64_t first, int64_t columns, T* to) {
    for (int64_t d = 0; d < depth; ++d) {
      std::copy_n(from + d * g.all_filters + first, columns, to + d * panels.width());
    }
  });
  const Images<T> results = g.results(out);
  const int64_t row = g.w.out_w * results.pixel;
  Job<T>{k,   dtype,         g.w.batch, g.images(in), g.grid(), results.data, g.w.out_h * row,
         row, results.pixel, panels,    activation}
      .run(pool);
}

// Along one axis, the pixels of an image with one remainder modulo the stride. Pixel first + i * stride is in `taps`
// windows, under the weights tap, tap + stride, ... Its gradient is a convolution of stride 1 with these weights in
// reverse order and padding `pad`.
struct Phase {
  int64_t tap, taps, first, count, pad;

  Phase(int64_t remainder, int64_t size, int64_t kernel, int64_t stride, int64_t padding)
      : tap(remainder),
        taps(kernel > remainder ? (kernel - remainder + stride - 1) / stride : 0),
        first(((remainder - padding) % stride + stride) % stride),
        count(size > first ? (size - first + stride - 1) / stride : 0),
        pad(taps - 1 - (first + padding - remainder) / stride) {}
};

template <typename T>
void phase_to_input(const Kernels& k, Dtype dtype, const ConvGroup& g, const Phase& y, const Phase& x,
                    const T* out_grad, const T* weights, T* in_grad, ThreadPool* pool) {
  Panels<T> panels(k, dtype, y.taps * x.taps * g.filters, g.channels);
  panels.fill(nullptr, pool, [&](int64_t first, int64_t columns, T* to) {
    for (int64_t i = y.taps - 1; i >= 0; --i) {
      for (int64_t j = x.taps - 1; j >= 0; --j, to += g.filters * panels.width()) {
        const T* tap = g.weights(weights, y.tap + i * g.w.stride_h, x.tap + j * g.w.stride_w);
        k.copy_turned(dtype, g.filters, columns, to, panels.width(), tap + first * g.all_filters, g.all_filters);
      }
    }
  });
  const Images<T> images = g.images(in_grad);
  const int64_t line = images.width * images.pixel;
  Job<T>{k,
         dtype,
         g.w.batch,
         g.results(out_grad),
         {y.taps, x.taps, 1, 1, y.pad, x.pad, y.count, x.count},
         images.at(0, y.first, x.first),
         images.height * line,
         g.w.stride_h * line,
         g.w.stride_w * images.pixel,
         panels,
         std::nullopt}
      .run(pool);
}

// The gradient of the input for few channels, which as columns of a product would leave a register mostly empty.
// Instead, a product of the weights and a transposed row of gradients computes the contribution of each weight to the
// pixels of a row. The contributions are then added to the image.
template <typename T>
class SpreadToInput {
 public:
  SpreadToInput(const Kernels& k, Dtype dtype, const ConvGroup& g, const T* out_grad, const T* weights, T* in_grad)
      : k_(k),
        dtype_(dtype),
        g_(g),
        width_(k.step_panel(dtype)),
        grads_(g.results(out_grad)),
        images_(g.images(in_grad)),
        weights_(g.weights(weights, 0, 0)) {}

  void run(ThreadPool* pool) const {
    const int64_t taps = g_.w.kernel_h * g_.w.kernel_w * g_.channels;
    const double work =
        static_cast<double>(g_.w.batch * g_.w.out_h * g_.w.out_w) * static_cast<double>(g_.filters * taps);
    each_task(pool, work, g_.w.batch, [&](int image) {
      for (int64_t pixel = 0; pixel < g_.w.height * g_.w.width; ++pixel) {
        std::fill_n(images_.at(image, 0, pixel), g_.channels, T{0});
      }
      const int64_t lead = (g_.w.out_w + width_ - 1) / width_ * width_;
      const int64_t size = ((1 + g_.filters) * width_ + taps * lead) * static_cast<int64_t>(sizeof(T));
      T* const zeros = reinterpret_cast<T*>(thread_scratch(size));
      T* const panel = zeros + width_;
      T* const sums = panel + g_.filters * width_;
      std::fill_n(zeros, (1 + g_.filters) * width_, T{0});
      StepProduct product{};
      product.batch = 1;
      product.rows = taps;
      product.outer = 1;
      product.inner = g_.filters;
      product.a = weights_;
      product.a_step = g_.all_filters;
      product.a_inner = 1;
      product.b = panel;
      product.b_inner = width_;
      product.start = zeros;
      product.c_step = lead;
      product.columns = width_;
      for (int64_t y = 0; y < g_.w.out_h; ++y) {
        for (int64_t x = 0; x < g_.w.out_w; x += width_) {
          const int64_t columns = std::min(width_, g_.w.out_w - x);
          k_.copy_turned(dtype_, g_.filters, columns, panel, width_, grads_.at(image, y, x), grads_.pixel);
          product.c = sums + x;
          k_.step_product(dtype_, product);
        }
        add(image, y, sums, lead);
      }
    });
  }

 private:
  // Adds the contributions of the windows of row y: sums[tap * lead + column].
  void add(int64_t image, int64_t y, const T* sums, int64_t lead) const noexcept {
    const Windows& w = g_.w;
    const int64_t top = y * w.stride_h - w.pad_top;
    for (int64_t i = std::max<int64_t>(0, -top); i < std::min(w.kernel_h, w.height - top); ++i) {
      for (int64_t j = 0; j < w.kernel_w; ++j) {
        const int64_t before = w.pad_left - j;  // window x has this pixel at column x * stride_w - before
        const int64_t from = before > 0 ? (before + w.stride_w - 1) / w.stride_w : 0;
        const int64_t end = w.width + before <= 0 ? 0 : (w.width + before - 1) / w.stride_w + 1;
        const int64_t count = std::min(w.out_w, end) - from;
        if (count <= 0) continue;
        T* pixels = images_.at(image, top + i, from * w.stride_w - before);
        const int64_t step = w.stride_w * images_.pixel;
        for (int64_t c = 0; c < g_.channels; ++c) {
          const T* sum = sums + ((i * w.kernel_w + j) * g_.channels + c) * lead + from;
          k_.binary(Binary::add, dtype_, count, pixels + c, step, pixels + c, step, sum, 1);
        }
      }
    }
  }

  const Kernels& k_;
  Dtype dtype_;
  const ConvGroup& g_;
  int64_t width_;
  Images<const T> grads_;
  Images<T> images_;
  const T* weights_;
};

constexpr int64_t kFewChannels = 4;

template <typename T>
void to_input(const Kernels& k, Dtype dtype, const ConvGroup& g, const T* out_grad, const T* weights, T* in_grad,
              ThreadPool* pool) {
  if (g.channels <= kFewChannels) {
    return SpreadToInput<T>(k, dtype, g, out_grad, weights, in_grad).run(pool);
  }
  for (int64_t i = 0; i < g.w.stride_h; ++i) {
    const Phase y(i, g.w.height, g.w.kernel_h, g.w.stride_h, g.w.pad_top);
    for (int64_t j = 0; j < g.w.stride_w; ++j) {
      const Phase x(j, g.w.width, g.w.kernel_w, g.w.stride_w, g.w.pad_left);
      phase_to_input(k, dtype, g, y, x, out_grad, weights, in_grad, pool);
    }
  }
}

}  // namespace

void conv(const Kernels& k, Dtype dtype, const Conv& c, const void* in, const void* weights, const void* bias,
          std::optional<Unary> activation, void* out, ThreadPool* pool) {
  by_element(dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < c.groups; ++i) {
      forward(k, dtype, ConvGroup(c, i), as<T>(in), as<T>(weights), as<T>(bias), activation, static_cast<T*>(out),
              pool);
    }
  });
}

void conv_to_input(const Kernels& k, Dtype dtype, const Conv& c, const void* out_grad, const void* weights,
                   void* in_grad, ThreadPool* pool) {
  by_element(dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < c.groups; ++i) {
      to_input(k, dtype, ConvGroup(c, i), as<T>(out_grad), as<T>(weights), static_cast<T*>(in_grad), pool);
    }
  });
}

}  // namespace actorhost::kernel
