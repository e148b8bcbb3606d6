#include <bit>

#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

// The value of a half, by its definition.
double meaning(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const double fraction = half & 0x3ff;
  const double size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}

// The nearest half of a number, ties to even, by binary search: halves are in the order of their bits.
uint16_t nearest_half(double x) {
  const double size = std::abs(x);
  uint16_t low = 0;
  uint16_t high = 0x7c00;
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (meaning(middle) <= size ? low : high) = middle;
  }
  const double above = high == 0x7c00 ? 65536 : meaning(high);  // infinity begins halfway to the next value
  const double down = size - meaning(low);
  const double up = above - size;
  const uint16_t found = size >= 65536 || up < down || (up == down && high % 2 == 0) ? high : low;
  return static_cast<uint16_t>(found | (std::signbit(x) ? 0x8000 : 0));
}

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Numbers of all magnitudes around those of halves, with ties and special values.
template <typename T>
std::vector<T> all_sizes(Rng& rng, size_t n) {
  std::vector<T> out = {0,
                        T(-0.0),
                        65504,
                        65519,
                        65520,
                        -65520,
                        T(0x1p-24),
                        T(0x1p-25),
                        T(0x1.8p-24),
                        T(0x1p-14),
                        T(0x1.ffcp-15),
                        std::numeric_limits<T>::infinity(),
                        -std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::denorm_min()};
  while (out.size() < n) {
    const int exponent = static_cast<int>(rng.below(50)) - 30;
    const auto fraction = static_cast<double>(rng.below(4096)) + 4096;  // ties are frequent
    const double wobble = rng.below(2) == 0 ? 0 : rng.normal() * 1e-4;
    out.push_back(static_cast<T>(std::ldexp(fraction + wobble, exponent - 12) * (rng.below(2) == 0 ? 1 : -1)));
  }
  return out;
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("every half decodes to its value and encodes to itself", "", float, double) {
  std::vector<uint16_t> halves(65536);
  std::iota(halves.begin(), halves.end(), uint16_t{0});
  for (const Kernels* k : tables()) {
    INFO(k->isa);
    std::vector<TestType> numbers(halves.size());
    k->from_half(dtype_of<TestType>, 65536, numbers.data(), halves.data());
    std::vector<uint16_t> back(halves.size());
    CHECK(k->to_half(dtype_of<TestType>, 65536, back.data(), numbers.data()));
    for (size_t i = 0; i < halves.size(); ++i) {
      const double expected = meaning(halves[i]);
      const auto found = static_cast<double>(numbers[i]);
      if (std::isnan(expected)) {
        if (!std::isnan(found) || back[i] != (halves[i] | 0x200)) FAIL("NaN " << i << " decoded to " << back[i]);
      } else if (found != expected || std::signbit(found) != std::signbit(expected) || back[i] != halves[i]) {
        FAIL("half " << i << " became " << found << " and " << back[i]);
      }
    }
  }
}

TEMPLATE_TEST_CASE("a number becomes the nearest half, ties to even", "", float, double) {
  Rng rng(3);
  const auto numbers = all_sizes<TestType>(rng, 20000);
  const auto n = static_cast<int64_t>(numbers.size());
  for (const Kernels* k : tables()) {
    INFO(k->isa);
    std::vector<uint16_t> halves(numbers.size());
    CHECK_FALSE(k->to_half(dtype_of<TestType>, n, halves.data(), numbers.data()));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const uint16_t expected = nearest_half(static_cast<double>(numbers[i]));
      if (halves[i] != expected) FAIL(numbers[i] << " became " << halves[i] << ", not " << expected);
    }
  }
}

TEST_CASE("a double is rounded to a half once, without an intermediate float") {
  // Just above the tie between 1 and 1 + 2^-10: a float would round it onto the tie, and the tie to even.
  const double x = 1 + 0x1p-11 + 0x1p-40;
  for (const Kernels* k : tables()) {
    uint16_t half = 0;
    CHECK(k->to_half(Dtype::f64, 1, &half, &x));
    CHECK(half == 0x3c01);
  }
}

TEST_CASE("only a finite number that becomes infinite is reported") {
  const std::vector<float> fine = {1, INFINITY, NAN, 65519, -INFINITY};
  const std::vector<float> large = {1, 2, 3, 4, -65520};
  for (const Kernels* k : tables()) {
    uint16_t halves[5];
    CHECK(k->to_half(Dtype::f32, 5, halves, fine.data()));
    CHECK_FALSE(k->to_half(Dtype::f32, 5, halves, large.data()));
    CHECK(halves[4] == 0xfc00);
  }
}

TEMPLATE_TEST_CASE("levels decode within half a step", "", float, double) {
  Rng rng(5);
  const auto greatest = static_cast<double>(std::numeric_limits<TestType>::max());
  const auto least = static_cast<double>(std::numeric_limits<TestType>::denorm_min());
  for (const Kernels* k : tables()) {
    for (const double scale : {1.0, 1e-30, greatest / 4, greatest, least * 1000, least * 100}) {
      for (const int64_t n : {1, 2, 15, 16, 17, 1000, 1024}) {
        std::vector<TestType> numbers(static_cast<size_t>(n));
        const double shift = rng.below(2) == 0 ? 0 : rng.normal() * 0.1;
        for (TestType& x : numbers) x = static_cast<TestType>((2 * rng.uniform() - 1 + shift) * 0.7 * scale);
        std::vector<uint8_t> levels(numbers.size());
        TestType range[2];
        REQUIRE(k->quantise(dtype_of<TestType>, n, levels.data(), range, numbers.data()));
        CHECK(range[0] == *std::min_element(numbers.begin(), numbers.end()));
        CHECK(range[1] == *std::max_element(numbers.begin(), numbers.end()));
        std::vector<TestType> back(numbers.size());
        k->dequantise(dtype_of<TestType>, n, back.data(), range, levels.data());
        const double largest = std::max(std::abs(double{range[0]}), std::abs(double{range[1]}));
        const double rounding = largest * std::numeric_limits<TestType>::epsilon() + 2 * least;
        const double half_step = (double{range[1]} / 510 - double{range[0]} / 510) * (1 + 1e-4);
        INFO(k->isa << ", " << n << " numbers of size " << scale << " from " << range[0] << " to " << range[1]);
        for (size_t i = 0; i < numbers.size(); ++i) {
          const double error = std::abs(double{back[i]} - double{numbers[i]});
          if (!(error <= half_step + rounding)) FAIL(numbers[i] << " decoded to " << back[i]);
        }
        CHECK(*std::min_element(back.begin(), back.end()) >= range[0]);
        CHECK(*std::max_element(back.begin(), back.end()) <= range[1]);
      }
    }
  }
}

TEMPLATE_TEST_CASE("equal elements decode exactly, and infinite elements and NaN are refused", "", float, double) {
  for (const Kernels* k : tables()) {
    for (const TestType value : {TestType(0), TestType(-0.0), TestType(0.1), std::numeric_limits<TestType>::max()}) {
      std::vector<TestType> numbers(100, value);
      std::vector<TestType> back(100);
      uint8_t levels[100];
      TestType range[2];
      REQUIRE(k->quantise(dtype_of<TestType>, 100, levels, range, numbers.data()));
      k->dequantise(dtype_of<TestType>, 100, back.data(), range, levels);
      CHECK(same_bits(numbers, back));
      for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}}) {
        for (const size_t at : {0, 50, 99}) {
          numbers[at] = static_cast<TestType>(bad);
          CHECK_FALSE(k->quantise(dtype_of<TestType>, 100, levels, range, numbers.data()));
          numbers[at] = value;
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("the residual of a sent number is finite", "", float, double) {
  const auto infinite = std::numeric_limits<TestType>::infinity();
  const std::vector<TestType> sent = {1, 1, infinite, infinite, TestType(NAN), 5};
  for (const Kernels* k : tables()) {
    std::vector<TestType> rest = {1.5, -1, infinite, 3, TestType(NAN), infinite};
    k->residual_of(dtype_of<TestType>, 6, rest.data(), sent.data());
    CHECK(rest == std::vector<TestType>{0.5, -2, 0, 0, 0, 0});
  }
}

TEMPLATE_TEST_CASE("magnitudes are counted and marked", "", float, double) {
  Rng rng(7);
  constexpr int kShift = static_cast<int>(8 * sizeof(TestType)) - 1 - kMagnitudeBits;
  for (const Kernels* k : tables()) {
    for (const int64_t n : {0, 1, 63, 64, 65, 200, 1000}) {
      auto numbers = all_sizes<TestType>(rng, static_cast<size_t>(std::max<int64_t>(n, 20)));
      numbers.resize(static_cast<size_t>(n));
      std::vector<uint64_t> sizes;
      for (const TestType x : numbers) sizes.push_back(std::bit_cast<BitsOf<TestType>>(std::abs(x)));
      std::vector<uint32_t> counts(2 * kMagnitudes, 3);
      k->count_magnitudes(dtype_of<TestType>, n, counts.data(), numbers.data());
      std::vector<uint32_t> expected(kMagnitudes, 6);
      for (const uint64_t size : sizes) ++expected[size >> kShift];
      for (size_t b = 0; b < expected.size(); ++b) counts[b] += counts[b + kMagnitudes];
      counts.resize(kMagnitudes);
      CHECK(counts == expected);

      const uint64_t least = sizes.empty() ? 1 : sizes[sizes.size() / 2];
      std::vector<uint64_t> marks(static_cast<size_t>(n + 63) / 64 + 1, ~uint64_t{0});
      k->mark_magnitudes(dtype_of<TestType>, n, marks.data(), numbers.data(), least);
      CHECK(marks.back() == ~uint64_t{0});
      for (size_t i = 0; i + 1 < marks.size() * 64 && i / 64 + 1 < marks.size(); ++i) {
        const bool marked = (marks[i / 64] >> (i % 64) & 1) != 0;
        if (marked != (i < sizes.size() && sizes[i] >= least)) FAIL(k->isa << ": element " << i << " of " << n);
      }
    }
  }
}

TEMPLATE_TEST_CASE("compression gives the same bits on every instruction set", "", float, double) {
  Rng rng(11);
  auto numbers = all_sizes<TestType>(rng, 3001);
  const auto n = static_cast<int64_t>(numbers.size());
  std::vector<uint16_t> halves(numbers.size());
  std::vector<TestType> doubled(numbers.size());
  const Kernels& first = *tables().front();
  numbers[77] = std::numeric_limits<TestType>::signaling_NaN();
  (void)first.to_half(dtype_of<TestType>, n, halves.data(), numbers.data());
  first.from_half(dtype_of<TestType>, n, doubled.data(), halves.data());
  auto finite = normals<TestType>(rng, 3001, 1e-3);
  finite[0] = 0;
  finite[3] = TestType(-0.0);
  for (const int64_t count : {3001L, 16L, 5L}) {
    std::vector<uint8_t> levels(static_cast<size_t>(count));
    std::vector<TestType> back(static_cast<size_t>(count));
    std::vector<TestType> range(2);
    REQUIRE(first.quantise(dtype_of<TestType>, count, levels.data(), range.data(), finite.data()));
    first.dequantise(dtype_of<TestType>, count, back.data(), range.data(), levels.data());
    for (const Kernels* k : tables()) {
      INFO(k->isa << ", " << count);
      std::vector<uint8_t> their_levels(levels.size());
      std::vector<TestType> their_back(back.size());
      std::vector<TestType> their_range(2);
      REQUIRE(k->quantise(dtype_of<TestType>, count, their_levels.data(), their_range.data(), finite.data()));
      k->dequantise(dtype_of<TestType>, count, their_back.data(), their_range.data(), their_levels.data());
      CHECK(their_levels == levels);
      CHECK(same_bits(their_range, range));
      CHECK(same_bits(their_back, back));
    }
  }
  for (const Kernels* k : tables()) {
    INFO(k->isa);
    std::vector<uint16_t> their_halves(halves.size());
    std::vector<TestType> theirs(doubled.size());
    (void)k->to_half(dtype_of<TestType>, n, their_halves.data(), numbers.data());
    k->from_half(dtype_of<TestType>, n, theirs.data(), their_halves.data());
    CHECK(their_halves == halves);
    CHECK(same_bits(theirs, doubled));
  }
}
