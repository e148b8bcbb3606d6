// Filters that send signs, or random elements.

#include "host/base/random.hpp"
#include "host/engine/filter/filter.hpp"
#include "tests/test.hpp"

using Values = FilterSpec::Values;

namespace {

template <typename T>
constexpr Dtype element_type = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;

template <typename T>
std::vector<T> sent(Filter& filter, const std::vector<T>& values, T* residual = nullptr) {
  const Blob bytes = filter.encode(element_type<T>, values.size(), values.data(), residual);
  std::vector<T> out(values.size(), 42);
  const Status status = decode_filtered(bytes.view(), element_type<T>, out.size(), out.data());
  if (!status.ok()) FAIL(status.error().message);
  return out;
}

template <typename T>
std::vector<T> random_values(Rng& rng, size_t n) {
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(rng.normal());
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("signs arrive with the mean magnitude", "", float, double) {
  Filter filter(FilterSpec{.values = Values::sign});
  CHECK(sent<TestType>(filter, {1, -5, 0, -2}) == std::vector<TestType>{2, -2, 2, -2});
  CHECK(sent<TestType>(filter, {}).empty());
  Rng rng(1);
  for (const size_t n : {1, 7, 8, 9, 1000}) {
    const auto values = random_values<TestType>(rng, n);
    double sum = 0;
    for (const TestType x : values) sum += std::abs(double{x});
    std::vector<TestType> residual(n, 0);
    const auto found = sent(filter, values, residual.data());
    for (size_t i = 0; i < n; ++i) {
      CHECK(std::signbit(found[i]) == std::signbit(values[i]));
      CHECK(std::abs(double{found[i]}) == Approx(sum / static_cast<double>(n)));
      CHECK(residual[i] == values[i] - found[i]);
    }
  }
  const Blob bytes = filter.encode(element_type<TestType>, 1000, std::vector<TestType>(1000, 1).data());
  CHECK(bytes.size() < 150);
}

TEMPLATE_TEST_CASE("signs with error feedback follow the sum", "", float, double) {
  Rng rng(2);
  Filter filter(FilterSpec{.values = Values::sign});
  const auto drift = random_values<TestType>(rng, 300);
  std::vector<TestType> residual(drift.size(), 0);
  std::vector<double> difference(drift.size(), 0);
  double early = 0;
  double most = 0;
  for (int round = 0; round < 6000; ++round) {
    if (round == 3000) early = most;
    const auto found = sent(filter, drift, residual.data());
    for (size_t i = 0; i < drift.size(); ++i) difference[i] += double{found[i]} - double{drift[i]};
    for (const double x : difference) most = std::max(most, std::abs(x));
  }
  CHECK(most < 1.2 * early);  // bounded: without feedback the difference grows in each round
}

TEST_CASE("a piece with an infinite element or NaN is sent whole") {
  Filter filter(FilterSpec{.values = Values::sign});
  const auto found = sent<float>(filter, {1, INFINITY, -2, NAN});
  CHECK(found[1] == INFINITY);
  CHECK(std::isnan(found[3]));
  CHECK(found[2] == -2);
}

TEST_CASE("truncated and impossible signs are refused") {
  const std::vector<float> values = {1, -2, 3, -4, 5, 6, 7, 8, -9, 1};
  Filter filter(FilterSpec{.values = Values::sign});
  const Blob bytes = filter.encode(Dtype::f32, values.size(), values.data());
  std::vector<float> out(values.size());
  const auto refused = [&](const std::string& text) {
    return !decode_filtered(text, Dtype::f32, out.size(), out.data()).ok();
  };
  const std::string whole(bytes.view());
  for (size_t n = 0; n < whole.size(); ++n) CHECK(refused(whole.substr(0, n)));
  CHECK(refused(whole + '\0'));
  std::string beyond = whole;
  beyond.back() = static_cast<char>(0x80);  // a sign of an element that does not exist
  CHECK(refused(beyond));
  for (const float scale : {-1.F, INFINITY, NAN}) {
    std::string wrong = whole;
    std::memcpy(wrong.data() + wrong.size() - 2 - sizeof scale, &scale, sizeof scale);
    CHECK(refused(wrong));
  }
}

TEST_CASE("random elements: so many, each equally often, the same in two filters") {
  const FilterSpec spec{.fraction = 0.1, .random = true};
  Filter filter(spec);
  Filter other(spec);
  const std::vector<float> values(100, 1);
  std::vector<int> times(values.size(), 0);
  for (int round = 0; round < 3000; ++round) {
    const auto found = sent(filter, values);
    CHECK(sent(other, values) == found);
    CHECK(std::count(found.begin(), found.end(), 1.F) == 10);
    for (size_t i = 0; i < found.size(); ++i) times[i] += found[i] != 0 ? 1 : 0;
  }
  for (const int count : times) CHECK(std::abs(count - 300) < 100);  // six standard deviations
  Filter all(FilterSpec{.count = 500, .random = true});
  CHECK(sent(all, values) == values);
}

TEST_CASE("an element that is not chosen waits in the residual, NaN too") {
  Filter filter(FilterSpec{.count = 1, .random = true});
  std::vector<float> residual(3, 0);
  std::vector<float> sum(3, 0);
  for (int round = 0; round < 40; ++round) {
    const auto found = sent<float>(filter, {round == 0 ? NAN : 0, 1, 2}, residual.data());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += found[i];
  }
  CHECK(std::isnan(sum[0]));
  CHECK(residual[0] == 0);
  CHECK(sum[1] + residual[1] == 40);
  CHECK(sum[2] + residual[2] == 80);
}
