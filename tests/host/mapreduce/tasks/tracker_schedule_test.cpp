// Random jobs under random schedules of deaths, joins, failures and lost outputs. Whatever happens, every action ends
// for every live worker, with its result in live processes or with the first error of a task that has failed three
// times; a task runs when its inputs are there, and not more often than losses and failures explain; no frame comes
// that was not asked for; and in the end all outputs are forgotten but those that are kept.

#include "tests/host/mapreduce/tasks/tracker_schedule.hpp"

#include <cstdlib>

#include <catch2/catch.hpp>

using namespace actorhost;
using namespace actorhost::test;

TEST_CASE("random schedules of tasks, deaths, failures and lost outputs keep the tracker's promises") {
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
  // Whatever it is about has happened often enough to be tested.
  CHECK(all.tasks > 10 * seeds);
  CHECK(all.deaths > seeds / 4);
  CHECK(all.joins > seeds / 4);
  CHECK(all.failures > seeds / 4);
  CHECK(all.failed_actions > seeds / 20);
  CHECK(all.lost_inputs > seeds / 20);
  CHECK(all.lost_results > seeds / 20);
  CHECK(all.replays > seeds / 20);
  CHECK(all.reused > seeds / 4);
  CHECK(all.as_told > seeds / 4);
}
