#include "host/mapreduce/tasks/mapreduce_messages.hpp"

#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/test.hpp"

namespace {

const TaskAttemptId kTask{7, 3, 2};
const TaskFigures kFigures{1, 2, 3, 4, 0.5, 6, 7};

PlanBegin sample_begin() {
  PlanBegin begin;
  begin.where = "job.lua:12";
  begin.plan.hash = 9;
  begin.plan.stages = {{1, "load", 4, 1, false, {}}, {2, "map", 4, 1, false, {{1, false, 0}}}};
  return begin;
}

TaskDone sample_done() { return {kTask, {kFigures, Blob::copy_of("42 more")}}; }

TaskFailed sample_failed() { return {kTask, {Code::script, "job.lua:3: boom"}, {{5, 4, 1}, {6, kEveryTask, 2}}}; }

TaskOrder sample_order() {
  return {kTask,
          {{5, TaskInput::Form::wide, {0, 1, 0}},
           {6, TaskInput::Form::narrow, {1}},
           {6, TaskInput::Form::narrow, {}},
           {8, TaskInput::Form::cached, {}}}};
}

ActionOutcome sample_outcome() {
  ActionOutcome outcome;
  outcome.places = {0, 2, 1};
  outcome.seconds = 1.5;
  outcome.stages = {{1, 4, 1, 5, 2, kFigures, 0.25, 1.25}, {2, 4, 0, 4, 0, kFigures, 0.5, 1.5}};
  outcome.accumulators = {{1, 0, Blob::copy_of("one")}, {1, 3, {}}, {2, 1, Blob::copy_of("three")}};
  return outcome;
}

ForgetOutputs sample_forget() { return {{1, 2, 9}, {{3, 4}, {5, 6}}}; }

FetchedBlock sample_block() { return {{7, 3, 1}, 2, 5, {Blob::copy_of("rows"), 4}}; }

/// Hostile meta, then hostile bodies: an accepted message must survive a round trip.
template <typename Message, typename Write>
void survive(const Frame& good, uint64_t seed, Write write, size_t at_least = 1000) {
  INFO("seed " << seed);
  const auto taken = [&](const Frame& frame) {
    auto message = read_message<Message>(frame);
    if (!message) {
      REQUIRE(message.error().code == Code::bad_data);
      return false;
    }
    REQUIRE(read_message<Message>(write(*message)).ok());
    return true;
  };
  size_t refused = test::feed_hostile(good.meta.view(), seed, 2000, [&](std::string_view bytes) {
    Frame frame = good;
    frame.meta = SmallBytes(bytes);
    return taken(frame);
  });
  refused += test::feed_hostile(good.body.view(), seed + 1, 2000, [&](std::string_view bytes) {
    Frame frame = good;
    frame.body = Blob::copy_of(bytes);
    return taken(frame);
  });
  CHECK(refused > at_least);
  REQUIRE(read_message<Message>(good).ok());
  const Frame again = write(read_message<Message>(good).value());
  CHECK(again.meta.view() == good.meta.view());
  CHECK(again.body.view() == good.body.view());
  CHECK((again.kind == good.kind && again.dst == good.dst && again.tag == good.tag));
  Frame longer = good;
  longer.meta = SmallBytes(std::string(good.meta.view()) + "x");
  CHECK_FALSE(read_message<Message>(longer).ok());
}

}  // namespace

TEST_CASE("a worker's messages to the tracker arrive as they were sent") {
  CHECK(TaskRequest{2}.frame(4).kind == mapreduce_kind::request);
  CHECK(TaskRequest{2}.frame(4).dst == data_address(0));
  CHECK(read_message<TaskRequest>(TaskRequest{2}.frame(4)).value().outcomes == 2);
  CHECK_FALSE(read_message<TaskRequest>(finished_frame(4)).ok());
  CHECK(finished_frame(4).tag == 4);

  const auto begin = read_message<PlanBegin>(sample_begin().frame(4)).value();
  CHECK(begin.where == "job.lua:12");
  CHECK(pack(begin.plan) == pack(sample_begin().plan));

  const auto done = read_message<TaskDone>(sample_done().frame(4)).value();
  CHECK(done.task == kTask);
  CHECK(done.report.figures == kFigures);
  CHECK(done.report.accumulators.view() == "42 more");

  const auto failed = read_message<TaskFailed>(sample_failed().frame(4)).value();
  CHECK(failed.task == kTask);
  CHECK(failed.error.code == Code::script);
  CHECK(failed.error.message == "job.lua:3: boom");
  CHECK(failed.lost == sample_failed().lost);
}

TEST_CASE("the tracker's messages arrive as they were sent") {
  const auto order = read_message<TaskOrder>(sample_order().frame(2, 4)).value();
  CHECK(order.task == kTask);
  CHECK(order.inputs == sample_order().inputs);
  CHECK(sample_order().frame(2, 4).dst == 2);

  const auto outcome = read_message<ActionOutcome>(sample_outcome().frame(2, 4)).value();
  CHECK(outcome.ok);
  CHECK(outcome.places == std::vector<ProcessId>{0, 2, 1});
  CHECK(outcome.seconds == 1.5);
  CHECK(outcome.stages == sample_outcome().stages);
  REQUIRE(outcome.accumulators.size() == 3);
  CHECK(outcome.accumulators[0].bytes.view() == "one");
  CHECK(outcome.accumulators[1].bytes.empty());
  CHECK((outcome.accumulators[2].stage == 2 && outcome.accumulators[2].task == 1));
  CHECK(outcome.accumulators[2].bytes.view() == "three");

  ActionOutcome lost;
  lost.ok = false;
  lost.code = Code::mismatch;
  lost.message = "plans differ";
  const auto error = read_message<ActionOutcome>(lost.frame(2, 4)).value();
  CHECK_FALSE(error.ok);
  CHECK(error.code == Code::mismatch);
  CHECK(error.message == "plans differ");

  const auto forget = read_message<ForgetOutputs>(sample_forget().frame(1, 4)).value();
  CHECK(forget.stages == sample_forget().stages);
  CHECK(forget.tasks == sample_forget().tasks);
  CHECK(sample_forget().frame(1, 4).dst == data_address(1));
}

TEST_CASE("requests for blocks and blocks arrive as they were sent") {
  const auto fetch = read_message<FetchBlocks>(FetchBlocks{{7, 3, 1}, 2, 8}.frame(1, 99)).value();
  CHECK(fetch.output == OutputId{7, 3, 1});
  CHECK((fetch.first == 2 && fetch.count == 8));
  const auto block = read_message<FetchedBlock>(sample_block().frame(3, 99)).value();
  CHECK(block.output == OutputId{7, 3, 1});
  CHECK((block.index == 2 && block.of == 5 && block.block.rows == 4));
  CHECK(block.block.bytes.view() == "rows");
  CHECK(sample_block().frame(3, 99).tag == 99);
  const auto missing = read_message<BlocksMissing>(BlocksMissing{{7, 3, 1}, "the disk is gone"}.frame(3, 99)).value();
  CHECK(missing.output == OutputId{7, 3, 1});
  CHECK(missing.reason == "the disk is gone");
}

TEST_CASE("an output without blocks has exactly one form of reply, without rows") {
  CHECK(read_message<FetchedBlock>(FetchedBlock{{7, 3, 1}, 0, 0, {}}.frame(3, 1)).ok());
  CHECK(read_message<FetchedBlock>(FetchedBlock{{7, 3, 1}, 5, 5, {}}.frame(3, 1)).ok());
  CHECK_FALSE(read_message<FetchedBlock>(FetchedBlock{{7, 3, 1}, 6, 5, {}}.frame(3, 1)).ok());
  CHECK_FALSE(read_message<FetchedBlock>(FetchedBlock{{7, 3, 1}, 5, 5, {{}, 1}}.frame(3, 1)).ok());
  CHECK_FALSE(read_message<FetchedBlock>(FetchedBlock{{7, 3, 1}, 5, 5, {Blob::copy_of("x"), 0}}.frame(3, 1)).ok());
}

TEST_CASE("an error's text and a list of lost inputs are cut to the limits of a frame") {
  TaskFailed failed = sample_failed();
  failed.error.message.assign(size_t{5} << 20, 'x');
  failed.lost.resize(size_t{1} << 20);
  const Frame frame = failed.frame(4);
  CHECK(frame.meta.size() < FrameLimits().meta_bytes);
  CHECK(read_message<TaskFailed>(frame).value().error.message.size() == size_t{64} << 10);
}

TEST_CASE("places that a worker has received may be omitted later in the action") {
  const TaskOrder first{{9, 0, 1}, {{5, TaskInput::Form::wide, {0, 1, 0}}, {6, TaskInput::Form::narrow, {1}}}};
  const TaskOrder second{{9, 1, 1}, {{5, TaskInput::Form::cached, {}}, {6, TaskInput::Form::narrow, {0}}}};
  PlaceCache cache;
  TaskOrder order = second;
  CHECK(cache.complete(3, order).error().code == Code::bad_data);
  order = first;
  REQUIRE(cache.complete(3, order).ok());
  CHECK(order.inputs == first.inputs);
  order = second;
  REQUIRE(cache.complete(3, order).ok());
  CHECK(order.inputs[0] == first.inputs[0]);
  CHECK(order.inputs[1] == second.inputs[1]);
  order = second;
  CHECK_FALSE(cache.complete(4, order).ok());  // another action: the outputs may be elsewhere now
}

TEST_CASE("hostile bytes are refused or survive a round trip") {
  survive<PlanBegin>(sample_begin().frame(4), 1, [](const PlanBegin& m) { return m.frame(4); });
  survive<TaskDone>(sample_done().frame(4), 2, [](const TaskDone& m) { return m.frame(4); });
  survive<TaskFailed>(sample_failed().frame(4), 3, [](const TaskFailed& m) { return m.frame(4); });
  survive<TaskOrder>(sample_order().frame(2, 4), 4, [](const TaskOrder& m) { return m.frame(2, 4); });
  survive<ActionOutcome>(sample_outcome().frame(2, 4), 5, [](const ActionOutcome& m) { return m.frame(2, 4); });
  survive<ForgetOutputs>(sample_forget().frame(2, 4), 6, [](const ForgetOutputs& m) { return m.frame(2, 4); });
  survive<FetchBlocks>(FetchBlocks{{7, 3, 1}, 2, 8}.frame(1, 9), 7, [](const FetchBlocks& m) { return m.frame(1, 9); });
  survive<FetchedBlock>(sample_block().frame(3, 9), 8, [](const FetchedBlock& m) { return m.frame(3, 9); });
  survive<BlocksMissing>(BlocksMissing{{7, 3, 1}, "reason"}.frame(3, 9), 9,
                         [](const BlocksMissing& m) { return m.frame(3, 9); });
}
