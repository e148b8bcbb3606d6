#include "host/base/node_stats.hpp"

#include "host/base/clock.hpp"
#include "tests/test.hpp"

TEST_CASE("a snapshot counts a wait once, either as current or as completed") {
  const SteadyClock clock;
  NodeStats stats(clock);
  stats.begin(0);
  std::atomic<bool> done{false};
  std::thread node([&] {
    for (int wait = 0; wait < 200'000; ++wait) {  // wait k lasts from 2k + 1 to 2k + 2
      static constexpr EngineCall kCall{Cause::lock, "lock"};
      const Activity activity(stats, kCall);
      stats.blocked(2 * wait + 1);
      stats.woken(2 * wait + 2);
    }
    done = true;
  });
  size_t snapshots = 0;
  size_t torn = 0;
  while (!done) {
    const NodeStats::Snapshot snapshot = stats.snapshot();
    const double waits = snapshot.waited[static_cast<size_t>(Cause::lock)];
    const bool waiting = snapshot.state == NodeStats::State::waiting;
    torn += snapshot.since != (waiting ? 2 * waits + 1 : 2 * waits) || (waiting && snapshot.call.cause != Cause::lock)
                ? 1U
                : 0U;
    ++snapshots;
  }
  node.join();
  INFO(torn << " of " << snapshots);
  CHECK(torn == 0);
  CHECK(stats.snapshot().waited[static_cast<size_t>(Cause::lock)] == 200'000);
  CHECK(stats.snapshot().call.name == nullptr);
}
