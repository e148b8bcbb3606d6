#include "host/kernel/draw.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace actorhost::kernel {

namespace {

constexpr int64_t kDrawnAtOnce = 1024;   // elements drawn as doubles before conversion
constexpr int64_t kDrawnByTask = 65536;  // elements of one task
constexpr int64_t kFewOf = 64;           // for fewer than n / kFewOf draws only moved positions are stored

// The largest value of the element type below `high`, but not below `low`.
double below(double low, double high, Dtype dtype) noexcept {
  if (dtype == Dtype::f64) return std::nextafter(high, low);
  auto top = static_cast<float>(high);
  if (static_cast<double>(top) >= high) top = std::nextafter(top, static_cast<float>(low));
  return static_cast<double>(top);
}

// Draws an element by its number; each element has its own Philox index.
template <typename F>
struct Single {
  F draw;

  double operator()(Philox& random, uint64_t number) noexcept {
    random.seek(number);
    return draw(random);
  }
};

// Draws an element by its number; two elements share an index, in blocks that a Single does not use.
template <typename F>
struct Paired {
  F draw;
  uint64_t index = ~uint64_t{0};
  std::array<double, 2> values = {};

  double operator()(Philox& random, uint64_t number) noexcept {
    if (index != number / 2) {
      index = number / 2;
      random.seek(index, uint32_t{1} << 31);
      values = draw(random);
    }
    return values[number % 2];
  }
};

// Calls f with the function that draws one element.
template <typename F>
void with_distribution(Distribution distribution, double a, double b, Dtype dtype, F f) {
  const auto single = [f](auto draw) { f(Single<decltype(draw)>{draw}); };
  const auto paired = [f](auto draw) { f(Paired<decltype(draw)>{draw}); };
  switch (distribution) {
    case Distribution::uniform: {
      const double top = below(a, b, dtype);  // rounding may give the upper end, which is outside of the range
      const auto one = [=](Philox& random) { return std::min(a + (b - a) * random.uniform(), top); };
      return paired([=](Philox& random) {
        const double first = one(random);
        return std::array<double, 2>{first, one(random)};
      });
    }
    case Distribution::normal:
      return paired([=](Philox& random) {
        double second = 0;
        const double first = random.normal_pair(second);
        return std::array<double, 2>{a + b * first, a + b * second};
      });
    case Distribution::exponential: return single([=](Philox& random) { return random.exponential(a); });
    case Distribution::gamma: return single([=](Philox& random) { return random.gamma(a, b); });
    case Distribution::poisson: return single([=](Philox& random) { return random.poisson(a); });
    case Distribution::bernoulli: return single([=](Philox& random) { return random.uniform() < a ? 1.0 : 0.0; });
    case Distribution::integers: {
      const auto count = static_cast<uint64_t>(b - a) + 1;
      return single([=](Philox& random) { return a + static_cast<double>(random.below(count)); });
    }
  }
}

// Writes element(i), i = from .. to - 1, to the row-major `out`.
template <typename F>
void write(const Kernels& k, const View& out, int64_t from, int64_t to, F element) noexcept {
  double chunk[kDrawnAtOnce];
  for (int64_t start = from; start < to; start += kDrawnAtOnce) {
    const int64_t n = std::min(kDrawnAtOnce, to - start);
    for (int64_t i = 0; i < n; ++i) chunk[i] = element(start + i);
    copy(k, row_major(out.at(start), out.dtype, {n}), row_major(chunk, Dtype::f64, {n}));
  }
}

}  // namespace

void draw(const Kernels& k, const Source& source, Distribution distribution, double a, double b, const View& out,
          ThreadPool& pool) {
  with_distribution(distribution, a, b, out.dtype, [&](auto one) {
    const int64_t n = out.size();
    auto task = [&](int i) {
      Philox random(source.seed, source.stream);
      auto element = one;
      write(k, out, i * kDrawnByTask, std::min(n, (i + int64_t{1}) * kDrawnByTask),
            [&](int64_t at) { return element(random, source.drawn + static_cast<uint64_t>(at)); });
    };
    pool.run(static_cast<int>((n + kDrawnByTask - 1) / kDrawnByTask), task);
  });
}

void draw_order(const Kernels& k, const Source& source, int64_t n, const View& out) {
  Philox random(source.seed, source.stream);
  const auto exchange = [&](auto at) {  // at(i) is the element at position i, at first i + 1
    write(k, out, 0, out.size(), [&](int64_t i) {
      random.seek(source.drawn + static_cast<uint64_t>(i));
      int64_t& here = at(i);
      std::swap(here, at(i + static_cast<int64_t>(random.below(static_cast<uint64_t>(n - i)))));
      return static_cast<double>(here);
    });
  };
  if (out.size() < n / kFewOf) {
    std::unordered_map<int64_t, int64_t> moved;
    return exchange([&](int64_t i) -> int64_t& { return moved.try_emplace(i, i + 1).first->second; });
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{1});
  exchange([&](int64_t i) -> int64_t& { return order[static_cast<size_t>(i)]; });
}

bool draw_weighted(const Kernels& k, const Source& source, std::span<const double> weights, bool repeated,
                   const View& out) {
  Philox random(source.seed, source.stream);
  const auto positive = std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (positive < (repeated ? std::min<int64_t>(out.size(), 1) : out.size())) return false;
  if (repeated) {
    std::vector<double> sums(weights.size());
    std::partial_sum(weights.begin(), weights.end(), sums.begin());
    const auto last = std::lower_bound(sums.begin(), sums.end(), sums.empty() ? 0.0 : sums.back());
    write(k, out, 0, out.size(), [&](int64_t i) {
      random.seek(source.drawn + static_cast<uint64_t>(i));
      return static_cast<double>(std::upper_bound(sums.begin(), last, random.uniform() * sums.back()) - sums.begin() +
                                 1);
    });
    return true;
  }
  // Sorting by exponential waiting times, with the weights as rates, gives the same order as drawing one after another.
  std::vector<std::pair<double, int64_t>> times;
  times.reserve(static_cast<size_t>(positive));
  for (size_t i = 0; i < weights.size(); ++i) {
    random.seek(source.drawn + i);
    if (weights[i] > 0) times.emplace_back(random.exponential() / weights[i], static_cast<int64_t>(i) + 1);
  }
  std::partial_sort(times.begin(), times.begin() + out.size(), times.end());
  write(k, out, 0, out.size(), [&](int64_t i) { return static_cast<double>(times[static_cast<size_t>(i)].second); });
  return true;
}

}  // namespace actorhost::kernel
