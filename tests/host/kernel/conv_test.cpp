#include "host/kernel/conv.hpp"

#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

// Along one axis: the number of windows, and the padding before the first.
struct Axis {
  int64_t size, kernel, stride, pad, out;
};

Axis axis(Rng& rng) {
  Axis a{often_some(rng, 12), from_one(rng, rng.below(6) == 0 ? 14 : 5), from_one(rng, 4), 0, 0};
  switch (rng.below(3)) {
    case 0:  // same
      a.out = (a.size + a.stride - 1) / a.stride;
      a.pad = std::max<int64_t>((a.out - 1) * a.stride + a.kernel - a.size, 0) / 2;
      break;
    case 1:  // valid
      a.out = a.size < a.kernel ? 0 : (a.size - a.kernel) / a.stride + 1;
      break;
    default:  // windows completely outside, and rows without a window
      a.pad = from_one(rng, 8) - 1;
      a.out = often_some(rng, 6);
  }
  return a;
}

Windows windows(Rng& rng, int64_t channels) {
  const Axis y = axis(rng);
  const Axis x = axis(rng);
  return {often_some(rng, 3), y.size,   x.size, channels, y.kernel, x.kernel,
          y.stride,           x.stride, y.pad,  x.pad,    y.out,    x.out};
}

Conv random_conv(Rng& rng) {
  const int64_t groups = rng.below(3) == 0 ? from_one(rng, 3) : 1;
  const int64_t channels = groups * often_some(rng, rng.below(4) == 0 ? 40 : 5);
  return {windows(rng, channels), groups * often_some(rng, rng.below(3) == 0 ? 80 : 20), groups};
}

std::string print(const Windows& w) {
  std::string text;
  for (int64_t n : {w.batch, w.height, w.width, w.channels, w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_top,
                    w.pad_left, w.out_h, w.out_w}) {
    text += std::to_string(n) + ' ';
  }
  return text;
}

// Calls f(pixel of the image, pixel of the result, pixel of the kernel) for all pixels inside the image.
template <typename F>
void each_pixel(const Windows& w, F f) {
  for (int64_t n = 0; n < w.batch; ++n) {
    for (int64_t i = 0; i < w.out_h * w.out_w; ++i) {
      for (int64_t j = 0; j < w.kernel_h * w.kernel_w; ++j) {
        const int64_t y = i / w.out_w * w.stride_h - w.pad_top + j / w.kernel_w;
        const int64_t x = i % w.out_w * w.stride_w - w.pad_left + j % w.kernel_w;
        if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
        f((n * w.height + y) * w.width + x, n * w.out_h * w.out_w + i, j);
      }
    }
  }
}

template <typename T>
struct Case {
  Conv c;
  std::vector<T> in, weights, bias, grad;  // grad is of the result

  Case(Rng& rng, const Conv& conv)
      : c(conv),
        in(normals<T>(rng, c.windows.batch * c.windows.height * c.windows.width * c.windows.channels)),
        weights(normals<T>(rng, c.windows.kernel_h * c.windows.kernel_w * (c.windows.channels / c.groups) * c.filters)),
        bias(normals<T>(rng, c.filters)),
        grad(normals<T>(rng, c.windows.batch * c.windows.out_h * c.windows.out_w * c.filters)) {}
};

template <typename T>
struct Results {
  std::vector<T> out, in_grad, weight_grad, bias_grad;
  bool operator==(const Results&) const = default;
};

Results<double> by_loops(const Case<double>& t) {
  const Conv& c = t.c;
  Results<double> r{std::vector<double>(t.grad.size()), std::vector<double>(t.in.size()),
                    std::vector<double>(t.weights.size()), std::vector<double>(t.bias.size())};
  const int64_t channels = c.windows.channels / c.groups;
  const int64_t filters = c.filters / c.groups;
  for (size_t i = 0; i < t.grad.size(); ++i) {
    r.out[i] = t.bias[i % t.bias.size()];
    r.bias_grad[i % t.bias.size()] += t.grad[i];
  }
  each_pixel(c.windows, [&](int64_t pixel, int64_t result, int64_t tap) {
    for (int64_t d = 0; d < channels; ++d) {
      for (int64_t f = 0; f < c.filters; ++f) {
        const auto at = static_cast<size_t>(pixel * c.windows.channels + f / filters * channels + d);
        const auto to = static_cast<size_t>(result * c.filters + f);
        const auto w = static_cast<size_t>((tap * channels + d) * c.filters + f);
        r.out[to] += t.in[at] * t.weights[w];
        r.in_grad[at] += t.grad[to] * t.weights[w];
        r.weight_grad[w] += t.grad[to] * t.in[at];
      }
    }
  });
  return r;
}

// Results start as NaN, so that unwritten elements are found.
template <typename T>
Results<T> by_kernels(const Kernels& k, const Case<T>& t, std::optional<Unary> activation = std::nullopt,
                      ThreadPool* pool = nullptr) {
  const T nan = static_cast<T>(NAN);
  Results<T> r{std::vector<T>(t.grad.size(), nan), std::vector<T>(t.in.size(), nan),
               std::vector<T>(t.weights.size(), nan), std::vector<T>(t.bias.size(), nan)};
  const Dtype dtype = dtype_of<T>;
  conv(k, dtype, t.c, t.in.data(), t.weights.data(), t.bias.data(), activation, r.out.data(), pool);
  conv_to_input(k, dtype, t.c, t.grad.data(), t.weights.data(), r.in_grad.data(), pool);
  conv_to_weights(k, dtype, t.c, t.in.data(), t.grad.data(), r.weight_grad.data(), r.bias_grad.data(), pool);
  return r;
}

template <typename T>
std::vector<double> doubles(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

template <typename T>
void compare(const char* what, const std::vector<T>& got, const std::vector<double>& wanted, int64_t terms) {
  const double tolerance = (sizeof(T) == 4 ? 3e-6 : 5e-15) * std::sqrt(static_cast<double>(terms) + 1) * 4;
  for (size_t i = 0; i < got.size(); ++i) {
    const double apart = std::abs(static_cast<double>(got[i]) - wanted[i]);
    if (!(apart <= tolerance)) FAIL(what << " " << i << ": " << got[i] << ", wanted " << wanted[i]);
  }
}

template <typename T>
Results<double> by_loops_of(const Case<T>& t) {
  Rng rng(0);
  Case<double> same(rng, t.c);
  same.in = doubles(t.in);
  same.weights = doubles(t.weights);
  same.bias = doubles(t.bias);
  same.grad = doubles(t.grad);
  return by_loops(same);
}

template <typename T>
void compare_all(const Conv& c, const Results<T>& got, const Results<double>& wanted) {
  const Windows& w = c.windows;
  const int64_t taps = w.kernel_h * w.kernel_w;
  compare("out", got.out, wanted.out, taps * w.channels);
  compare("in_grad", got.in_grad, wanted.in_grad, taps * c.filters);
  compare("weight_grad", got.weight_grad, wanted.weight_grad, w.batch * w.out_h * w.out_w);
  compare("bias_grad", got.bias_grad, wanted.bias_grad, w.batch * w.out_h * w.out_w);
}

template <typename T>
void compare_conv(uint64_t seed, std::optional<Unary> activation) {
  Rng rng(seed);
  const Case<T> t(rng, random_conv(rng));
  Results<double> wanted = by_loops_of(t);
  if (activation == Unary::relu) {
    for (double& x : wanted.out) x = std::max(x, 0.0);
  } else if (activation) {
    for (double& x : wanted.out) x = std::tanh(x);
  }
  for (const Kernels* table : tables()) {
    INFO(table->isa << ", seed " << seed << ": " << print(t.c.windows) << ", filters " << t.c.filters << ", groups "
                    << t.c.groups);
    compare_all(t.c, by_kernels(*table, t, activation), wanted);
  }
}

// Large enough for threads: with and without padding, strides and groups, parts of a batch, bands of an image.
const std::vector<Conv> kLarge = {
    {{5, 28, 28, 1, 5, 5, 1, 1, 2, 2, 28, 28}, 32},     {{7, 14, 14, 20, 3, 3, 2, 2, 0, 0, 7, 7}, 50},
    {{3, 40, 33, 24, 1, 1, 1, 1, 0, 0, 40, 33}, 48},    {{1, 45, 40, 32, 3, 3, 1, 1, 1, 1, 45, 40}, 16},
    {{6, 20, 20, 24, 3, 3, 1, 1, 1, 1, 20, 20}, 40, 2}, {{2, 9, 9, 40, 3, 3, 1, 1, 1, 1, 9, 9}, 140},
    {{20, 17, 17, 3, 7, 7, 2, 2, 3, 3, 9, 9}, 70},
};

}  // namespace

TEST_CASE("convolutions of 1,000 random shapes agree with plain loops, forward and backward") {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const std::optional<Unary> none;
    if (seed % 2 == 0) compare_conv<float>(seed, seed % 4 == 0 ? Unary::relu : none);
    if (seed % 2 == 1) compare_conv<double>(seed, seed % 4 == 1 ? Unary::tanh : none);
  }
}

TEMPLATE_TEST_CASE("a large convolution agrees with plain loops and is the same bits for every number of threads", "",
                   float, double) {
  for (const Conv& c : kLarge) {
    Rng rng(5);
    const Case<TestType> t(rng, c);
    const Results<double> loops = by_loops_of(t);
    std::optional<Results<TestType>> fused;  // of the sets with fused multiply-add
    for (const Kernels* table : tables()) {
      INFO(table->isa << ": " << print(c.windows) << ", filters " << c.filters);
      const auto wanted = by_kernels(*table, t);
      compare_all(c, wanted, loops);
      if (table != tables().front() && !fused) fused = wanted;
      if (fused) CHECK(wanted == *fused);
      for (int threads : {2, 3}) {
        ThreadPool pool(threads);
        CHECK(by_kernels(*table, t, std::nullopt, &pool) == wanted);
      }
    }
  }
}

TEST_CASE("a convolution does not depend on the addresses of its arrays") {
  Rng rng(6);
  const Case<float> t(rng, {{2, 9, 9, 16, 3, 3, 1, 1, 0, 0, 7, 7}, 32});
  for (const Kernels* table : tables()) {
    const auto wanted = by_kernels(*table, t);
    for (int64_t shift = 1; shift < 16; ++shift) {
      const auto moved = [&](const std::vector<float>& values) {
        std::vector<float> longer(static_cast<size_t>(shift));
        longer.insert(longer.end(), values.begin(), values.end());
        return longer;
      };
      const auto in = moved(t.in);
      const auto weights = moved(t.weights);
      const auto grad = moved(t.grad);
      auto got = wanted;
      const Dtype f32 = Dtype::f32;
      conv(*table, f32, t.c, in.data() + shift, weights.data() + shift, t.bias.data(), std::nullopt, got.out.data());
      conv_to_input(*table, f32, t.c, grad.data() + shift, weights.data() + shift, got.in_grad.data());
      conv_to_weights(*table, f32, t.c, in.data() + shift, grad.data() + shift, got.weight_grad.data(), nullptr);
      CHECK(got == wanted);
    }
  }
}

TEST_CASE("an image gives the same bits in a batch as alone, and NaN stays within its windows") {
  Rng rng(7);
  Case<float> t(rng, {{3, 8, 8, 3, 3, 3, 1, 1, 1, 1, 8, 8}, 20});
  t.in[0] = NAN;
  for (const Kernels* table : tables()) {
    const auto all = by_kernels(*table, t, Unary::relu);
    CHECK(std::isnan(all.out[0]));
    CHECK(std::isnan(all.out[9 * 20]));
    CHECK(all.out[2 * 20] >= 0);
    Case<float> alone = t;
    alone.c.windows.batch = 1;
    alone.in.assign(t.in.begin() + 64 * 3, t.in.begin() + 2 * 64 * 3);
    alone.grad.resize(64 * 20);
    const auto one = by_kernels(*table, alone, Unary::relu);
    CHECK(std::equal(one.out.begin(), one.out.end(), all.out.begin() + 64 * 20));
  }
}
