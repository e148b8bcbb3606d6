// The inner loops of whole.hpp at every step; tests/stdlib checks their values through tensors.
#include "host/kernel/whole.hpp"

#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

template <typename T>
constexpr Dtype whole_type = sizeof(T) == 1   ? Dtype::u8
                             : sizeof(T) == 4 ? Dtype::i32
                                              : Dtype::i64;

}  // namespace

TEMPLATE_TEST_CASE("integers wrap at every step", "", int32_t, int64_t, uint8_t) {
  using T = TestType;
  constexpr T kMost = std::numeric_limits<T>::max();
  constexpr T kLeast = std::numeric_limits<T>::min();
  for (const auto& [so, sa, sb] : {std::array<int64_t, 3>{1, 1, 1}, {1, 1, 0}, {1, 0, 1}, {2, 3, 1}, {1, 0, 0}}) {
    for (const int64_t n : {0, 1, 7}) {
      const std::vector<T> a(static_cast<size_t>(3 * n + 1), kMost);
      const std::vector<T> b(static_cast<size_t>(n + 1), 1);
      std::vector<T> out(static_cast<size_t>(2 * n + 1), 42);
      whole_binary(Binary::add, whole_type<T>, n, {out.data(), so}, {a.data(), sa}, {b.data(), sb});
      for (int64_t i = 0; i < n; ++i) CHECK(out[static_cast<size_t>(i * so)] == kLeast);
      CHECK(out.back() == 42);
      whole_binary(Binary::mul, whole_type<T>, n, {out.data(), so}, {a.data(), sa}, {a.data(), sa});
      for (int64_t i = 0; i < n; ++i) CHECK(out[static_cast<size_t>(i * so)] == 1);
      std::vector<uint8_t> truths(static_cast<size_t>(2 * n + 1), 42);
      whole_binary(Binary::gt, whole_type<T>, n, {truths.data(), so}, {a.data(), sa}, {b.data(), sb});
      for (int64_t i = 0; i < n; ++i) CHECK(truths[static_cast<size_t>(i * so)] == 1);
      CHECK(truths.back() == 42);
    }
  }
}

TEST_CASE("a run folds into one total, or into one total for each element") {
  const std::vector<int32_t> in{std::numeric_limits<int32_t>::max(), 0, 5, 0, -7};
  std::array<int64_t, 3> totals{};
  fold_start(Fold::sum, Dtype::i32, 3, totals.data());
  fold(Fold::sum, Dtype::i32, 3, {totals.data(), 0}, {in.data(), 2});
  CHECK(totals[0] == int64_t{std::numeric_limits<int32_t>::max()} - 2);
  fold(Fold::sum, Dtype::i32, 3, {totals.data(), 1}, {in.data(), 2});
  CHECK(totals[2] == -7);
  int32_t most = 0;
  fold_start(Fold::max, Dtype::i32, 1, &most);
  CHECK(most == std::numeric_limits<int32_t>::min());
  fold(Fold::max, Dtype::i32, 2, {&most, 0}, {in.data() + 3, 1});
  CHECK(most == 0);
}

TEST_CASE("first_unfit finds the first value outside of a type") {
  const std::vector<double> in{255.9, -0.9, 256};
  CHECK(first_unfit(Dtype::u8, Dtype::f64, 3, in.data()) == 2);
  CHECK(first_unfit(Dtype::u8, Dtype::f64, 2, in.data()) == 2);
  CHECK(first_unfit(Dtype::b8, Dtype::f64, 3, in.data()) == 3);
  const std::vector<float> odd{1, std::numeric_limits<float>::quiet_NaN()};
  for (const Dtype to : {Dtype::i32, Dtype::i64, Dtype::u8}) CHECK(first_unfit(to, Dtype::f32, 2, odd.data()) == 1);
  const std::vector<int64_t> wide{int64_t{1} << 31, -(int64_t{1} << 31)};
  CHECK(first_unfit(Dtype::i32, Dtype::i64, 2, wide.data()) == 0);
  CHECK(first_unfit(Dtype::i32, Dtype::i64, 1, wide.data() + 1) == 1);
  const std::vector<int32_t> divisors{3, 0};
  CHECK(first_unfit(Binary::mod, Dtype::i32, 2, divisors.data()) == 1);
  CHECK(first_unfit(Binary::add, Dtype::i32, 2, divisors.data()) == 2);
}

TEMPLATE_TEST_CASE("the first largest and smallest integer is found among thousands, for any step", "", int32_t,
                   int64_t, uint8_t) {
  Rng rng(11);
  for (int round = 0; round < 60; ++round) {
    const auto n = static_cast<int64_t>(1 + rng.below(14000));
    const auto step = static_cast<int64_t>(rng.below(4));
    const uint64_t different = 1 + rng.below(200);  // few values: many are equal
    std::vector<TestType> values(static_cast<size_t>(n * std::max<int64_t>(step, 1)));
    for (TestType& value : values) value = static_cast<TestType>(rng.below(different));
    for (const bool smallest : {false, true}) {
      int64_t wanted = 0;
      for (int64_t i = 1; i < n; ++i) {
        const TestType x = values[static_cast<size_t>(i * step)];
        const TestType best = values[static_cast<size_t>(wanted * step)];
        if (smallest ? x < best : best < x) wanted = i;
      }
      INFO(n << " elements with step " << step << " of " << different << " values");
      CHECK(whole_arg_max(whole_type<TestType>, n, {values.data(), step}, smallest) == wanted);
    }
  }
}

TEMPLATE_TEST_CASE("sums and extremes of consecutive integers are those of a loop, on every instruction set", "",
                   int32_t, int64_t, uint8_t) {
  using T = TestType;
  Rng rng(12);
  for (const Isa isa : {Isa::sse2, Isa::v3, Isa::v4}) {
    const Kernels* const table = kernels_for(isa);
    if (table == nullptr) continue;
    for (int64_t n : {1, 2, 31, 32, 33, 64, 255, 256, 257, 1000, 5000}) {
      std::vector<T> values(static_cast<size_t>(n));
      for (T& value : values) value = static_cast<T>(rng.next());
      if (n > 2) values[static_cast<size_t>(n / 2)] = std::numeric_limits<T>::min();
      uint64_t sum = 0;
      for (const T value : values) sum += static_cast<uint64_t>(static_cast<int64_t>(value));
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      INFO(table->isa << ", " << n << " elements");
      CHECK(table->integer_best(whole_type<T>, n, values.data(), false) == static_cast<int64_t>(*most));
      CHECK(table->integer_best(whole_type<T>, n, values.data(), true) == static_cast<int64_t>(*least));
      CHECK(table->integer_sum(whole_type<T>, n, values.data()) == static_cast<int64_t>(sum));
    }
  }
}

TEST_CASE("a run of integers folds into a total that has a value") {
  const std::vector<int64_t> in{3, 9, -2};
  int64_t total = 100;
  fold(Fold::sum, Dtype::i64, 3, {&total, 0}, {in.data(), 1});
  CHECK(total == 110);
  for (const auto& [op, start, wanted] :
       {std::tuple{Fold::max, 5, 9}, {Fold::max, 50, 50}, {Fold::min, 5, -2}, {Fold::min, -50, -50}}) {
    total = start;
    fold(op, Dtype::i64, 3, {&total, 0}, {in.data(), 1});
    CHECK(total == wanted);
  }
}
