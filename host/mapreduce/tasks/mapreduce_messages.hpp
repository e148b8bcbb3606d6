#pragma once
// Messages between workers, the tracker and the data services, kinds 0x04xx. The tracker is at data_address(0). Packer
// encodes numbers, texts and lists. Readers check every length against the received bytes; a malformed frame is
// Code::bad_data. The tag is the action's number; in fetch, block and missing it is a number that the requester chooses
// and the reply repeats. The sender fills in `src`.
//
//   worker to tracker:
//     begin    0400  where:text                                body = the plan (plan.cpp)
//     request  0401  outcomes:u32              requests a task, or the outcome of the action; `outcomes` is the
//                                              number of outcomes of this action that this worker has received
//     done     0402  task report               body = the values of its accumulators
//     failed   0403  task code:u8 message:text lost:list(lost)     none lost: its Lua, or a file, is at fault
//     finished 0404  -                         the worker has all it needs of the action's result; outside an action:
//                                              the worker has the result from elsewhere and will not enter
//   tracker to worker:
//     task     0410  task                      body = list(input), one for each need of the stage, in the plan's order
//     outcome  0411  ok:u8 code:u8 message:text
//                    body = result:list(process) seconds:f64 stages:list(figures) accumulators:list(accumulated)
//   tracker to data services:
//     forget   0420  stages:list(u32) tasks:list(stage:u32 task:u32)
//   worker to data service, and back:
//     fetch    0430  output first:u32 count:u32
//     block    0431  output index:u32 of:u32 rows:u64          body = the rows; one frame for each block
//     missing  0432  output reason:text                        there is no such output, or it cannot be read
//
//   task        = stage:u32 task:u32 attempt:u32
//   output      = stage:u32 task:u32 bucket:u32
//   lost        = stage:u32 task:u32 process:u32   the process did not have it; task kEveryTask: nor any other task's
//   input       = stage:u32 form:u8 places:list(process)
//                 form 0: the one task that it needs, or none; 1: each task of the stage; 2: the same as the last
//                 form 1 of this action for this worker, and no places
//   report      = rows-in:u64 rows-out:u64 bytes-in:u64 bytes-out:u64 seconds:f64 spilled:u64 skipped:u64
//   figures     = stage:u32 tasks:u32 reused:u32 runs:u32 failures:u32 report first:f64 last:f64
//   accumulated = stage:u32 task:u32 bytes:text
//
// The reply to a fetch of `count` blocks from `first` on is one block frame for each existing block; if no block
// exists, one frame with index = of, no rows and no body. A worker that cannot fetch the *result* sends `failed` with
// stage 0, then `request`, and continues as before. The tracker may then reopen the action, so a worker can receive
// several outcomes. The tracker answers each `request` that acknowledges all earlier outcomes with exactly one
// `outcome`, so none remains unread.

#include <map>
#include <string>
#include <vector>

#include "host/mapreduce/rows/block.hpp"
#include "host/mapreduce/tasks/plan.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace mapreduce_kind {
inline constexpr Kind begin{0x0400};
inline constexpr Kind request{0x0401};
inline constexpr Kind done{0x0402};
inline constexpr Kind failed{0x0403};
inline constexpr Kind finished{0x0404};
inline constexpr Kind task{0x0410};
inline constexpr Kind outcome{0x0411};
inline constexpr Kind forget{0x0420};
inline constexpr Kind fetch{0x0430};
inline constexpr Kind block{0x0431};
inline constexpr Kind missing{0x0432};
}  // namespace mapreduce_kind

inline constexpr Address kTrackerAddress = data_address(0);
inline constexpr uint32_t kEveryTask = 0xffffffffU;
/// The limit for all accumulators of an action together; one frame carries them to each worker.
inline constexpr size_t kMaxAccumulatorBytes = size_t{256} << 20;

struct TaskAttemptId {
  StageId stage = 0;
  uint32_t task = 0;
  uint32_t attempt = 0;  // 1, 2, ...
  static void fields(auto& m, auto&& field) { field(m.stage, m.task, m.attempt); }
  friend bool operator==(const TaskAttemptId&, const TaskAttemptId&) = default;
};

/// The figures that a worker reports; not trusted, any bits may arrive.
struct TaskFigures {
  uint64_t rows_in = 0;
  uint64_t rows_out = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  double seconds = 0;
  uint64_t spilled_bytes = 0;
  uint64_t skipped = 0;  // records, with on_error = skip

  TaskFigures& operator+=(const TaskFigures& other) noexcept {
    rows_in += other.rows_in;
    rows_out += other.rows_out;
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    if (other.seconds >= 0 && other.seconds < 1e12) seconds += other.seconds;
    spilled_bytes += other.spilled_bytes;
    skipped += other.skipped;
    return *this;
  }
  static void fields(auto& m, auto&& field) {
    field(m.rows_in, m.rows_out, m.bytes_in, m.bytes_out, m.seconds, m.spilled_bytes, m.skipped);
  }
  friend bool operator==(const TaskFigures&, const TaskFigures&) = default;
};

struct TaskReport {
  TaskFigures figures;
  Blob accumulators;  // the task's additions as Lua encodes them; empty when there are none
};

struct PlanBegin {
  std::string where;  // "job.lua:12"
  Plan plan;

  static void fields(auto& m, auto&& field) { field(words(m.where)); }
  static void body_fields(auto& m, auto&& field) { field(m.plan); }
  Frame frame(uint32_t action) const { return message_frame(mapreduce_kind::begin, kTrackerAddress, action, *this); }
};

struct TaskDone {
  TaskAttemptId task;
  TaskReport report;

  static void fields(auto& m, auto&& field) { field(m.task, m.report.figures); }
  static auto& body(auto& m) { return m.report.accumulators; }
  Frame frame(uint32_t action) const { return message_frame(mapreduce_kind::done, kTrackerAddress, action, *this); }
};

/// An output, and a process that did not have it.
struct LostInput {
  StageId stage = 0;
  uint32_t task = kEveryTask;
  ProcessId process = kNoProcess;
  static void fields(auto& m, auto&& field) { field(m.stage, m.task, m.process); }
  friend bool operator==(const LostInput&, const LostInput&) = default;
};

struct TaskFailed {
  TaskAttemptId task;  // stage 0: fetching the result has failed, not a task
  Error error;
  std::vector<LostInput> lost;

  static void fields(auto& m, auto&& field) { field(m.task, m.error, m.lost); }
  /// Reports the first 65,536 losses: a frame's metadata is bounded. The task's next attempt finds the others.
  Frame frame(uint32_t action) const {
    TaskFailed bounded = *this;
    if (bounded.lost.size() > kMaxLost) bounded.lost.resize(kMaxLost);
    return message_frame(mapreduce_kind::failed, kTrackerAddress, action, bounded);
  }
  static constexpr size_t kMaxLost = size_t{1} << 16;
};

struct TaskInput {
  enum class Form : uint8_t { narrow = 0, wide = 1, cached = 2 };
  StageId stage = 0;
  Form form = Form::narrow;
  std::vector<ProcessId> places;  // wide: by task
  friend constexpr Form last_of(Form) { return Form::cached; }
  static void fields(auto& m, auto&& field) { field(m.stage, m.form, m.places); }
  bool is_valid() const { return form == Form::wide || places.size() <= (form == Form::narrow ? 1U : 0U); }
  friend bool operator==(const TaskInput&, const TaskInput&) = default;
};

struct TaskRequest {
  uint32_t outcomes = 0;  // of this action, received
  static void fields(auto& m, auto&& field) { field(m.outcomes); }
  Frame frame(uint32_t action) const { return message_frame(mapreduce_kind::request, kTrackerAddress, action, *this); }
};

inline Frame finished_frame(uint32_t action) {
  return make_frame(mapreduce_kind::finished, kNoAddress, kTrackerAddress, action);
}

struct TaskOrder {
  TaskAttemptId task;
  std::vector<TaskInput> inputs;  // one for each need of the stage, in the plan's order

  static void fields(auto& m, auto&& field) { field(m.task); }
  static void body_fields(auto& m, auto&& field) { field(m.inputs); }
  Frame frame(Address worker, uint32_t action) const {
    return message_frame(mapreduce_kind::task, worker, action, *this);
  }
};

/// Caches the places of wide inputs in a worker, so that the tracker does not send 10,000 places to each of 10,000
/// tasks that read 10,000 outputs.
class PlaceCache {
 public:
  /// Fills in the places that the tracker left out. Code::bad_data when the tracker has never sent them.
  Status complete(uint32_t action, TaskOrder& order) {
    if (action != action_) places_.clear();
    action_ = action;
    for (TaskInput& input : order.inputs) {
      if (input.form == TaskInput::Form::wide) places_[input.stage] = input.places;
      if (input.form != TaskInput::Form::cached) continue;
      const auto found = places_.find(input.stage);
      if (found == places_.end()) {
        return Error{Code::bad_data,
                     "a task whose inputs of stage " + std::to_string(input.stage) + " have unknown places"};
      }
      input.places = found->second;
      input.form = TaskInput::Form::wide;
    }
    return {};
  }

 private:
  uint32_t action_ = 0;
  std::map<StageId, std::vector<ProcessId>> places_;
};

struct StageFigures {
  StageId stage = 0;
  uint32_t tasks = 0;
  uint32_t reused = 0;    // outputs that existed when the action began
  uint32_t runs = 0;      // tasks that were assigned, including reruns
  uint32_t failures = 0;  // including lost tasks
  TaskFigures figures;    // of the counted tasks
  double first = 0;       // the start of the first task and the end of the last task, in seconds since the action
  double last = 0;        // began
  static void fields(auto& m, auto&& field) {
    field(m.stage, m.tasks, m.reused, m.runs, m.failures, m.figures, m.first, m.last);
  }
  friend bool operator==(const StageFigures&, const StageFigures&) = default;
};

struct Accumulated {
  StageId stage = 0;
  uint32_t task = 0;
  Blob bytes;
  static void fields(auto& m, auto&& field) { field(m.stage, m.task, m.bytes); }
};

struct ActionOutcome {
  bool ok = true;
  Code code = Code::internal;             // when not ok
  std::string message;                    // when not ok
  std::vector<ProcessId> places;          // of the final stage's outputs, by task
  double seconds = 0;                     // since the action began
  std::vector<StageFigures> stages;       // in the plan's order
  std::vector<Accumulated> accumulators;  // in the plan's order of stages, then by task; each task of a job once

  static void fields(auto& m, auto&& field) { field(m.ok, m.code, lines(m.message)); }
  static void body_fields(auto& m, auto&& field) { field(m.places, m.seconds, m.stages, m.accumulators); }
  Frame frame(Address worker, uint32_t action) const {
    return message_frame(mapreduce_kind::outcome, worker, action, *this);
  }
};

struct ForgetOutputs {
  struct Task {
    StageId stage = 0;
    uint32_t task = 0;
    static void fields(auto& m, auto&& field) { field(m.stage, m.task); }
    friend bool operator==(const Task&, const Task&) = default;
  };
  std::vector<StageId> stages;
  std::vector<Task> tasks;

  static void fields(auto& m, auto&& field) { field(m.stages, m.tasks); }
  Frame frame(ProcessId process, uint32_t action) const {
    return message_frame(mapreduce_kind::forget, data_address(process), action, *this);
  }
};

struct FetchBlocks {
  OutputId output;
  uint32_t first = 0;
  uint32_t count = 1;

  static void fields(auto& m, auto&& field) { field(m.output, m.first, m.count); }
  Frame frame(ProcessId process, uint32_t tag) const {
    return message_frame(mapreduce_kind::fetch, data_address(process), tag, *this);
  }
};

struct FetchedBlock {
  OutputId output;
  uint32_t index = 0;
  uint32_t of = 0;
  RowBlock block;

  static void fields(auto& m, auto&& field) { field(m.output, m.index, m.of, m.block.rows); }
  static auto& body(auto& m) { return m.block.bytes; }
  bool is_valid() const { return index < of || (index == of && block.rows == 0 && block.bytes.empty()); }
  Frame frame(Address requester, uint32_t tag) const {
    return message_frame(mapreduce_kind::block, requester, tag, *this);
  }
};

struct BlocksMissing {
  OutputId output;
  std::string reason;

  static void fields(auto& m, auto&& field) { field(m.output, words(m.reason)); }
  Frame frame(Address requester, uint32_t tag) const {
    return message_frame(mapreduce_kind::missing, requester, tag, *this);
  }
};

}  // namespace actorhost
