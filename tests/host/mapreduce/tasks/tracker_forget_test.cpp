// Which outputs the tracker forgets, and when: outputs of finished actions, and unused kept outputs.

#include "tests/host/mapreduce/tasks/tracker_world.hpp"
#include "tests/test.hpp"

TEST_CASE("outputs except kept outputs are forgotten everywhere when all workers are through") {
  TrackerWorld world({0, 1});
  run_alone(world, 0, 1, iteration(2, 2));
  world.begin(1, 1, iteration(2, 2));
  world.outcome(1);
  world.report_finished(0, 1);
  CHECK(world.quiet(data_address(0)));
  world.report_finished(1, 1);
  for (const ProcessId process : {0U, 1U}) CHECK(world.forget(process).stages == std::vector<StageId>{2});
  CHECK(world.tracker->actions() == 0);
  // The next action finds the kept outputs.
  world.enter(0, 2, iteration(2, 3));
  CHECK(world.work(0, 2).stage == 3);
  CHECK(world.work(0, 2).stage == 3);
  CHECK(world.outcome(0).stages[0].reused == 2);
}

TEST_CASE("a worker that begins a later action or fails is through with an action that it never began") {
  TrackerWorld world({0, 1});
  run_through(world, 0, 1, word_count());
  CHECK(world.quiet(data_address(0)));
  SECTION("it begins a later action") {
    world.begin(1, 2, plan_of({stage_of(7, 1)}, 2));
    CHECK(world.forget(1).stages == std::vector<StageId>{1, 2});
  }
  SECTION("it has the value from elsewhere") {
    world.report_finished(1, 1);
    CHECK(world.forget(1).stages == std::vector<StageId>{1, 2});
  }
  SECTION("it fails") {
    world.lose(1);
    CHECK(world.quiet(data_address(1)));
  }
  CHECK(world.forget(0).stages == std::vector<StageId>{1, 2});
}

TEST_CASE("stages that a plan lists as unused are forgotten as its action begins") {
  TrackerWorld world({0});
  run_through(world, 0, 1, iteration(2, 2));
  world.forget(0);
  Plan plan = plan_of({stage_of(9, 1)}, 9);
  plan.forget = {1};
  world.enter(0, 2, plan);
  CHECK(world.forget(0).stages == std::vector<StageId>{1});
  CHECK_FALSE(world.tracker->places().knows(1));
  world.work(0, 2);
  world.finish(0, 2);
  CHECK(world.forget(0).stages == std::vector<StageId>{9});
}

TEST_CASE("one worker's report is enough to forget kept outputs, when all have begun that action") {
  TrackerWorld world({0, 1});
  run_alone(world, 0, 1, iteration(2, 2));
  world.begin(1, 1, iteration(2, 2));
  world.outcome(1);
  world.report_finished(0, 1);
  const Plan plain = plan_of({stage_of(9, 1)}, 9);
  Plan unused = plain;
  unused.forget = {1, 77};  // the other has not collected garbage yet
  world.enter(0, 2, unused);
  CHECK(world.quiet(data_address(0)));  // worker 1 may need it still
  SECTION("it begins the action") { world.begin(1, 2, plain); }
  SECTION("it fails") { world.lose(1); }
  if (world.members.size() == 2) CHECK(world.forget(1).stages == std::vector<StageId>{1, 2});
  CHECK(world.forget(0).stages == std::vector<StageId>{1, 2});
  CHECK_FALSE(world.tracker->places().knows(1));
}

TEST_CASE("unused stages stay while a plan has them among its ancestors") {
  TrackerWorld world({0});
  Plan both = iteration(2, 2);
  both.stages[1].keep = true;
  run_through(world, 0, 1, both);
  Plan next = both;  // the second dataset is used; the first is only its ancestor
  next.stages.push_back(stage_of(3, 2, {narrow(2)}));
  next.hash = 3;
  next.forget = {1};
  world.enter(0, 2, next);
  CHECK(world.quiet(data_address(0)));
  CHECK(world.work(0, 2).stage == 3);
  CHECK(world.work(0, 2).stage == 3);
  world.finish(0, 2);
  CHECK(world.forget(0).stages == std::vector<StageId>{1, 3});
  CHECK(world.tracker->places().knows(2));
}

TEST_CASE("stages in the next action's plan are left to that action") {
  TrackerWorld world({0, 1});
  run_alone(world, 0, 1, word_count());
  world.begin(1, 1, word_count());
  world.outcome(1);
  world.report_finished(0, 1);
  Plan next = plan_of({stage_of(1, 2, {}, 2), stage_of(2, 2, {wide(1)}), stage_of(3, 2, {narrow(2)})}, 3);
  world.enter(0, 2, next);
  world.report_finished(1, 1);  // now all workers are through with the first action
  CHECK(world.quiet(data_address(0)));
  CHECK(world.work(0, 2) == TaskAttemptId{3, 0, 1});
  CHECK(world.work(0, 2) == TaskAttemptId{3, 1, 1});
  world.finish(0, 2);
  world.begin(1, 2, next);
  world.report_finished(1, 2);
  CHECK(world.forget(0).stages == std::vector<StageId>{1, 2, 3});
}

TEST_CASE("a second copy of an output in another process is forgotten there") {
  TrackerWorld world({0, 1});
  const Plan failing = plan_of({stage_of(1, 1), stage_of(2, 1), stage_of(3, 1, {narrow(1), narrow(2)})});
  world.enter({0, 1}, 1, failing);
  CHECK(world.task(0) == TaskAttemptId{1, 0, 1});
  for (uint32_t i = 1; i <= kMaxFailures; ++i) {
    world.report_failed(1, 1, world.task(1), "no");
    if (i < kMaxFailures) world.request(1, 1);
  }
  world.finish(1, 1);
  // The other worker still runs its task when the next action makes the same output.
  const Plan next = plan_of({stage_of(1, 1)}, 2);
  world.enter(1, 2, next);
  CHECK(world.task(1) == TaskAttemptId{1, 0, 1});
  world.report_done(1, 2, {1, 0, 1});
  CHECK(world.outcome(1).ok);
  world.report_done(0, 1, {1, 0, 1});
  const ForgetOutputs copy = world.forget(0);
  CHECK(copy.stages.empty());
  CHECK(copy.tasks == std::vector<ForgetOutputs::Task>{{1, 0}});
  CHECK(world.tracker->places().stage(1).at[0] == 1);
}

TEST_CASE("an action is recomputed for a worker that begins it when all others are through") {
  TrackerWorld world({0});
  run_through(world, 0, 1, word_count());
  CHECK(world.tracker->actions() == 0);
  world.join(1, 1);
  run_through(world, 1, 1, word_count());
}

TEST_CASE("the tracker does not wait for a failed worker: the last worker's failure leaves nothing behind") {
  TrackerWorld world({0, 1});
  world.enter(1, 1, word_count());
  world.begin(0, 1, word_count());
  world.report_finished(0, 1);
  world.lose(1);
  CHECK(world.tracker->actions() == 0);
}
