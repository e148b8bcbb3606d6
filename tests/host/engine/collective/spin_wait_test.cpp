#include "host/base/spin_wait.hpp"

#include "tests/test.hpp"

TEST_CASE("a spin wait ends when its condition holds, and eventually without it") {
  for (const uint32_t threads : {1U, 2U, 1000U}) {
    SpinWait wait;
    int calls = 0;
    CHECK(wait.until([&] { return ++calls == 1; }, threads));
    CHECK(calls == 1);
    CHECK(wait.until([&] { return ++calls == 2; }, threads));
    CHECK_FALSE(wait.until([] { return false; }, threads));
  }
}

TEST_CASE("two threads in spin waits for each other make progress, however many waits it takes") {
  std::atomic<int> turn{0};
  const auto play = [&](int me) {
    SpinWait wait;
    for (int i = 0; i < 2000; ++i) {
      while (!wait.until([&] { return turn.load() % 2 == me; }, 2)) {
      }
      ++turn;
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  CHECK(turn == 4000);
}
