// Random jobs under random schedules of process failures, joins, task failures and lost outputs. Every action ends for
// every live worker, with its result in live processes or with the first error of a task that has failed three times. A
// task runs when its inputs exist, and not more often than losses and failures explain. Only requested frames arrive.
// In the end all outputs are forgotten except kept outputs.

#include "tests/host/mapreduce/tasks/tracker_schedule.hpp"

#include "tests/test.hpp"

TEST_CASE("random schedules of tasks, failures and lost outputs keep the tracker's guarantees") {
  const char* more = std::getenv("TRACKER_SEEDS");  // for longer searches by hand
  const uint64_t seeds = more != nullptr ? std::strtoull(more, nullptr, 10) : 3000;
  ScheduleCounts all;
  for (uint64_t seed = std::getenv("SEED") ? std::strtoull(std::getenv("SEED"), nullptr, 10) : 1; seed <= seeds;
       ++seed) {
    INFO("seed " << seed);
    TrackerSchedule schedule(seed);
    schedule.run();
    all += schedule.counts();
  }
  // Each kind of event has happened often enough.
  CHECK(all.tasks > 10 * seeds);
  CHECK(all.crashes > seeds / 4);
  CHECK(all.joins > seeds / 4);
  CHECK(all.failures > seeds / 4);
  CHECK(all.failed_actions > seeds / 20);
  CHECK(all.lost_inputs > seeds / 20);
  CHECK(all.lost_results > seeds / 20);
  CHECK(all.replays > seeds / 20);
  CHECK(all.reused > seeds / 4);
  CHECK(all.cached > seeds / 4);
}
