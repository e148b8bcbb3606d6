#include "host/net/bell.hpp"

#include <memory>
#include <thread>
#include <vector>

#include "host/base/clock.hpp"
#include "tests/test.hpp"

namespace {

std::vector<Bell::Seen> seen_of(std::vector<std::unique_ptr<Bell>>& bells) {
  std::vector<Bell::Seen> seen;
  for (const auto& bell : bells) {
    bell->arm(Bell::kAny);
    seen.push_back({bell.get(), bell->count()});
  }
  return seen;
}

}  // namespace

TEST_CASE("each of many bells ends a wait for all of them") {
  const size_t count = Bell::most_at_once();
  if (count == 0) {
    WARN("test-skipped: the system cannot wait for several bells");
    return;
  }
  std::vector<std::unique_ptr<Bell>> bells;
  for (size_t i = 0; i < count; ++i) bells.push_back(std::make_unique<Bell>());
  for (size_t i = 0; i < count; ++i) {
    const auto seen = seen_of(bells);
    std::thread ringer([&] {
      if (i % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      bells[i]->ring_if_armed();
    });
    while (bells[i]->count() == seen[i].count) Bell::wait_for_any(seen, kForever);
    ringer.join();
    for (const auto& bell : bells) bell->disarm(Bell::kAll);
    bells[i]->ring_if_armed();
    CHECK(bells[i]->count() == seen[i].count + 1);  // a disarmed bell is silent
  }
}

TEST_CASE("a wait for bells ends at its time, and at once if a bell has rung since its count was read") {
  const SteadyClock clock;
  std::vector<std::unique_ptr<Bell>> bells;
  for (int i = 0; i < 3; ++i) bells.push_back(std::make_unique<Bell>());
  const auto seen = seen_of(bells);
  double begun = clock.now();
  bells[0]->wait(seen[0].count, 0.02);
  CHECK(clock.now() - begun >= 0.02);
  bells[1]->ring();
  begun = clock.now();
  bells[1]->wait(seen[1].count, 30);
  if (Bell::most_at_once() != 0) Bell::wait_for_any(seen, 30);
  CHECK(clock.now() - begun < 20);
  if (Bell::most_at_once() == 0) return;
  begun = clock.now();
  Bell::wait_for_any(std::span(seen).first(1), 0.02);
  CHECK(clock.now() - begun >= 0.02);
}
