// The gradients of a convolution's weights and bias.
#include "host/kernel/bands.hpp"

namespace actorhost::kernel {

namespace {

inline constexpr int64_t round_up(int64_t n, int64_t unit) noexcept { return (n + unit - 1) / unit * unit; }

// Sums over the pixels of a batch. The shapes alone determine how the batch is split into parts. Each part adds up its
// images in order, and then the parts are added in order, so each element has one order of summation. The first part
// uses the result arrays; the other parts follow one another in `others_`, each with weights and bias.
template <typename T>
class WeightSums {
 public:
  WeightSums(const Kernels& k, Dtype dtype, const Conv& c, T* weight_grad, T* bias_grad)
      : k_(k),
        dtype_(dtype),
        c_(c),
        weight_grad_(weight_grad),
        bias_grad_(bias_grad),
        weights_(c.windows.kernel_h * c.windows.kernel_w * (c.windows.channels / c.groups) * c.filters),
        size_(weights_ + c.filters),
        parts_(std::clamp<int64_t>(kPartBytes / (size_ * static_cast<int64_t>(sizeof(T))), 1,
                                   std::clamp<int64_t>(c.windows.batch, 1, kMostParts))),
        width_(k.step_panel(dtype)),
        panels_((c.filters / c.groups + width_ - 1) / width_),
        others_(Blob::allocate(static_cast<size_t>((parts_ - 1) * size_) * sizeof(T))) {}

  void run(const T* in, const T* out_grad, ThreadPool* pool) {
    const Windows& w = c_.windows;
    if (w.batch * w.out_h * w.out_w == 0) {
      std::fill_n(weight_grad_, weights_, T{0});
      if (bias_grad_ != nullptr) std::fill_n(bias_grad_, c_.filters, T{0});
      return;
    }
    const double work = static_cast<double>(w.batch * w.out_h * w.out_w) * static_cast<double>(weights_);
    each_task(pool, work, parts_ * panels_ * c_.groups, [&](int i) {
      const ConvGroup group(c_, i % c_.groups);
      panel(group, i / c_.groups % panels_, i / c_.groups / panels_, in, out_grad);
    });
    add_parts(weight_grad_, 0, weights_, pool);
    if (bias_grad_ != nullptr) add_parts(bias_grad_, weights_, c_.filters, pool);
  }

 private:
  static constexpr int64_t kPartBytes = 4 << 20;
  static constexpr int64_t kMostParts = 16;
  static constexpr int64_t kPiece = 8192;
  // Bytes of images per sum in registers, before this sum is added to the gradients in memory.
  static constexpr int64_t kSumBytes = 512 << 10;

  T* other(int64_t part) noexcept { return reinterpret_cast<T*>(others_.data()) + (part - 1) * size_; }

  // Adds elements [from, from + count) of the other parts, in pieces.
  void add_parts(T* to, int64_t from, int64_t count, ThreadPool* pool) {
    each_task(pool, kCopyWork * static_cast<double>(parts_ * count), (count + kPiece - 1) / kPiece, [&](int i) {
      T* some = to + i * kPiece;
      const int64_t n = std::min(kPiece, count - i * kPiece);
      for (int64_t part = 1; part < parts_; ++part) {
        k_.binary(Binary::add, dtype_, n, some, 1, some, 1, other(part) + from + i * kPiece, 1);
      }
    });
  }

  // The gradients of `columns` filters: in place, or copied to `scratch` if `columns` does not fill the registers.
  Images<const T> filters_of(const Images<const T>& grads, int64_t columns, int64_t image, int64_t from, int64_t to,
                             T* scratch) const noexcept {
    Images<const T> some = grads;
    some.data = grads.at(image, from, 0);
    if (scratch == nullptr) return some;
    for (int64_t i = 0; i < (to - from) * some.width; ++i) {
      std::copy_n(some.data + i * some.pixel, columns, scratch + i * width_);
      std::fill_n(scratch + i * width_ + columns, width_ - columns, T{0});
    }
    some.data = scratch;
    some.pixel = width_;
    return some;
  }

  void panel(const ConvGroup& g, int64_t panel, int64_t part, const T* in, const T* out_grad) {
    const Images<const T> images = g.images(in);
    const Band<T> band(images, g.grid(), kSumBytes, gap(images));
    Images<const T> grads = g.results(out_grad);
    grads.data += panel * width_;
    const int64_t columns = std::min(width_, g.filters - panel * width_);
    const bool whole = columns == width_ || columns == width_ / 2;
    const int64_t room = round_up(band.elements(), 16);
    const int64_t copied = whole ? 0 : band.windows() * g.w.out_w * width_;
    const int64_t together = images_together(band);
    T* scratch = reinterpret_cast<T*>(thread_scratch(together * (room + copied) * static_cast<int64_t>(sizeof(T))));
    const int64_t first = g.w.batch * part / parts_;
    const int64_t end = g.w.batch * (part + 1) / parts_;
    for (int64_t n = first; n < end; n += together) {
      for (int64_t from = 0; from < g.w.out_h; from += band.windows()) {
        const int64_t to = std::min(from + band.windows(), g.w.out_h);
        StepProduct product{};
        product.columns = columns;
        product.accumulate = n != first || from != 0;
        product.batch = std::min(together, end - n);
        product.inner = g.w.out_w;
        product.a_batch = room > 0 ? room : images.at(1, 0, 0) - images.at(0, 0, 0);
        product.b_batch = whole ? grads.at(1, 0, 0) - grads.at(0, 0, 0) : copied;
        const T* pixels = nullptr;
        Images<const T> some{};
        for (int64_t i = product.batch - 1; i >= 0; --i) {
          pixels = band.read(n + i, from, to, scratch + i * room);
          some = filters_of(grads, columns, n + i, from, to, whole ? nullptr : scratch + together * room + i * copied);
        }
        product.b_outer = g.w.out_w * some.pixel;
        product.b_inner = some.pixel;
        add_weights(product, g, panel, part, from, to, pixels, band, some.data);
        if (bias_grad_ != nullptr) add_bias(product, g, panel, part, to - from, some.data);
      }
    }
  }

  // Elements between the pixels of a copy. Pixels at a distance of a multiple of 1 KB would share few sets of the
  // first-level cache.
  static int64_t gap(const Images<const T>& images) noexcept {
    const bool few_sets = images.channels % (1024 / static_cast<int64_t>(sizeof(T))) == 0;
    return few_sets ? 64 / static_cast<int64_t>(sizeof(T)) : 0;
  }

  // Small images are summed several at a time: longer sums read and write the gradients less often.
  int64_t images_together(const Band<T>& band) const noexcept {
    if (band.count() > 1) return 1;
    const int64_t image = c_.windows.height * band.row() * static_cast<int64_t>(sizeof(T));
    return std::clamp<int64_t>(kSumBytes / std::max<int64_t>(image, 1), 1, c_.windows.batch);
  }

  void add_weights(StepProduct product, const ConvGroup& g, int64_t panel, int64_t part, int64_t from, int64_t to,
                   const T* pixels, const Band<T>& band, const T* grads) noexcept {
    // Adjacent pixels form one row of elements if there is no gap between them.
    const bool joined = band.pixel() == g.channels;
    product.rows = joined ? g.w.kernel_w * g.channels : g.channels;
    product.start = kZeros;
    product.a_step = 1;
    product.a_outer = g.w.stride_h * band.row();
    product.a_inner = g.w.stride_w * band.pixel();
    product.c_step = g.all_filters;
    for (int64_t y = 0; y < g.w.kernel_h; ++y) {
      // Windows with row y inside the image.
      const int64_t above = std::clamp((g.w.pad_top - y + g.w.stride_h - 1) / g.w.stride_h, from, to);
      const int64_t end = std::clamp((g.w.height + g.w.pad_top - y + g.w.stride_h - 1) / g.w.stride_h, above, to);
      product.outer = end - above;
      product.b = grads + (above - from) * product.b_outer;
      for (int64_t x = 0; x < (joined ? 1 : g.w.kernel_w); ++x) {
        product.a = pixels + ((above - from) * g.w.stride_h + y) * band.row() + x * band.pixel();
        product.c = g.weights(part == 0 ? weight_grad_ : other(part), y, x) + panel * width_;
        k_.step_product(dtype_, product);
      }
    }
  }

  void add_bias(StepProduct product, const ConvGroup& g, int64_t panel, int64_t part, int64_t rows,
                const T* grads) noexcept {
    static constexpr T kOne = 1;
    product.rows = 1;
    product.outer = rows;
    product.a = &kOne;
    product.a_batch = 0;
    product.b = grads;
    product.start = kZeros;
    product.c = (part == 0 ? bias_grad_ : other(part) + weights_) + g.i * g.filters + panel * width_;
    k_.step_product(dtype_, product);
  }

  static constexpr T kZeros[64] = {};

  const Kernels& k_;
  Dtype dtype_;
  Conv c_;
  T* weight_grad_;
  T* bias_grad_;
  int64_t weights_;
  int64_t size_;
  int64_t parts_;
  int64_t width_;
  int64_t panels_;
  Blob others_;
};

}  // namespace

void conv_to_weights(const Kernels& k, Dtype dtype, const Conv& c, const void* in, const void* out_grad,
                     void* weight_grad, void* bias_grad, ThreadPool* pool) {
  if (c.filters == 0) return;
  by_element(dtype, [&](auto type) {
    using T = decltype(type);
    WeightSums<T> sums(k, dtype, c, static_cast<T*>(weight_grad), static_cast<T*>(bias_grad));
    sums.run(as<T>(in), as<T>(out_grad), pool);
  });
}

}  // namespace actorhost::kernel
