#include "host/kernel/conv.hpp"
#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

// Windows that overlap, leave gaps, or are outside of the image.
Windows random_windows(Rng& rng) {
  const auto side = [&] { return from_one(rng, rng.below(4) == 0 ? 13 : 4); };
  return {often_some(rng, 3),
          often_some(rng, 9),
          often_some(rng, 9),
          often_some(rng, rng.below(2) == 0 ? 40 : 4),
          side(),
          side(),
          from_one(rng, 4),
          from_one(rng, 4),
          from_one(rng, 4) - 1,
          from_one(rng, 4) - 1,
          often_some(rng, 6),
          often_some(rng, 6)};
}

template <typename T>
struct Pooled {
  std::vector<T> max, mean, max_grad, mean_grad;
  std::vector<uint16_t> places;
  bool operator==(const Pooled&) const = default;
};

template <typename T>
Pooled<T> empty_pooled(const Windows& w, T value) {
  const auto in = static_cast<size_t>(w.batch * w.height * w.width * w.channels);
  const auto out = static_cast<size_t>(w.batch * w.out_h * w.out_w * w.channels);
  const auto fill = [&](size_t n) { return std::vector<T>(n, value); };
  return {fill(out), fill(out), fill(in), fill(in), std::vector<uint16_t>(out)};
}

// Calls f(index of the element, its position in the window) for the elements of one window inside the image.
template <typename F>
void each_element(const Windows& w, int64_t n, int64_t y, int64_t x, int64_t c, F f) {
  for (int64_t i = 0; i < w.kernel_h; ++i) {
    for (int64_t j = 0; j < w.kernel_w; ++j) {
      const int64_t row = y * w.stride_h - w.pad_top + i;
      const int64_t column = x * w.stride_w - w.pad_left + j;
      if (row < 0 || row >= w.height || column < 0 || column >= w.width) continue;
      f(static_cast<size_t>(((n * w.height + row) * w.width + column) * w.channels + c), i * w.kernel_w + j);
    }
  }
}

template <typename T>
void pool_one(const Windows& w, int64_t n, int64_t y, int64_t x, int64_t c, const std::vector<T>& in,
              const std::vector<T>& grad, Pooled<T>& r) {
  const auto to = static_cast<size_t>(((n * w.out_h + y) * w.out_w + x) * w.channels + c);
  T sum = 0;
  int count = 0;
  size_t winner = 0;
  each_element(w, n, y, x, c, [&](size_t at, int64_t place) {
    sum += in[at];
    if (count++ == 0 || in[at] > r.max[to] || (std::isnan(in[at]) && !std::isnan(r.max[to]))) {
      r.max[to] = in[at];
      r.places[to] = static_cast<uint16_t>(place);
      winner = at;
    }
  });
  if (count == 0) return;
  r.mean[to] = sum / static_cast<T>(count);
  r.max_grad[winner] += grad[to];
  each_element(w, n, y, x, c, [&](size_t at, int64_t) { r.mean_grad[at] += grad[to] / static_cast<T>(count); });
}

template <typename T>
Pooled<T> pooled_by_loops(const Windows& w, const std::vector<T>& in, const std::vector<T>& grad) {
  Pooled<T> r = empty_pooled<T>(w, 0);
  for (int64_t n = 0; n < w.batch; ++n) {
    for (int64_t y = 0; y < w.out_h; ++y) {
      for (int64_t x = 0; x < w.out_w; ++x) {
        for (int64_t c = 0; c < w.channels; ++c) pool_one(w, n, y, x, c, in, grad, r);
      }
    }
  }
  return r;
}

template <typename T>
Pooled<T> pooled_by_kernels(const Kernels& k, const Windows& w, const std::vector<T>& in, const std::vector<T>& grad,
                            ThreadPool* pool = nullptr) {
  Pooled<T> r = empty_pooled<T>(w, static_cast<T>(NAN));
  const Dtype dtype = dtype_of<T>;
  max_pool(k, dtype, w, in.data(), r.max.data(), r.places.data(), pool);
  max_pool_to_input(k, dtype, w, grad.data(), r.places.data(), r.max_grad.data(), pool);
  average_pool(k, dtype, w, in.data(), r.mean.data(), pool);
  average_pool_to_input(k, dtype, w, grad.data(), r.mean_grad.data(), pool);
  return r;
}

template <typename T>
void compare_pooling(uint64_t seed) {
  Rng rng(seed);
  const Windows w = random_windows(rng);
  auto in = normals<T>(rng, w.batch * w.height * w.width * w.channels);
  if (seed % 3 == 0) {
    for (T& x : in) x = std::round(x);  // equal elements
  }
  const auto grad = normals<T>(rng, w.batch * w.out_h * w.out_w * w.channels);
  const Pooled<T> wanted = pooled_by_loops(w, in, grad);
  for (const Kernels* table : tables()) {
    INFO(table->isa << ", seed " << seed);
    if (pooled_by_kernels(*table, w, in, grad) != wanted) FAIL("other bits");
  }
}

}  // namespace

TEST_CASE("pooling of 1,000 random shapes is the same bits as plain loops, forward and backward") {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    if (seed % 2 == 0) compare_pooling<float>(seed);
    if (seed % 2 == 1) compare_pooling<double>(seed);
  }
}

TEST_CASE("pooling is the same bits for every number of threads") {
  const Windows w = {9, 28, 28, 20, 3, 3, 2, 2, 0, 0, 14, 14};
  Rng rng(1);
  const auto in = normals<float>(rng, 9 * 28 * 28 * 20);
  const auto grad = normals<float>(rng, 9 * 14 * 14 * 20);
  const auto wanted = pooled_by_loops(w, in, grad);
  for (const Kernels* table : tables()) {
    for (int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      CHECK(pooled_by_kernels(*table, w, in, grad, &pool) == wanted);
    }
  }
}

TEST_CASE("the largest element of a window with NaN is the first NaN") {
  const Windows w = {1, 1, 5, 1, 1, 5, 1, 1, 0, 0, 1, 1};
  for (const Kernels* table : tables()) {
    const std::vector<float> in = {3, NAN, 7, NAN, INFINITY};
    float out = 0;
    uint16_t place = 0;
    max_pool(*table, Dtype::f32, w, in.data(), &out, &place);
    CHECK(std::isnan(out));
    CHECK(place == 1);
  }
}

TEST_CASE("the place is correct in the largest allowed window") {
  const Windows w = {1, 256, 256, 1, 256, 256, 1, 1, 0, 0, 1, 1};
  std::vector<float> in(kMostPlaces);
  in.back() = 1;
  for (const Kernels* table : tables()) {
    float out = 0;
    uint16_t place = 0;
    max_pool(*table, Dtype::f32, w, in.data(), &out, &place);
    CHECK(out == 1);
    CHECK(place == 65535);
  }
}
