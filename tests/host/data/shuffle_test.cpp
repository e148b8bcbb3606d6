#include "host/data/content/shuffle.hpp"

#include "tests/test.hpp"

TEST_CASE("a shuffle is a permutation of all elements, for every size") {
  for (uint64_t n = 1; n < 300; ++n) {
    const Shuffle shuffle(1, n, n);
    std::vector<bool> seen(n);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t element = shuffle(i);
      REQUIRE(element < n);
      REQUIRE(!seen[element]);
      seen[element] = true;
    }
  }
}

TEST_CASE("the order depends only on seed and epoch") {
  const Shuffle a(1, 2, 1000);
  const Shuffle b(1, 2, 1000);
  const Shuffle other_epoch(1, 3, 1000);
  const Shuffle other_seed(2, 2, 1000);
  int same_epoch = 0;
  int same_seed = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    CHECK(a(i) == b(i));
    if (a(i) == other_epoch(i)) ++same_epoch;
    if (a(i) == other_seed(i)) ++same_seed;
  }
  CHECK(same_epoch < 10);
  CHECK(same_seed < 10);
  const Shuffle known(42, 1, 60000);
  CHECK(std::vector<uint64_t>{known(0), known(1), known(59999)} == std::vector<uint64_t>{7250, 19605, 16054});
}

TEST_CASE("every element is at every position equally often, and neighbours are separated") {
  const uint64_t n = 10;
  const int rounds = 20000;
  std::vector<int> at(n * n);
  int adjacent = 0;
  for (int epoch = 0; epoch < rounds; ++epoch) {
    const Shuffle shuffle(5, static_cast<uint64_t>(epoch), n);
    for (uint64_t i = 0; i < n; ++i) {
      ++at[i * n + shuffle(i)];
      if (i > 0 && shuffle(i) == shuffle(i - 1) + 1) ++adjacent;
    }
  }
  for (int count : at) CHECK(std::abs(count - rounds / 10) < 250);
  CHECK(std::abs(adjacent - 9 * rounds / 10) < 1000);  // 9 neighbours, each with probability 9 / 90
}
