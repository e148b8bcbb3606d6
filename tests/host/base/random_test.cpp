#include "host/base/random.hpp"

#include "tests/test.hpp"

TEST_CASE("a seed and a stream give the same numbers on every machine") {
  Rng rng(1, 0);
  Rng again(1, 0);
  Rng other(1, 1);
  const uint64_t first = rng.next();
  CHECK(again.next() == first);
  CHECK(other.next() != first);
}

TEST_CASE("below is uniform and stays in range") {
  Rng rng(7);
  std::vector<int> counts(10);
  for (int i = 0; i < 100000; ++i) ++counts.at(rng.below(10));
  for (int count : counts) CHECK(std::abs(count - 10000) < 500);
}

TEST_CASE("distributions have their mean and variance") {
  Rng rng(3);
  const int n = 200000;
  double sum = 0;
  double squares = 0;
  double expo = 0;
  double gam = 0;
  double small_gamma = 0;
  for (int i = 0; i < n; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
    expo += rng.exponential(2);
    gam += rng.gamma(3, 0.5);
    small_gamma += rng.gamma(0.5, 2);
  }
  CHECK(std::abs(sum / n) < 0.01);
  CHECK(std::abs(squares / n - 1) < 0.02);
  CHECK(std::abs(expo / n - 2) < 0.03);
  CHECK(std::abs(gam / n - 1.5) < 0.02);
  CHECK(std::abs(small_gamma / n - 1) < 0.02);
}

TEST_CASE("sample draws without replacement, and every subset is equally likely") {
  Rng rng(11);
  std::vector<uint32_t> permutation(20);
  std::iota(permutation.begin(), permutation.end(), 0U);
  std::vector<int> hits(20);
  for (int round = 0; round < 20000; ++round) {
    uint32_t out[5];
    rng.sample(permutation, 5, out);
    CHECK(std::set<uint32_t>(out, out + 5).size() == 5);
    for (uint32_t x : out) ++hits.at(x);
  }
  for (int h : hits) CHECK(std::abs(h - 5000) < 350);
}

TEST_CASE("Philox gives the known answers of its authors") {
  using Block = std::array<uint32_t, 4>;
  CHECK(Philox::encrypt({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t kOnes = 0xffffffff;
  CHECK(Philox::encrypt({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Philox::encrypt({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("an index of a Philox stream gives the same number from any previous position") {
  Philox random(5, 2);
  std::vector<uint64_t> first;
  for (uint64_t i = 0; i < 100; ++i) {
    random.seek(i);
    first.push_back(random.next());
    for (uint64_t skip = 0; skip < i % 5; ++skip) (void)random.next();
  }
  Philox again(5, 2);
  for (uint64_t i = 100; i-- > 0;) {
    again.seek(i);
    CHECK(again.next() == first[i]);
  }
  Philox other(5, 3);
  other.seek(0);
  CHECK(other.next() != first[0]);
  CHECK(std::set<uint64_t>(first.begin(), first.end()).size() == first.size());
}

TEST_CASE("Poisson numbers have their mean and variance, small and large") {
  Rng rng(19);
  for (const double mean : {0.0, 0.3, 9.9, 10.0, 40.0, 1e6, 1e9}) {
    const int n = 20000;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < n; ++i) {
      const double x = rng.poisson(mean) - mean;
      sum += x;
      squares += x * x;
    }
    CHECK(std::abs(sum / n) <= 5 * std::sqrt(mean / n));
    CHECK(std::abs(squares / n - mean) <= 0.1 * mean);
  }
}
