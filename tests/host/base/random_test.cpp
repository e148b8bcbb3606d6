#include "host/base/random.hpp"

#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

using actorhost::Rng;

TEST_CASE("a seed and a stream give the same numbers everywhere") {
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

TEST_CASE("sample draws without replacement and every subset is as likely") {
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
