#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

template <typename T>
T naive(Binary op, T x, T y) {
  switch (op) {
    case Binary::add: return x + y;
    case Binary::sub: return x - y;
    case Binary::mul: return x * y;
    case Binary::div: return x / y;
    case Binary::max: return std::isnan(x) || std::isnan(y) ? x + y : std::max(x, y);
    case Binary::min: return std::isnan(x) || std::isnan(y) ? x + y : std::min(x, y);
    case Binary::pow: return std::pow(x, y);
    case Binary::eq: return x == y;
    case Binary::ne: return x != y;
    case Binary::lt: return x < y;
    case Binary::le: return x <= y;
    case Binary::gt: return x > y;
    case Binary::ge: return x >= y;
    case Binary::relu_grad: return y > 0 ? x : 0;
    case Binary::tanh_grad: return x * (1 - y * y);
    case Binary::sigmoid_grad: return x * (y * (1 - y));
    case Binary::gelu_grad: break;  // layers_test.cpp
    default: break;                 // in whole.cpp
  }
  return 0;
}

template <typename T>
bool same(T x, T y) {
  return x == y || (std::isnan(x) && std::isnan(y));
}

// Small integers with some NaN and infinities, so that comparisons and ties occur.
template <typename T>
std::vector<T> awkward(Rng& rng, size_t n) {
  const T odd[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), T{-0.0}};
  std::vector<T> values(n);
  for (T& x : values) {
    const uint64_t draw = rng.below(12);
    x = draw < 3 ? odd[draw] : static_cast<T>(static_cast<int>(rng.below(7)) - 3);
  }
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("every binary operation agrees with a plain loop at every step", "", float, double) {
  Rng rng(23);
  for (const Kernels* table : tables()) {
    for (int code = 0; code <= static_cast<int>(Binary::sigmoid_grad); ++code) {
      const auto op = static_cast<Binary>(code);
      for (int64_t n : {0, 1, 7, 65}) {
        for (auto [so, sa, sb] : {std::array<int64_t, 3>{1, 1, 1}, {1, 1, 0}, {1, 0, 1}, {2, 3, 1}, {1, 0, 0}}) {
          const auto a = awkward<TestType>(rng, static_cast<size_t>(n * 3 + 1));
          const auto b = awkward<TestType>(rng, static_cast<size_t>(n * 3 + 1));
          std::vector<TestType> out(static_cast<size_t>(n * 2 + 1), 42);
          std::vector<uint8_t> truths(static_cast<size_t>(n * 2 + 1), 42);
          const bool compares = op >= Binary::eq && op <= Binary::ge;
          void* const to = compares ? static_cast<void*>(truths.data()) : out.data();
          table->binary(op, dtype_of<TestType>, n, to, so, a.data(), sa, b.data(), sb);
          INFO(table->isa << ", binary " << code << ", n " << n << ", steps " << so << sa << sb);
          for (int64_t i = 0; i < n; ++i) {
            const TestType x = a[static_cast<size_t>(i * sa)];
            const TestType y = b[static_cast<size_t>(i * sb)];
            const auto at = static_cast<size_t>(i * so);
            const TestType got = compares ? static_cast<TestType>(truths[at]) : out[at];
            if (!same(got, naive(op, x, y))) FAIL(x << " and " << y);
          }
          CHECK(out.back() == 42);
          CHECK(truths.back() == 42);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("simple unary operations agree with their definition, in place too", "", float, double) {
  Rng rng(29);
  for (const Kernels* table : tables()) {
    const auto in = awkward<TestType>(rng, 100);
    auto check = [&](Unary op, auto f) {
      auto out = in;
      table->unary(op, dtype_of<TestType>, 100, out.data(), 1, out.data(), 1);
      INFO(table->isa << ", unary " << static_cast<int>(op));
      for (size_t i = 0; i < in.size(); ++i) CHECK(same(out[i], static_cast<TestType>(f(in[i]))));
    };
    check(Unary::neg, [](TestType x) { return -x; });
    check(Unary::abs, [](TestType x) { return std::abs(x); });
    check(Unary::square, [](TestType x) { return x * x; });
    check(Unary::sqrt, [](TestType x) { return std::sqrt(x); });
    check(Unary::relu, [](TestType x) { return std::isnan(x) ? x : std::max(x, TestType{0}); });
    check(Unary::sign, [](TestType x) { return std::isnan(x) ? x : TestType((x > 0) - (x < 0)); });
  }
}

TEST_CASE("copy converts, fill writes every element, and from_bytes scales") {
  for (const Kernels* table : tables()) {
    const std::vector<double> in{1.5, -2, 1e300, 0};
    std::vector<float> single(4);
    table->copy(Dtype::f32, 4, single.data(), 1, Dtype::f64, in.data(), 1);
    CHECK(single == std::vector<float>{1.5F, -2, std::numeric_limits<float>::infinity(), 0});
    std::vector<double> spread(8, 9);
    table->copy(Dtype::f64, 4, spread.data(), 2, Dtype::f32, single.data(), 1);
    CHECK(spread[2] == -2);
    CHECK(spread[3] == 9);
    table->fill(Dtype::f64, 3, spread.data() + 1, 2, 0.25);
    CHECK(spread == std::vector<double>{1.5, 0.25, -2, 0.25, INFINITY, 0.25, 0, 9});
    const std::vector<uint8_t> bytes{0, 51, 255};
    table->from_bytes(Dtype::f32, 3, single.data(), bytes.data(), 2, -1);
    CHECK(single == std::vector<float>{-1, 101, 509, 0});
  }
}

TEMPLATE_TEST_CASE("is_finite finds a bad number at every position", "", float, double) {
  Rng rng(31);
  for (const Kernels* table : tables()) {
    auto values = normals<TestType>(rng, 10000);
    auto finite = [&] { return table->is_finite(dtype_of<TestType>, 10000, values.data(), 1); };
    CHECK(finite());
    for (size_t at : {size_t{0}, size_t{4095}, size_t{4096}, size_t{9999}}) {
      for (double bad : {double{INFINITY}, double{-INFINITY}, double{NAN}}) {
        const TestType before = values[at];
        values[at] = static_cast<TestType>(bad);
        CHECK_FALSE(finite());
        values[at] = before;
      }
    }
  }
}
