#include "host/mapreduce/mapreduce_messages.hpp"

#include <algorithm>

#include "host/cluster/cluster_messages.hpp"
#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

constexpr size_t kFiguresBytes = 7 * 8;

/// A script chooses how long its errors are; a frame's metadata is bounded.
std::string_view clipped(std::string_view text) { return text.substr(0, kMaxTextBytes); }

/// `body`: it is what it has to be; empty, for most.
template <typename T>
Result<T> finish(const Frame& frame, const Unpacker& meta, T message, bool body) {
  if (meta.done() && body) return message;
  return Error{Code::bad_data, "malformed map-reduce message of kind " +
                                   std::to_string(static_cast<unsigned>(frame.kind)) + " from " +
                                   address_name(frame.src)};
}

template <typename T>
Result<T> finish(const Frame& frame, const Unpacker& meta, T message) {
  return finish(frame, meta, std::move(message), frame.body.empty());
}

Frame make(Kind kind, Address dst, uint32_t tag, const Packer& meta = {}, Blob body = {}) {
  return make_frame(kind, kNoAddress, dst, tag, meta.bytes(), std::move(body));
}

Code get_code(Unpacker& in) {
  const auto code = in.get<uint8_t>();
  return code <= static_cast<uint8_t>(Code::internal) ? static_cast<Code>(code) : Code::internal;
}

void put(Packer& out, const TaskName& name) { out.put(name.stage).put(name.task).put(name.attempt); }

TaskName get_task(Unpacker& in) {
  TaskName name;
  name.stage = in.get<StageId>();
  name.task = in.get<uint32_t>();
  name.attempt = in.get<uint32_t>();
  return name;
}

void put(Packer& out, const OutputId& output) { out.put(output.stage).put(output.task).put(output.bucket); }

OutputId get_output(Unpacker& in) {
  OutputId output;
  output.stage = in.get<StageId>();
  output.task = in.get<uint32_t>();
  output.bucket = in.get<uint32_t>();
  return output;
}

void put(Packer& out, const TaskFigures& f) {
  out.put(f.rows_in).put(f.rows_out).put(f.bytes_in).put(f.bytes_out).put(f.seconds).put(f.spilled_bytes);
  out.put(f.skipped);
}

TaskFigures get_figures(Unpacker& in) {
  TaskFigures f;
  f.rows_in = in.get<uint64_t>();
  f.rows_out = in.get<uint64_t>();
  f.bytes_in = in.get<uint64_t>();
  f.bytes_out = in.get<uint64_t>();
  f.seconds = in.get<double>();
  f.spilled_bytes = in.get<uint64_t>();
  f.skipped = in.get<uint64_t>();
  return f;
}

void put_list(Packer& out, const std::vector<uint32_t>& numbers) {
  out.put(static_cast<uint32_t>(numbers.size()));
  for (const uint32_t number : numbers) out.put(number);
}

std::vector<uint32_t> get_list(Unpacker& in) {
  std::vector<uint32_t> numbers(in.count(sizeof(uint32_t)));
  for (uint32_t& number : numbers) number = in.get<uint32_t>();
  return numbers;
}

void put(Packer& out, const StageFigures& s) {
  out.put(s.stage).put(s.tasks).put(s.reused).put(s.runs).put(s.failures);
  put(out, s.figures);
  out.put(s.first).put(s.last);
}

StageFigures get_stage(Unpacker& in) {
  StageFigures s;
  s.stage = in.get<StageId>();
  s.tasks = in.get<uint32_t>();
  s.reused = in.get<uint32_t>();
  s.runs = in.get<uint32_t>();
  s.failures = in.get<uint32_t>();
  s.figures = get_figures(in);
  s.first = in.get<double>();
  s.last = in.get<double>();
  return s;
}

}  // namespace

TaskFigures& TaskFigures::operator+=(const TaskFigures& other) noexcept {
  rows_in += other.rows_in;
  rows_out += other.rows_out;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  if (other.seconds >= 0 && other.seconds < 1e12) seconds += other.seconds;
  spilled_bytes += other.spilled_bytes;
  skipped += other.skipped;
  return *this;
}

// ---- worker to tracker ----

Frame PlanBegin::frame(uint32_t action) const {
  return make(mapreduce_kind::begin, kTrackerAddress, action, Packer().put(clipped(where)),
              Blob::copy_of(plan.encode()));
}

Result<PlanBegin> PlanBegin::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  PlanBegin begin;
  begin.where = in.words();
  auto plan = Plan::decode(frame.body.view());
  if (!plan) return plan.error();
  begin.plan = std::move(*plan);
  return finish(frame, in, std::move(begin), true);
}

Frame want_frame(uint32_t action, uint32_t overs) {
  return make(mapreduce_kind::want, kTrackerAddress, action, Packer().put(overs));
}

Result<uint32_t> read_want(const Frame& frame) {
  Unpacker in(frame.meta.view());
  const auto overs = in.get<uint32_t>();
  return finish(frame, in, overs);
}

Frame finished_frame(uint32_t action) { return make(mapreduce_kind::finished, kTrackerAddress, action); }

Frame TaskDone::frame(uint32_t action) const {
  Packer meta;
  put(meta, task);
  put(meta, report.figures);
  return make(mapreduce_kind::done, kTrackerAddress, action, meta, report.accumulators);
}

Result<TaskDone> TaskDone::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  TaskDone done;
  done.task = get_task(in);
  done.report = {get_figures(in), frame.body};
  return finish(frame, in, std::move(done), true);
}

Frame TaskFailed::frame(uint32_t action) const {
  Packer meta;
  put(meta, task);
  meta.put(static_cast<uint8_t>(error.code)).put(clipped(error.message));
  // What is not told now fails again later; a frame's metadata is bounded.
  const auto count = static_cast<uint32_t>(std::min<size_t>(lost.size(), 1U << 16));
  meta.put(count);
  for (uint32_t i = 0; i < count; ++i) meta.put(lost[i].stage).put(lost[i].task).put(lost[i].process);
  return make(mapreduce_kind::failed, kTrackerAddress, action, meta);
}

Result<TaskFailed> TaskFailed::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  TaskFailed failed;
  failed.task = get_task(in);
  failed.error.code = get_code(in);
  failed.error.message = in.lines();
  failed.lost.resize(in.count(3 * sizeof(uint32_t)));
  for (LostInput& input : failed.lost) {
    input.stage = in.get<StageId>();
    input.task = in.get<uint32_t>();
    input.process = in.get<ProcessId>();
  }
  return finish(frame, in, std::move(failed));
}

// ---- tracker to worker ----

Frame TaskOrder::frame(Address worker, uint32_t action) const {
  Packer meta;
  put(meta, task);
  Packer body;
  body.put(static_cast<uint32_t>(inputs.size()));
  for (const TaskInput& input : inputs) {
    body.put(input.stage).put(input.form);
    put_list(body, input.places);
  }
  return make(mapreduce_kind::task, worker, action, meta, Blob::copy_of(body.bytes()));
}

Result<TaskOrder> TaskOrder::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  TaskOrder order;
  order.task = get_task(in);
  Unpacker body(frame.body.view());
  order.inputs.resize(body.count(9));
  bool sound = true;
  for (TaskInput& input : order.inputs) {
    input.stage = body.get<StageId>();
    input.form = body.get<TaskInput::Form>();
    input.places = get_list(body);
    sound = sound && input.form <= TaskInput::Form::as_told;
    sound = sound && (input.form == TaskInput::Form::wide ||
                      input.places.size() <= (input.form == TaskInput::Form::narrow ? 1U : 0U));
  }
  return finish(frame, in, std::move(order), sound && body.done());
}

Status PlaceBook::complete(uint32_t action, TaskOrder& order) {
  if (action != action_) told_.clear();
  action_ = action;
  for (TaskInput& input : order.inputs) {
    if (input.form == TaskInput::Form::wide) told_[input.stage] = input.places;
    if (input.form != TaskInput::Form::as_told) continue;
    const auto told = told_.find(input.stage);
    if (told == told_.end()) {
      return Error{Code::bad_data, "a task whose inputs of stage " + std::to_string(input.stage) + " are nowhere told"};
    }
    input.places = told->second;
    input.form = TaskInput::Form::wide;
  }
  return {};
}

Frame ActionOver::frame(Address worker, uint32_t action) const {
  Packer meta;
  meta.put(static_cast<uint8_t>(ok)).put(static_cast<uint8_t>(code)).put(clipped(message));
  Packer body;
  put_list(body, places);
  body.put(seconds).put(static_cast<uint32_t>(stages.size()));
  for (const StageFigures& stage : stages) put(body, stage);
  body.put(static_cast<uint32_t>(accumulators.size()));
  for (const Accumulated& item : accumulators) {
    body.put(item.stage).put(item.task).put(item.bytes.view());
  }
  return make(mapreduce_kind::over, worker, action, meta, Blob::copy_of(body.bytes()));
}

Result<ActionOver> ActionOver::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  ActionOver over;
  over.ok = in.get<uint8_t>() != 0;
  over.code = get_code(in);
  over.message = in.lines();
  Unpacker body(frame.body.view());
  over.places = get_list(body);
  over.seconds = body.get<double>();
  over.stages.resize(body.count(5 * sizeof(uint32_t) + kFiguresBytes + 2 * sizeof(double)));
  for (StageFigures& stage : over.stages) stage = get_stage(body);
  over.accumulators.resize(body.count(12));
  for (Accumulated& item : over.accumulators) {
    item.stage = body.get<StageId>();
    item.task = body.get<uint32_t>();
    const std::string_view bytes = body.text();
    if (body.ok() && !bytes.empty()) {
      item.bytes = frame.body.slice(static_cast<size_t>(bytes.data() - frame.body.view().data()), bytes.size());
    }
  }
  return finish(frame, in, std::move(over), body.done());
}

// ---- data services ----

Frame ForgetOutputs::frame(ProcessId process, uint32_t action) const {
  Packer meta;
  put_list(meta, stages);
  meta.put(static_cast<uint32_t>(tasks.size()));
  for (const Task& task : tasks) meta.put(task.stage).put(task.task);
  return make(mapreduce_kind::forget, data_address(process), action, meta);
}

Result<ForgetOutputs> ForgetOutputs::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  ForgetOutputs forget;
  forget.stages = get_list(in);
  forget.tasks.resize(in.count(2 * sizeof(uint32_t)));
  for (Task& task : forget.tasks) {
    task.stage = in.get<StageId>();
    task.task = in.get<uint32_t>();
  }
  return finish(frame, in, std::move(forget));
}

Frame FetchBlocks::frame(ProcessId process, uint32_t tag) const {
  Packer meta;
  put(meta, output);
  return make(mapreduce_kind::fetch, data_address(process), tag, meta.put(first).put(count));
}

Result<FetchBlocks> FetchBlocks::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  FetchBlocks fetch;
  fetch.output = get_output(in);
  fetch.first = in.get<uint32_t>();
  fetch.count = in.get<uint32_t>();
  return finish(frame, in, fetch);
}

Frame FetchedBlock::frame(Address asker, uint32_t tag) const {
  Packer meta;
  put(meta, output);
  return make(mapreduce_kind::block, asker, tag, meta.put(index).put(of).put(block.rows), block.bytes);
}

Result<FetchedBlock> FetchedBlock::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  FetchedBlock got;
  got.output = get_output(in);
  got.index = in.get<uint32_t>();
  got.of = in.get<uint32_t>();
  got.block = {frame.body, in.get<uint64_t>()};
  const bool none = got.index == got.of && got.block.rows == 0 && frame.body.empty();
  return finish(frame, in, std::move(got), got.index < got.of || none);
}

Frame BlocksMissing::frame(Address asker, uint32_t tag) const {
  Packer meta;
  put(meta, output);
  return make(mapreduce_kind::missing, asker, tag, meta.put(clipped(why)));
}

Result<BlocksMissing> BlocksMissing::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  BlocksMissing missing;
  missing.output = get_output(in);
  missing.why = in.words();
  return finish(frame, in, std::move(missing));
}

}  // namespace actorhost
