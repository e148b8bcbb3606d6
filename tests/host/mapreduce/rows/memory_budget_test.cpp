#include "host/mapreduce/rows/memory_budget.hpp"

#include "tests/test.hpp"

TEST_CASE("a budget reports memory beyond the limit until it is returned") {
  MemoryBudget budget(100, 2);
  CHECK(budget.share() == 25);
  budget.take(60);
  CHECK(budget.used() == 60);
  budget.take(40);
  CHECK_FALSE(budget.exceeded());
  budget.take(50);
  CHECK(budget.exceeded());
  budget.give(150);
  CHECK(budget.used() == 0);
  CHECK(budget.peak() == 150);
}

TEST_CASE("a reservation returns its bytes exactly once") {
  MemoryBudget budget(100);
  {
    Reservation first(&budget);
    first.grow(30);
    first.grow(20);
    first.shrink(10);
    CHECK(budget.used() == 40);
    Reservation second = std::move(first);
    CHECK(budget.used() == 40);
    second.resize(70);
    CHECK(budget.used() == 70);
    Reservation third(&budget);
    third.grow(5);
    third = std::move(second);
    CHECK(budget.used() == 70);
    CHECK(third.bytes() == 70);
  }
  CHECK(budget.used() == 0);
  Reservation counting;
  counting.grow(7);
  CHECK(counting.bytes() == 7);
}

TEST_CASE("concurrent takes and gives lose no bytes") {
  MemoryBudget budget(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&budget] {
      for (size_t i = 0; i < 20000; ++i) {
        budget.take(i % 400);
        budget.give(i % 400);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(budget.used() == 0);
  CHECK(budget.peak() <= 4 * 399);
  CHECK(budget.peak() > 0);
}
