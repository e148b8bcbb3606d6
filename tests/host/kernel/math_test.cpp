#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

template <typename T>
std::vector<T> apply(const Kernels& table, Unary op, const std::vector<T>& in) {
  std::vector<T> out(in.size());
  table.unary(op, dtype_of<T>, static_cast<int64_t>(in.size()), out.data(), 1, in.data(), 1);
  return out;
}

// Distance in units in the last place of `exact` rounded to T.
template <typename T>
double ulps(T got, long double exact) {
  const T nearest = static_cast<T>(exact);
  if (got == nearest) return 0;
  const T next = std::nextafter(std::abs(nearest), std::numeric_limits<T>::infinity());
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) /
                             static_cast<long double>(next - std::abs(nearest)));
}

template <typename T>
std::vector<T> arguments(double low, double high, bool logarithmic) {
  Rng rng(17);
  std::vector<T> values(50000);
  for (T& x : values) {
    const double at = low + (high - low) * rng.uniform();
    x = static_cast<T>(logarithmic ? std::exp2(at) : at);
  }
  return values;
}

struct Function {
  Unary op;
  long double (*exact)(long double);
  double limit;  // in units in the last place
};

long double exact_sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

template <typename T>
double worst(const Function& f, const std::vector<T>& in) {
  double most = 0;
  for (const Kernels* table : tables()) {
    const auto out = apply(*table, f.op, in);
    for (size_t i = 0; i < in.size(); ++i) most = std::max(most, ulps(out[i], f.exact(in[i])));
  }
  return most;
}

}  // namespace

TEMPLATE_TEST_CASE("exp, log, tanh and sigmoid are within 3 units in the last place", "", float, double) {
  const bool single = sizeof(TestType) == 4;
  const double top = single ? 88.7 : 709.7;
  const double exponent = single ? 126 : 1022;
  CHECK(worst<TestType>({Unary::exp, std::exp, 3}, arguments<TestType>(-top + 2, top, false)) < 3);
  CHECK(worst<TestType>({Unary::exp, std::exp, 3}, arguments<TestType>(-1, 1, false)) < 3);
  CHECK(worst<TestType>({Unary::log, std::log, 3}, arguments<TestType>(-exponent, exponent, true)) < 3);
  CHECK(worst<TestType>({Unary::log, std::log, 3}, arguments<TestType>(0.5, 2, false)) < 3);
  CHECK(worst<TestType>({Unary::tanh, std::tanh, 3}, arguments<TestType>(-12, 12, false)) < 3);
  CHECK(worst<TestType>({Unary::tanh, std::tanh, 3}, arguments<TestType>(-20, 0, true)) < 3);
  CHECK(worst<TestType>({Unary::sigmoid, exact_sigmoid, 3}, arguments<TestType>(-80, 80, false)) < 3);
}

TEMPLATE_TEST_CASE("the functions are exact for infinities, NaN, zeros and subnormal numbers", "", float, double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T tiny = std::numeric_limits<T>::denorm_min() * 7;
  for (const Kernels* table : tables()) {
    INFO(table->isa);
    auto one = [&](Unary op, T x) { return apply<T>(*table, op, std::vector<T>(19, x)).at(18); };
    CHECK(one(Unary::exp, inf) == inf);
    CHECK(one(Unary::exp, 10000) == inf);
    CHECK(one(Unary::exp, -inf) == 0);
    CHECK(one(Unary::exp, 0) == 1);
    CHECK(one(Unary::exp, std::log(tiny)) > 0);
    CHECK(one(Unary::log, inf) == inf);
    CHECK(one(Unary::log, 0) == -inf);
    CHECK(one(Unary::log, 1) == 0);
    CHECK(std::isnan(one(Unary::log, -1)));
    CHECK(one(Unary::log, tiny) == Approx(std::log(tiny)).epsilon(1e-6));
    CHECK(one(Unary::tanh, inf) == 1);
    CHECK(one(Unary::tanh, -inf) == -1);
    CHECK(std::signbit(one(Unary::tanh, T{-0.0})));
    CHECK(one(Unary::tanh, tiny) == tiny);
    CHECK(one(Unary::sigmoid, inf) == 1);
    CHECK(one(Unary::sigmoid, -inf) == 0);
    for (int op = 0; op <= static_cast<int>(Unary::sign); ++op) {
      INFO("unary " << op);
      CHECK(std::isnan(one(static_cast<Unary>(op), nan)));
    }
  }
}

TEMPLATE_TEST_CASE("functions give the same bits on every instruction set, lane and tail", "", float, double) {
  const auto in = arguments<TestType>(-30, 30, false);
  for (int op = 0; op <= static_cast<int>(Unary::sign); ++op) {
    auto positive = in;
    if (static_cast<Unary>(op) == Unary::log || static_cast<Unary>(op) == Unary::sqrt) {
      for (TestType& x : positive) x = std::abs(x);
    }
    const auto wanted = apply(*tables().front(), static_cast<Unary>(op), positive);
    for (const Kernels* table : tables()) {
      INFO(table->isa << ", unary " << op);
      CHECK(apply(*table, static_cast<Unary>(op), positive) == wanted);
      for (size_t i = 0; i < 40; ++i) {
        CHECK(apply(*table, static_cast<Unary>(op), std::vector<TestType>{positive[i]}).front() == wanted[i]);
      }
    }
  }
}

TEMPLATE_TEST_CASE("pow is within 1.5 units in the last place, with the exact cases of the C library", "", float,
                   double) {
  using T = TestType;
  const bool single = sizeof(T) == 4;
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T tiny = std::numeric_limits<T>::denorm_min();
  const T whole = std::exp2(T{single ? 24 : 53});  // from here on all numbers are whole
  const std::vector<T> odd = {0,
                              T{-0.0},
                              1,
                              -1,
                              2,
                              -2,
                              T{0.5},
                              T{-0.5},
                              3,
                              -3,
                              T{2.5},
                              T{-2.5},
                              inf,
                              -inf,
                              nan,
                              4,
                              -5,
                              T{1e30F},
                              -whole,
                              whole,
                              tiny,
                              tiny * 9,
                              -tiny,
                              whole - 1,
                              -whole + 1,
                              whole + 2,
                              whole / 4 + T{0.5},
                              std::numeric_limits<T>::max()};
  // Bases and exponents whose powers are everywhere between the smallest and the greatest number.
  const double top = single ? 126 : 1022;
  std::vector<T> bases = arguments<T>(-30, 30, true);
  std::vector<T> exponents = arguments<T>(-6, 6, false);
  std::reverse(exponents.begin(), exponents.end());
  for (size_t i = 0; i < bases.size(); i += 2) {
    exponents[i] = static_cast<T>(exponents[i] / 6 * top) / std::log2(bases[i]);
  }
  for (size_t i = 1; i < bases.size(); i += 4) bases[i] = 1 + (bases[i] < 1 ? bases[i] : 1 / bases[i]) / 64;
  for (const Kernels* table : tables()) {
    INFO(table->isa);
    const auto power = [&](const std::vector<T>& x, const std::vector<T>& y) {
      std::vector<T> out(x.size());
      table->binary(Binary::pow, dtype_of<T>, static_cast<int64_t>(x.size()), out.data(), 1, x.data(), 1, y.data(), 1);
      return out;
    };
    const std::vector<T> out = power(bases, exponents);
    double most = 0;
    for (size_t i = 0; i < bases.size(); ++i) {
      most = std::max(
          most, ulps(out[i], std::pow(static_cast<long double>(bases[i]), static_cast<long double>(exponents[i]))));
      const T alone = power({bases[i]}, {exponents[i]}).front();
      if (i < 40) CHECK(alone == out[i]);
    }
    CHECK(most < 1.5);
    for (T x : odd) {
      for (T y : odd) {
        const T got = power({x}, {y}).front();
        const T wanted = std::pow(x, y);
        INFO(x << " ^ " << y << " is " << got << ", wanted " << wanted);
        CHECK((std::isnan(wanted) ? std::isnan(got)
                                  : got == wanted || ulps(got, std::pow(static_cast<long double>(x),
                                                                        static_cast<long double>(y))) < 2));
        if (!std::isnan(wanted)) CHECK(std::signbit(got) == std::signbit(wanted));
      }
    }
    CHECK(out == [&] {
      std::vector<T> first(bases.size());
      tables().front()->binary(Binary::pow, dtype_of<T>, static_cast<int64_t>(bases.size()), first.data(), 1,
                               bases.data(), 1, exponents.data(), 1);
      return first;
    }());
  }
}
