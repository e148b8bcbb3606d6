// The tracker's handling of failed tasks and failed processes, and the size of jobs that it can handle.

#include <ctime>

#include "tests/host/mapreduce/tasks/tracker_world.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

// ---- failures of tasks ----

TEST_CASE("a task that fails three times ends the action with its first error") {
  TrackerWorld world({0, 1});
  const Plan plan = plan_of({stage_of(1, 2)});
  world.enter(0, 1, plan);
  CHECK(world.task(0) == TaskAttemptId{1, 0, 1});
  world.enter(1, 1, plan);
  world.task(1);
  world.report_failed(0, 1, {1, 0, 1}, "job.lua:3: first\nand a traceback");
  CHECK(world.logged("stage 1 (stage1), task 1 of 2, failed on rank 0 (worker 0 on host0): job.lua:3: first"));
  CHECK_FALSE(world.logged("traceback"));
  world.request(0, 1);
  CHECK(world.task(0) == TaskAttemptId{1, 0, 2});
  world.fail(0, 1, {1, 0, 2}, "second");
  CHECK(world.task(0) == TaskAttemptId{1, 0, 3});
  world.report_failed(0, 1, {1, 0, 3}, "third");
  for (const NodeId worker : {0U, 1U}) {
    const ActionOutcome outcome = world.outcome(worker);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.code == Code::script);
    CHECK(outcome.message ==
          "stage 1 (stage1), task 1 of 2, has failed 3 times, first on rank 0 (worker 0 on host0): job.lua:3: first\n"
          "and a traceback");
    CHECK(outcome.stages[0].failures == 3);
  }
}

TEST_CASE("failures with the same message cause one warning") {
  TrackerWorld world({0});
  world.enter(0, 1, plan_of({stage_of(1, 2)}));
  world.fail(0, 1, world.task(0), "job.lua:3: the same");
  CHECK(world.warnings == 1);
  world.fail(0, 1, world.task(0), "job.lua:3: the same\nand a traceback");
  CHECK(world.warnings == 1);
  CHECK(world.lines.size() == 2);
  world.report_failed(0, 1, world.task(0), "job.lua:4: another");
  CHECK(world.warnings == 2);
}

TEST_CASE("a process without room for a task gets no more tasks of the action while another process has room") {
  TrackerWorld world({0, 0, 1});
  const Plan plan = plan_of({stage_of(1, 3)});
  const auto no_room = [&](NodeId worker, const TaskAttemptId& task) {
    world.fail(worker, 1, task, "out of memory", {}, Code::full);
  };
  world.enter({0, 1, 2}, 1, plan);
  no_room(0, world.task(0));
  CHECK(world.logged("failed on rank 0 (worker 0 on host0): out of memory; this process gets no more tasks"));
  no_room(1, world.task(1));
  CHECK(world.quiet(0));
  CHECK(world.quiet(1));
  CHECK(world.work(2, 1) == TaskAttemptId{1, 2, 1});
  CHECK(world.work(2, 1) == TaskAttemptId{1, 0, 2});
  CHECK(world.work(2, 1) == TaskAttemptId{1, 1, 2});
  for (const NodeId worker : {0U, 1U, 2U}) CHECK(world.outcome(worker).ok);
}

TEST_CASE("a task fails when no process has room for it") {
  TrackerWorld world({0, 1, 2});
  const Plan plan = plan_of({stage_of(1, 1)});
  world.enter({0, 1, 2}, 1, plan);
  world.lose(2);
  world.fail(0, 1, world.task(0), "disk full", {}, Code::full);
  CHECK(world.quiet(0));
  for (int failure = 0; failure < 3; ++failure) {
    const NodeId worker = world.quiet(0) ? 1 : 0;
    world.fail(worker, 1, world.task(worker), "disk full", {}, Code::full);
  }
  const ActionOutcome outcome = world.outcome(0);
  CHECK(outcome.code == Code::full);
  CHECK_THAT(outcome.message, Catch::Contains("has failed 3 times, first on rank 1 (worker 1 on host1): disk full"));
}

TEST_CASE("a task that three processes failed with ends the action") {
  TrackerWorld world({0, 1, 2, 3, 4});
  const Plan plan = plan_of({stage_of(1, 2)});
  world.begin(0, 1, plan);
  for (const NodeId worker : {1U, 2U}) {
    world.enter(worker, 1, plan);
    CHECK(world.task(worker) == TaskAttemptId{1, 0, worker});
    world.lose(worker);
    CHECK(world.quiet(0));
  }
  // A task that another process has done meanwhile, or a worker that leaves the action, is not a loss.
  world.enter(3, 1, plan);
  CHECK(world.task(3) == TaskAttemptId{1, 0, 3});
  world.begin(3, 2, plan_of({stage_of(7, 1)}, 2));
  world.lose(3);
  CHECK(world.quiet(0));
  world.enter(4, 1, plan);
  CHECK(world.task(4) == TaskAttemptId{1, 0, 4});
  world.lose(4);
  const ActionOutcome outcome = world.outcome(0);
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.code == Code::peer_lost);
  CHECK_THAT(outcome.message,
             Contains("a process has ended 3 times while it ran stage 1 (stage1), task 1 of 2: the processes of "
                      "rank 1 (worker 1 on host1), rank 1 (worker 2 on host2), "));
}

TEST_CASE("a request that crosses an outcome gets no second outcome, and a request after the outcome gets another") {
  TrackerWorld world({0, 0});
  const Plan plan = plan_of({stage_of(1, 1)});
  world.enter(0, 1, plan);
  world.begin(1, 1, plan);
  world.report_done(0, 1, world.task(0));
  world.request(1, 1);
  world.request(0, 1);
  for (const NodeId worker : {0U, 1U}) {
    world.outcome(worker);
    CHECK(world.quiet(worker));
  }
  world.request(0, 1);
  CHECK(world.outcome(0).ok);
  world.send(1, TaskRequest{77}.frame(1));  // more than the tracker sent
  CHECK(world.outcome(1).ok);
}

TEST_CASE("failures of different tasks are not added up") {
  TrackerWorld world({0});
  world.enter(0, 1, plan_of({stage_of(1, 3)}));
  while (world.sent[0].front().kind == mapreduce_kind::task) {
    const TaskAttemptId name = world.task(0);
    if (name.attempt == 3) {
      world.report_done(0, 1, name);
    } else {
      world.report_failed(0, 1, name, "now and then");
    }
    world.request(0, 1);
  }
  CHECK(world.outcome(0).ok);
}

TEST_CASE("a missing input is made again and is not a failure of the task") {
  TrackerWorld world({0, 1});
  map_words(world, 0);
  const TaskAttemptId reduce = world.task(0);
  for (uint32_t i = 1; i <= 2 * kMaxFailures; ++i) {
    world.fail(0, 1, {reduce.stage, reduce.task, i}, "no such block", {{1, 1, 0}});
    CHECK(world.work(0, 1) == TaskAttemptId{1, 1, 1 + i});
    CHECK(world.task(0) == TaskAttemptId{2, 0, 1 + i});
  }
  // Missing outputs are not counted as lost again where the tracker does not expect them.
  world.fail(0, 1, {2, 0, 7}, "no such block", {{1, 1, 1}, {1, 99, 0}, {9, 0, 0}, {1, 0, kNoProcess}});
  CHECK(world.work(0, 1) == TaskAttemptId{2, 0, 8});
  CHECK(world.work(0, 1) == TaskAttemptId{2, 1, 1});
  CHECK(world.outcome(0).ok);
}

TEST_CASE("an output that two workers did not find is made again once, also in the same place") {
  TrackerWorld world({0, 0});
  map_words(world, 0);
  const TaskAttemptId first = world.task(0);
  world.enter(1, 1, word_count());
  const TaskAttemptId second = world.task(1);
  world.fail(0, 1, first, "no such block", {{1, 1, 0}});
  CHECK(world.work(0, 1) == TaskAttemptId{1, 1, 2});
  world.report_failed(1, 1, second, "no such block", {{1, 1, 0}});  // this lookup was before the rerun
  CHECK(world.tracker->places().stage(1).complete());
  CHECK(world.work(0, 1) == TaskAttemptId{2, 0, 2});
  CHECK(world.work(0, 1) == TaskAttemptId{2, 1, 2});
  CHECK(world.outcome(0).ok);
}

TEST_CASE("a process that serves nothing loses all outputs that the task needs from it") {
  TrackerWorld world({0, 1});
  map_words(world, 0);
  world.report_failed(0, 1, world.task(0), "no way there", {{1, kEveryTask, 0}});
  CHECK(world.tracker->places().stage(1).present == 0);
}

TEST_CASE("inputs that are missing repeatedly for long end the action") {
  TrackerWorld world({0});
  map_words(world, 0);
  uint32_t rounds = 0;
  while (world.sent[0].front().kind == mapreduce_kind::task) {
    REQUIRE(rounds++ < 1000);
    const TaskAttemptId name = world.task(0);
    if (name.stage == 1) {
      world.report_done(0, 1, name);
    } else {
      world.now += 0.2;
      world.report_failed(0, 1, name, "disk " + std::to_string(rounds) + " is broken", {{1, 0, 0}});
    }
    world.request(0, 1);
  }
  CHECK(rounds > 2 * kMaxLostInputs);
  const ActionOutcome outcome = world.outcome(0);
  CHECK_FALSE(outcome.ok);
  CHECK_THAT(outcome.message, Contains("stage 2 (stage2), task 1 of 2, could not get its inputs"));
  CHECK_THAT(outcome.message, Contains("first on rank 0 (worker 0 on host0): disk 1 is broken"));
}

TEST_CASE("accumulators too large for a frame end the action with advice", "[deep]") {
  TrackerWorld world({0});
  world.enter(0, 1, plan_of({stage_of(1, 2)}));
  const Blob half = Blob::allocate(kMaxAccumulatorBytes / 2 + 1);
  world.work(0, 1, {{}, half});
  world.work(0, 1, {{}, half});
  CHECK_THAT(world.outcome(0).message, Contains("256 MiB"));
}

// ---- failed workers ----

TEST_CASE("a failed process's task goes to another worker, and its needed outputs are made again") {
  TrackerWorld world({0, 1, 2});
  const Plan plan = plan_of({stage_of(1, 3, {}, 2), stage_of(2, 2, {wide(1)}, 1), stage_of(3, 2, {narrow(2)})});
  world.enter({0, 1, 2}, 1, plan);
  for (const NodeId worker : {0U, 1U, 2U}) world.work(worker, 1);
  CHECK(world.work(1, 1).stage == 2);  // its output is in process 1, as is task 1 of stage 1
  CHECK(world.task(0).stage == 2);
  const TaskAttemptId last = world.task(1);
  CHECK(last.stage == 3);
  world.complete(0, 1, {2, 0, 1});
  CHECK(world.work(0, 1) == TaskAttemptId{3, 0, 1});
  world.lose(1);
  // Task 1 of stage 3 needs task 1 of stage 2, which needs task 1 of stage 1.
  const NodeId worker = world.quiet(0) ? 2 : 0;
  CHECK(world.work(worker, 1) == TaskAttemptId{1, 1, 2});
  const NodeId next = world.quiet(0) ? 2 : 0;
  CHECK(world.work(next, 1) == TaskAttemptId{2, 1, 2});
  const NodeId third = world.quiet(0) ? 2 : 0;
  CHECK(world.work(third, 1) == TaskAttemptId{3, 1, 2});
  const ActionOutcome outcome = world.outcome(0);
  CHECK(outcome.ok);
  CHECK(std::count(outcome.places.begin(), outcome.places.end(), 1) == 0);
  CHECK(outcome.stages[2].failures == 1);
  CHECK(outcome.stages[0].runs == 4);
}

TEST_CASE("only the needed outputs of a failed process are made again") {
  TrackerWorld world({0, 1});
  const Plan plan = plan_of({stage_of(1, 2, {}, 2), stage_of(2, 2, {wide(1)}), stage_of(3, 2, {narrow(2)})});
  world.enter(1, 1, plan);
  CHECK(world.work(1, 1) == TaskAttemptId{1, 0, 1});
  CHECK(world.task(1) == TaskAttemptId{1, 1, 1});
  world.enter(0, 1, plan);
  world.report_done(1, 1, {1, 1, 1});
  CHECK(world.work(0, 1) == TaskAttemptId{2, 0, 1});
  CHECK(world.work(0, 1) == TaskAttemptId{3, 0, 1});
  CHECK(world.work(0, 1) == TaskAttemptId{2, 1, 1});
  CHECK(world.task(0) == TaskAttemptId{3, 1, 1});
  world.lose(1);  // all of stage 1 was there, and no task will read it any more
  world.report_done(0, 1, {3, 1, 1});
  const ActionOutcome outcome = world.outcome(0);
  CHECK(outcome.ok);
  CHECK(outcome.stages[0].runs == 2);
}

TEST_CASE("accumulators of a rerun task count once") {
  TrackerWorld world({0, 1});
  world.enter(1, 1, plan_of({stage_of(1, 1, {}, 2), stage_of(2, 2, {wide(1)})}));
  world.work(1, 1, {{5, 0, 0, 0, 0, 0, 0}, Blob::copy_of("first")});
  world.task(1);
  world.lose(1);
  world.enter(0, 1, plan_of({stage_of(1, 1, {}, 2), stage_of(2, 2, {wide(1)})}));
  CHECK(world.work(0, 1, {{5, 0, 0, 0, 0, 0, 0}, Blob::copy_of("second")}) == TaskAttemptId{1, 0, 2});
  world.work(0, 1);
  world.work(0, 1);
  const ActionOutcome outcome = world.outcome(0);
  REQUIRE(outcome.accumulators.size() == 1);
  CHECK(outcome.accumulators[0].bytes.view() == "first");
  CHECK(outcome.stages[0].figures.rows_in == 5);
}

TEST_CASE("a result lost before all workers have it is made again for the workers that request it") {
  TrackerWorld world({0, 1, 2});
  const Plan plan = plan_of({stage_of(1, 2)});
  world.enter({0, 1, 2}, 1, plan);
  world.work(0, 1);
  world.work(1, 1);
  for (const NodeId worker : {0U, 1U, 2U}) CHECK(world.outcome(worker).places == std::vector<ProcessId>{0, 1});
  world.report_finished(1, 1);
  SECTION("with its process") { world.lose(1); }
  SECTION("by its disk") {
    TaskFailed lost;
    lost.error = {Code::io, "disk"};
    lost.lost = {{1, 1, 1}};
    world.send(0, lost.frame(1));
    CHECK(world.logged("some of the result could not be fetched on rank 0 (worker 0 on host0): disk"));
  }
  world.request(0, 1);
  CHECK(world.task(0) == TaskAttemptId{1, 1, 2});
  CHECK(world.quiet(2));  // it may have all that it needs
  world.complete(0, 1, {1, 1, 2});
  CHECK(world.outcome(0).places == std::vector<ProcessId>{0, 0});
  CHECK(world.quiet(0));
  CHECK(world.quiet(2));
  world.request(2, 1);
  CHECK(world.outcome(2).places == std::vector<ProcessId>{0, 0});
}

TEST_CASE("a late worker does not receive the old places of a lost or moved result") {
  TrackerWorld world({0, 1, 2});
  run_alone(world, 1, 1, plan_of({stage_of(1, 2)}));
  world.lose(1);
  world.begin(0, 1, plan_of({stage_of(1, 2)}));
  CHECK(world.quiet(0));
  SECTION("it makes them itself") {
    world.request(0, 1);
    CHECK(world.work(0, 1) == TaskAttemptId{1, 0, 2});
    CHECK(world.work(0, 1) == TaskAttemptId{1, 1, 2});
    CHECK(world.outcome(0).places == std::vector<ProcessId>{0, 0});
  }
  SECTION("another action makes them") {
    world.enter(2, 2, plan_of({stage_of(1, 2)}, 2));
    CHECK(world.work(2, 2) == TaskAttemptId{1, 0, 1});
    CHECK(world.work(2, 2) == TaskAttemptId{1, 1, 1});
    CHECK(world.outcome(2).ok);
    CHECK(world.outcome(0).places == std::vector<ProcessId>{2, 2});
  }
}

TEST_CASE("a stage without users is not kept when a late worker has it made again") {
  TrackerWorld world({0});
  run_through(world, 0, 1, iteration(1, 2));
  world.forget(0);
  Plan end = plan_of({stage_of(9, 1)}, 9);
  end.forget = {1};
  run_through(world, 0, 2, end);
  world.forget(0);
  world.join(1, 1);
  run_through(world, 1, 1, iteration(1, 2));
  CHECK(world.forget(1).stages == std::vector<StageId>{1, 2});
}

// ---- size ----

TEST_CASE("ten thousand tasks and 64 workers take a small part of a second, and so does each loss", "[deep]") {
  std::vector<ProcessId> homes;
  for (NodeId id = 0; id < 64; ++id) homes.push_back(id / 2);
  TrackerWorld world(homes);
  const Plan plan =
      plan_of({stage_of(1, 10000, {}, 10000), stage_of(2, 10000, {wide(1)}), stage_of(3, 10000, {narrow(2)})});
  const std::clock_t start = std::clock();  // of this process: other processes may use the cores too
  for (NodeId id = 0; id < 64; ++id) world.enter(id, 1, plan);
  size_t bytes = 0;
  size_t done = 0;
  for (bool going = true; going;) {
    going = false;
    for (NodeId id = 0; id < 64; ++id) {
      auto& mail = world.sent[id];
      if (mail.empty() || mail.front().kind != mapreduce_kind::task) continue;
      going = true;
      bytes += mail.front().cost();
      if (++done % 5000 == 0) {
        world.lose(world.members.back().process);
        if (mail.empty() || !world.tracker->places().knows(1)) continue;
      }
      world.work(id, 1);
    }
  }
  CHECK(world.outcome(0).ok);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  INFO(seconds << " s, " << bytes << " bytes for " << done << " tasks");
  CHECK(done >= 30000);
  CHECK(bytes < 40'000'000);  // 10,000 times the places of 10,000 would be 400 MB
#ifndef ACTORHOST_SANITIZED   // some sanitizers take 30 times as long
  CHECK(seconds < 5 * patience());
#endif
}
