#include "host/mapreduce/tasks/tracker.hpp"

#include "host/base/clock.hpp"
#include "host/cluster/cluster_messages.hpp"
#include "tests/host/mapreduce/tasks/tracker_world.hpp"
#include "tests/test.hpp"

// ---- the course of an action ----

TEST_CASE("an action runs its stages in turn and all workers receive the places of the result") {
  TrackerWorld world({0, 1});
  world.enter({0, 1}, 3, word_count());
  CHECK(world.task(0) == TaskAttemptId{1, 0, 1});
  const TaskAttemptId second = world.task(1);
  CHECK(second == TaskAttemptId{1, 1, 1});
  world.complete(0, 3, {1, 0, 1});
  CHECK(world.quiet(0));  // a wide stage needs all of the previous stage
  world.report_done(1, 3, second);
  const TaskOrder reduce = world.order(0);
  CHECK(reduce.task == TaskAttemptId{2, 0, 1});
  CHECK(reduce.inputs == std::vector<TaskInput>{{1, TaskInput::Form::wide, {0, 1}}});
  world.request(1, 3);
  CHECK(world.task(1) == TaskAttemptId{2, 1, 1});
  world.report_done(1, 3, {2, 1, 1});
  world.now += 2;
  world.report_done(0, 3, {2, 0, 1});
  for (const NodeId worker : {0U, 1U}) {
    const ActionOutcome outcome = world.outcome(worker);
    CHECK(outcome.ok);
    CHECK(outcome.places == std::vector<ProcessId>{0, 1});
    CHECK(outcome.seconds == 2);
  }
  CHECK(world.quiet(0));
  CHECK(world.quiet(1));
}

TEST_CASE("only outputs that the final stage needs are made") {
  TrackerWorld world({0});
  // Stage 3 needs nothing of stage 2.
  run_alone(world, 0, 1, plan_of({stage_of(1, 1), stage_of(2, 5, {}, 1), stage_of(3, 1, {narrow(1)})}));
  CHECK(world.tracker->places().stage(2).present == 0);
  CHECK(world.tracker->places().stage(1).present == 1);
}

TEST_CASE("a narrow stage's task waits for its own input only, and runs where its input is") {
  TrackerWorld world({0, 1});
  const Plan plan = plan_of({stage_of(1, 3), stage_of(2, 3, {narrow(1)})});
  world.enter({0, 1}, 1, plan);
  CHECK(world.task(0) == TaskAttemptId{1, 0, 1});
  CHECK(world.task(1) == TaskAttemptId{1, 1, 1});
  world.complete(1, 1, {1, 1, 1});
  const TaskOrder own = world.order(1);  // before task 2 of stage 1, which has no home
  CHECK(own.task == TaskAttemptId{2, 1, 1});
  CHECK(own.inputs == std::vector<TaskInput>{{1, TaskInput::Form::narrow, {1}}});
}

TEST_CASE("each task of a union needs its own part") {
  TrackerWorld world({0});
  const Plan plan = plan_of({stage_of(1, 2), stage_of(2, 1), stage_of(3, 4, {narrow(1), narrow(2, 2)})});
  world.enter(0, 1, plan);
  std::vector<TaskOrder> orders;
  while (world.sent[0].front().kind == mapreduce_kind::task) {
    orders.push_back(world.order(0));
    world.complete(0, 1, orders.back().task);
  }
  CHECK(orders.size() == 7);
  for (const TaskOrder& order : orders) {
    if (order.task.stage != 3) continue;
    REQUIRE(order.inputs.size() == 2);
    CHECK(order.inputs[0].places.size() == (order.task.task < 2 ? 1 : 0));
    CHECK(order.inputs[1].places.size() == (order.task.task == 2 ? 1 : 0));
  }
}

TEST_CASE("a diamond's top is made once") {
  TrackerWorld world({0});
  const Plan plan = plan_of({stage_of(1, 2, {}, 2), stage_of(2, 2, {wide(1)}, 2), stage_of(3, 2, {wide(1)}, 2),
                             stage_of(4, 2, {wide(2), wide(3), narrow(3)})});
  run_through(world, 0, 1, plan);
  CHECK(world.forget(0).stages == std::vector<StageId>{1, 2, 3, 4});
}

TEST_CASE("an action of empty datasets ends at once") {
  TrackerWorld world({0});
  world.begin(0, 1, plan_of({stage_of(1, 3, {}, 0), stage_of(2, 0, {wide(1)})}));
  CHECK(world.outcome(0).places.empty());
  // An empty stage in the middle does not stop the others.
  run_alone(world, 0, 2, plan_of({stage_of(3, 0, {}, 2), stage_of(4, 2, {wide(3)})}, 2));
}

TEST_CASE("a worker receives the places of a wide stage's inputs once, and again when they have changed") {
  TrackerWorld world({0, 1});
  const Plan plan = plan_of({stage_of(1, 2, {}, 4), stage_of(2, 4, {wide(1)})});
  world.enter(0, 1, plan);
  CHECK(world.work(0, 1) == TaskAttemptId{1, 0, 1});
  CHECK(world.work(0, 1) == TaskAttemptId{1, 1, 1});
  TaskOrder order = world.order(0);
  CHECK(order.inputs[0].form == TaskInput::Form::wide);
  world.complete(0, 1, order.task);
  order = world.order(0);
  CHECK(order.inputs[0].form == TaskInput::Form::cached);
  world.fail(0, 1, order.task, "gone", {{1, 1, 0}});
  CHECK(world.work(0, 1) == TaskAttemptId{1, 1, 2});
  CHECK(world.order(0).inputs[0].form == TaskInput::Form::wide);
  world.enter(1, 1, plan);
  CHECK(world.order(1).inputs[0].form == TaskInput::Form::wide);
}

TEST_CASE("stages report their figures, and accumulators are in the order of stages and tasks") {
  TrackerWorld world({0, 0});
  const Plan plan = word_count();
  world.enter({0, 1}, 1, plan);
  const auto report = [](uint64_t rows, const char* text) {
    return TaskReport{{rows, 2 * rows, 10, 20, 0.5, 7, 1}, Blob::copy_of(std::string_view(text))};
  };
  world.task(0);
  world.task(1);
  world.now += 1;
  world.report_done(1, 1, {1, 1, 1}, report(4, "b"));
  world.complete(0, 1, {1, 0, 1}, report(3, "a"));
  world.now += 1;
  CHECK(world.work(0, 1, report(1, "c")).stage == 2);
  world.work(0, 1, report(1, ""));
  const ActionOutcome outcome = world.outcome(0);
  REQUIRE(outcome.stages.size() == 2);
  CHECK(outcome.stages[0] == StageFigures{1, 2, 0, 2, 0, {7, 14, 20, 40, 1, 14, 2}, 0, 1});
  CHECK(outcome.stages[1] == StageFigures{2, 2, 0, 2, 0, {2, 4, 20, 40, 1, 14, 2}, 1, 2});
  REQUIRE(outcome.accumulators.size() == 3);
  std::string text;
  for (const Accumulated& item : outcome.accumulators) {
    text += std::to_string(item.stage) + std::to_string(item.task) + std::string(item.bytes.view()) + " ";
  }
  CHECK(text == "10a 11b 20c ");
}

TEST_CASE("progress follows the running stage") {
  TrackerWorld world({0});
  CHECK_FALSE(world.tracker->progress());
  world.enter(0, 5, word_count());
  world.work(0, 5, {{100, 0, 1000, 0, 0, 0, 0}, {}});
  auto progress = world.tracker->progress();
  REQUIRE(progress);
  CHECK((progress->action == 5 && progress->stage == 1 && progress->name == "stage1"));
  CHECK((progress->done == 1 && progress->tasks == 2 && progress->running == 1));
  CHECK((progress->rows == 100 && progress->bytes == 1000));
  world.work(0, 5);
  progress = world.tracker->progress();
  CHECK((progress->stage == 2 && progress->stage_index == 1 && progress->stages == 2 && progress->done == 0));
  world.work(0, 5);
  world.work(0, 5);
  CHECK_FALSE(world.tracker->progress());
}

// ---- the start of an action ----

TEST_CASE("a late worker receives the outcome of the action at once") {
  TrackerWorld world({0, 1});
  run_through(world, 0, 1, word_count());
  world.begin(1, 1, word_count());
  CHECK(world.outcome(1).places == std::vector<ProcessId>{0, 0});
  CHECK(world.quiet(data_address(0)));
  world.report_finished(1, 1);
  CHECK(world.forget(0).stages == std::vector<StageId>{1, 2});
}

TEST_CASE("different plans end the action for all workers, with both workers named") {
  TrackerWorld world({0, 1});
  world.enter(0, 1, word_count());
  world.task(0);
  Plan other = word_count();
  other.hash = 2;
  world.begin(1, 1, other);
  for (const NodeId worker : {0U, 1U}) {
    const ActionOutcome outcome = world.outcome(worker);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.code == Code::mismatch);
    CHECK_THAT(outcome.message, Contains("rank 0 (worker 0 on host0) at job.lua:10"));
    CHECK_THAT(outcome.message, Contains("rank 1 (worker 1 on host1) at job.lua:11"));
  }
}

TEST_CASE("a malformed plan, or a plan with another shape of a stage, is refused to its worker alone") {
  TrackerWorld world({0, 1});
  Frame broken = PlanBegin{"", word_count()}.frame(1);
  broken.body = Blob::copy_of("nonsense");
  world.send(0, std::move(broken));
  CHECK(world.outcome(0).code == Code::bad_data);
  run_alone(world, 1, 1, iteration(2, 2));
  world.begin(0, 2, iteration(3, 3));
  CHECK(world.outcome(0).code == Code::mismatch);
}

TEST_CASE("a joining worker's messages count even when they arrive before its membership table") {
  TrackerWorld world({0});
  world.enter(5, 1, word_count());
  CHECK(world.quiet(5));
  world.join(5, 2);
  CHECK(world.task(5) == TaskAttemptId{1, 0, 1});
}

TEST_CASE("messages of failed workers and nonsensical messages are ignored") {
  TrackerWorld world({0, 1});
  world.enter(0, 1, word_count());
  const TaskAttemptId name = world.task(0);
  world.lose(1);
  world.enter(1, 1, word_count());
  world.send(0, TaskRequest{0}.frame(7));               // of an action that it is not in
  world.report_done(0, 1, {name.stage, name.task, 9});  // of another attempt
  world.report_done(0, 1, {2, 0, 1});                   // of another task
  world.send(0, make_frame(Kind::test, 0, 0, 1));
  world.send(kServerBit, finished_frame(1));
  CHECK(world.quiet(0));
  CHECK(world.quiet(1));
  CHECK(world.tracker->places().stage(1).present == 0);
  world.report_done(0, 1, name);
  world.report_done(0, 1, name);
  CHECK(world.tracker->places().stage(1).present == 1);
}

TEST_CASE("a worker that begins the next action leaves its task to others") {
  TrackerWorld world({0, 0});
  const Plan plan = plan_of({stage_of(1, 1)});
  world.enter({0, 1}, 1, plan);
  CHECK(world.task(0) == TaskAttemptId{1, 0, 1});
  world.begin(0, 2, plan_of({stage_of(2, 1)}, 2));
  CHECK(world.task(1) == TaskAttemptId{1, 0, 2});
}

TEST_CASE("a worker that requests another task without a report has failed in its task") {
  TrackerWorld world({0});
  world.enter(0, 1, plan_of({stage_of(1, 1)}));
  for (uint32_t attempt = 1; attempt <= kMaxFailures; ++attempt) {
    CHECK(world.task(0) == TaskAttemptId{1, 0, attempt});
    world.request(0, 1);
  }
  CHECK_THAT(world.outcome(0).message, Contains("without a report"));
  CHECK(world.quiet(0));
}

// ---- the choice of tasks ----

TEST_CASE("tasks go to the process with their input, and to others when its workers are busy") {
  TrackerWorld world({0, 1});
  world.enter({0, 1}, 1, iteration(4, 2));
  // 0 and 2 are made in process 0, 1 and 3 in process 1; their narrow stages follow them.
  for (const NodeId worker : {0U, 1U, 0U, 1U}) world.work(worker, 1);
  for (const NodeId worker : {0U, 1U, 0U, 1U}) world.work(worker, 1);
  for (const NodeId worker : {0U, 1U}) {
    CHECK(world.outcome(worker).places == std::vector<ProcessId>{0, 1, 0, 1});
    world.report_finished(worker, 1);
  }
  world.enter({1, 0}, 2, iteration(4, 3));
  CHECK(world.task(1) == TaskAttemptId{3, 1, 1});
  CHECK(world.work(0, 2) == TaskAttemptId{3, 0, 1});
  CHECK(world.work(0, 2) == TaskAttemptId{3, 2, 1});
  const TaskOrder last = world.order(0);  // worker 1 still runs its first task
  CHECK(last.task == TaskAttemptId{3, 3, 1});
  CHECK(last.inputs[0].places == std::vector<ProcessId>{1});
}

TEST_CASE("the tasks of a process wait a moment for its late workers") {
  TrackerWorld world({0, 1});
  world.enter({0, 1}, 1, iteration(2, 2));
  for (const NodeId worker : {0U, 1U, 0U, 1U}) world.work(worker, 1);
  for (const NodeId worker : {0U, 1U}) world.finish(worker, 1);
  world.enter(0, 2, iteration(2, 3));
  CHECK(world.work(0, 2) == TaskAttemptId{3, 0, 1});
  CHECK(world.quiet(0));
  CHECK(world.tracker->wake_at() == world.now + kHomePatience);
  SECTION("it arrives") {
    world.enter(1, 2, iteration(2, 3));
    CHECK(world.task(1) == TaskAttemptId{3, 1, 1});
    CHECK(world.tracker->wake_at() == world.now + kSilentWait);
  }
  SECTION("it does not arrive") {
    world.pass(kHomePatience);
    CHECK(world.task(0) == TaskAttemptId{3, 1, 1});
  }
  SECTION("it has failed") {
    world.lose(1);
    CHECK(world.work(0, 2) == TaskAttemptId{1, 1, 1});  // the input is lost with it
    CHECK(world.task(0) == TaskAttemptId{3, 1, 1});
  }
}

TEST_CASE("a worker takes the last task of the longest queue of another process") {
  TrackerWorld world({0, 1, 2});
  PlanStage kept = stage_of(1, 7);
  kept.keep = true;
  // Worker 1 makes 0, 2, 3, 4 and 5, worker 2 makes 1 and 6.
  world.enter({1, 2}, 1, plan_of({kept}));
  for (const NodeId worker : {1U, 1U, 1U, 1U, 2U, 1U, 2U}) world.work(worker, 1);
  for (const NodeId worker : {1U, 2U})
    CHECK(world.outcome(worker).places == std::vector<ProcessId>{1, 2, 1, 1, 1, 1, 2});
  const Plan next = plan_of({kept, stage_of(2, 7, {narrow(1)})}, 2);
  world.enter({1, 2, 0}, 2, next);
  CHECK(world.task(1).task == 0);
  CHECK(world.task(2).task == 1);
  for (const uint32_t task : {5U, 4U, 3U, 2U, 6U}) CHECK(world.work(0, 2).task == task);
  CHECK(world.quiet(0));
}

TEST_CASE("a task runs where it has run before if it can") {
  TrackerWorld world({0, 1});
  const Plan plan = plan_of({stage_of(1, 2)});
  world.enter({0, 1}, 1, plan);
  world.work(0, 1);
  world.work(1, 1);
  for (const NodeId worker : {1U, 0U}) world.finish(worker, 1);
  CHECK(world.forget(0).stages == std::vector<StageId>{1});
  world.enter(1, 2, plan);
  CHECK(world.task(1) == TaskAttemptId{1, 1, 1});
  world.enter(0, 2, plan);
  CHECK(world.task(0) == TaskAttemptId{1, 0, 1});
}

TEST_CASE("a wait for a task of over 10 s is logged once per task, with the busy workers and their tasks") {
  TrackerWorld world({0, 1});
  const Plan plan = plan_of({stage_of(1, 1, {}, 2), stage_of(2, 2, {wide(1)})});
  world.enter({0, 1}, 1, plan);
  CHECK(world.tracker->wake_at() == world.now + kSilentWait);
  world.pass(kSilentWait - 1);
  CHECK_FALSE(world.logged("over 10 s"));
  world.pass(1);
  CHECK(
      world.logged("workers wait for a task for over 10 s (job.lua:10), for rank 0 (worker 0 on host0) with stage 1 "
                   "(stage1), task 1 of 1, for 10 s"));
  const size_t lines = world.lines.size();
  world.pass(60);
  CHECK(world.lines.size() == lines);
  world.work(0, 1);
  world.work(0, 1);
  world.pass(kSilentWait);
  CHECK(world.lines.size() == lines + 1);
}
