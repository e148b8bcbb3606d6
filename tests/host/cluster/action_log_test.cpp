#include "host/cluster/coordinator/action_log.hpp"

#include "tests/host/cluster/coordinator_world.hpp"
#include "tests/test.hpp"

TEST_CASE("the first worker to enter an action opens it and the others take part") {
  ActionLog log;
  const auto first = required(log.enter(0, kRun, "rank 1"));
  CHECK(first->first);
  CHECK_FALSE(first->replayed);
  const auto second = required(log.enter(0, kRun, "rank 0"));
  CHECK_FALSE(second->first);
  CHECK_FALSE(second->replayed);
  CHECK(log.size() == 1);
  CHECK(log.opened_by(0) == "rank 1");
  CHECK(log.at(0)->kind == "param.run");
  CHECK(log.at(1) == nullptr);
}

TEST_CASE("a node that enters a finished action gets its recorded value, the first one") {
  ActionLog log;
  REQUIRE(log.enter(0, kRun, "rank 0").ok());
  log.finish(0, "value");
  log.finish(0, "another");
  log.finish(5, "of nothing");
  const auto late = required(log.enter(0, kRun, "rank 2"));
  CHECK(late->replayed);
  CHECK(late->value.view() == "value");
  CHECK(log.finished(0));
  CHECK_FALSE(log.finished(1));
  CHECK(log.size() == 1);
}

TEST_CASE("nodes in different actions get an error with both ranks and both lines") {
  ActionLog log;
  REQUIRE(log.enter(0, kRun, "rank 1 (worker 1 on alpha:7)").ok());
  const auto other = log.enter(0, kCollect, "rank 0 (worker 0 on beta:9)");
  CHECK(failure_of(other).code == Code::mismatch);
  CHECK_THAT(failure_of(other).message, Contains("rank 1 (worker 1 on alpha:7) is in param.run at job.lua:12"));
  CHECK_THAT(failure_of(other).message, Contains("rank 0 (worker 0 on beta:9) is in collect at job.lua:20"));
  CHECK_THAT(failure_of(other).message, Contains("actor.pairs"));
  CHECK_THAT(failure_of(log.enter(0, {"param.run", "job.lua:13"}, "rank 2")).message,
             Contains("job.lua:12") && Contains("job.lua:13"));
}

TEST_CASE("an action that cannot be next is a mismatch") {
  ActionLog log;
  const auto ahead = log.enter(1, kRun, "rank 3");
  CHECK(failure_of(ahead).code == Code::mismatch);
  CHECK_THAT(failure_of(ahead).message, Contains("rank 3 is at its action 2") && Contains("only 0 actions"));
  CHECK_FALSE(log.enter(UINT32_MAX, kRun, "rank 3").ok());
  CHECK(log.size() == 0);
}

TEST_CASE("past the bound the oldest actions are dropped and a late start gets the reason") {
  ActionLog log(100'000);
  for (uint32_t i = 0; i < 5; ++i) {
    REQUIRE(log.enter(i, kRun, "rank 0").ok());
    log.finish(i, std::string(30'000, 'x'));
  }
  REQUIRE(log.over_bound());
  CHECK(log.can_catch_up());
  log.trim(5);
  CHECK_FALSE(log.over_bound());
  CHECK_FALSE(log.can_catch_up());
  CHECK(log.size() == 5);
  CHECK(log.at(0) == nullptr);
  CHECK(log.opened_by(0).empty());
  CHECK(log.finished(0));
  REQUIRE(log.at(4) != nullptr);
  CHECK(log.enter(4, kRun, "rank 1")->replayed);
  const auto dropped = log.enter(0, kRun, "rank 7");
  CHECK(failure_of(dropped).code == Code::unsupported);
  CHECK_THAT(failure_of(dropped).message, Contains("rank 7 cannot catch up") && Contains("action 1"));
  log.finish(0, "too late");
  CHECK(log.enter(5, kCollect, "rank 0")->first);
}

TEST_CASE("an action that a live worker has yet to enter is not dropped") {
  ActionLog log(1000);
  for (uint32_t i = 0; i < 3; ++i) {
    REQUIRE(log.enter(i, kRun, "rank 0").ok());
    log.finish(i, std::string(2000, 'x'));
  }
  log.trim(1);
  CHECK(log.at(0) == nullptr);
  CHECK(log.enter(1, kRun, "rank 1")->replayed);
  log.trim(3);
  CHECK(log.at(2) == nullptr);
  CHECK_FALSE(log.over_bound());
}

TEST_CASE("a hundred thousand actions without values stay within the bound") {
  ActionLog log(1'000'000);
  for (uint32_t i = 0; i < 100'000; ++i) {
    REQUIRE(log.enter(i, kRun, "rank 0").ok());
    log.finish(i, {});
    if (log.over_bound()) log.trim(i + 1);
  }
  CHECK_FALSE(log.over_bound());
  CHECK(log.size() == 100'000);
  CHECK(log.at(99'999) != nullptr);
}

TEST_CASE("an action costs its value and little more, whatever its place") {
  ActionLog log(200'000);
  const ActionEnter collect{"collect", "a/rather/long/path/of/a/job/with/a/name.lua:1234"};
  for (uint32_t i = 0; i < 2000; ++i) {
    REQUIRE(log.enter(i, collect, "rank 0 (worker 0 on a-host-with-a-name:17)").ok());
    log.finish(i, "ten bytes.");
  }
  CHECK_FALSE(log.over_bound());
  for (uint32_t i = 2000; i < 4000; ++i) {
    REQUIRE(log.enter(i, {"collect", "job.lua:" + std::to_string(i)}, "rank 0").ok());
    log.finish(i, "ten bytes.");
  }
  REQUIRE(log.over_bound());
  log.trim(4000);
  CHECK_FALSE(log.over_bound());
  CHECK(log.opened_by(3999) == "rank 0");
}

TEST_CASE("a log resumed after a loss admits late starts if all its values were cached") {
  ActionLog log;
  log.resume(1);
  CHECK(log.can_catch_up());  // a node that enters the only action takes part
  log.resume(3);
  CHECK_FALSE(log.can_catch_up());
  log.finish(0, "first");
  log.finish(0, "of another");
  CHECK_FALSE(log.can_catch_up());
  CHECK_FALSE(log.enter(1, kRun, "rank 3").ok());
  log.finish(1, "second");
  CHECK(log.can_catch_up());
  CHECK(log.enter(0, kRun, "rank 3")->value.view() == "first");
  CHECK(log.enter(1, kRun, "rank 3")->value.view() == "second");
  CHECK_FALSE(log.enter(2, kRun, "rank 3")->replayed);
  CHECK(log.enter(3, kRun, "rank 3")->first);
  log.resume(4'000'000'000U);
  CHECK_FALSE(log.can_catch_up());
}

TEST_CASE("a log resumed after a loss has no values and refuses late starts") {
  ActionLog log;
  log.resume(3);
  log.resume(2);
  CHECK(log.size() == 3);
  CHECK_FALSE(log.can_catch_up());
  const auto early = log.enter(1, kRun, "rank 2");
  CHECK(failure_of(early).code == Code::unsupported);
  CHECK_THAT(failure_of(early).message, Contains("value of action 2") && Contains("lost with the coordinator"));
  // A node that enters the newest action takes part, whatever the action is.
  const auto newest = required(log.enter(2, kRun, "rank 2"));
  CHECK_FALSE(newest->replayed);
  log.finish(2, "value");
  CHECK(log.enter(2, kCollect, "rank 1")->replayed);
  CHECK(log.enter(3, kRun, "rank 1")->first);
  CHECK(log.enter(3, kCollect, "rank 2").error().code == Code::mismatch);
  // The count of a process that attaches later, however large.
  log.resume(4'000'000'000U);
  CHECK(log.size() == 4'000'000'000U);
  CHECK_FALSE(log.over_bound());
}

TEST_CASE("a log resumed without actions is a new log") {
  ActionLog log;
  log.resume(0);
  CHECK(log.can_catch_up());
  CHECK(log.enter(0, kRun, "rank 0")->first);
}
