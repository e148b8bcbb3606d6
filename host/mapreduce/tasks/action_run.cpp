#include "host/mapreduce/tasks/action_run.hpp"

namespace actorhost {

ActionRun::ActionRun(PlanBegin begin, std::string worker_name, OutputPlaces& places, double now)
    : begin_(std::move(begin)),
      opened_by_(std::move(worker_name)),
      places_(places),
      began_(now),
      board_(begin_.plan, places) {
  tasks_.resize(plan().stages.size());
  figures_.resize(plan().stages.size());
  for (uint32_t i = 0; i < tasks_.size(); ++i) {
    const PlanStage& stage = plan().stages[i];
    tasks_[i].resize(stage.tasks);
    figures_[i].stage = stage.id;
    figures_[i].tasks = stage.tasks;
    figures_[i].reused = board_.outputs(i).present;
  }
}

std::string ActionRun::task_text(TaskRef ref) const {
  const PlanStage& stage = plan().stages[ref.stage];
  return "stage " + std::to_string(stage.id) + " (" + stage.name + "), task " + std::to_string(ref.task + 1) + " of " +
         std::to_string(stage.tasks);
}

// ---- assigning tasks ----

TaskInput ActionRun::input_of(TaskRef ref, const PlanDependency& need,
                              std::map<StageId, uint32_t>& known_versions) const {
  const OutputPlaces::Stage& outputs = places_.stage(need.stage);
  if (!need.wide) {
    TaskInput input{need.stage, TaskInput::Form::narrow, {}};
    if (ref.task >= need.first && ref.task - need.first < outputs.at.size()) {
      input.places = {outputs.at[ref.task - need.first]};
    }
    return input;
  }
  const auto known = known_versions.find(need.stage);
  if (known != known_versions.end() && known->second == outputs.version)
    return {need.stage, TaskInput::Form::cached, {}};
  known_versions[need.stage] = outputs.version;
  return {need.stage, TaskInput::Form::wide, outputs.at};
}

TaskOrder ActionRun::assign(TaskRef ref, std::map<StageId, uint32_t>& known_versions, double now) {
  const PlanStage& stage = plan().stages[ref.stage];
  StageFigures& figures = figures_[ref.stage];
  if (figures.runs++ == 0) figures.first = now - began_;
  wait_logged_ = false;
  TaskOrder order{{stage.id, ref.task, ++task(ref).attempts}, {}};
  for (const PlanDependency& need : stage.needs) order.inputs.push_back(input_of(ref, need, known_versions));
  return order;
}

// ---- results of tasks ----

Status ActionRun::count(TaskRef ref, TaskReport report, double now) {
  StageFigures& figures = figures_[ref.stage];
  figures.last = now - began_;
  if (std::exchange(task(ref).counted, true)) return {};  // a rerun of the task
  figures.figures += report.figures;
  if (report.accumulators.empty() || !places_.count_once(figures.stage, ref.task)) return {};
  accumulator_bytes_ += report.accumulators.size();
  accumulators_[ref] = std::move(report.accumulators);
  if (accumulator_bytes_ <= kMaxAccumulatorBytes) return {};
  return Error{Code::bad_data, "the accumulators of this action take over " +
                                   std::to_string(kMaxAccumulatorBytes >> 20) +
                                   " MiB; collect their values as a dataset instead"};
}

const ActionRun::FirstError& ActionRun::first_error(std::map<TaskRef, FirstError>& errors, TaskRef ref,
                                                    const Error& error, const std::string& worker_name, double now) {
  return errors.try_emplace(ref, FirstError{error, worker_name, now}).first->second;
}

std::optional<Error> ActionRun::failed(TaskRef ref, const Error& error, const std::string& worker_name) {
  ++figures_[ref.stage].failures;
  const FirstError& first = first_error(errors_, ref, error, worker_name, 0);
  if (++task(ref).failures < kMaxFailures) return std::nullopt;
  return Error{first.error.code, task_text(ref) + ", has failed " + std::to_string(kMaxFailures) + " times, first on " +
                                     first.worker_name + ": " + first.error.message};
}

std::optional<Error> ActionRun::process_lost(TaskRef ref, const std::string& worker_name) {
  std::string& workers = lost_workers_[ref];
  workers += (workers.empty() ? "" : ", ") + worker_name;
  if (++task(ref).lost_processes < kMaxProcesses) return std::nullopt;
  return Error{Code::peer_lost, "a process has ended " + std::to_string(kMaxProcesses) + " times while it ran " +
                                    task_text(ref) + ": the processes of " + workers +
                                    "; the task itself may crash them (memory, C code)"};
}

std::optional<Error> ActionRun::input_lost(TaskRef ref, const Error& error, const std::string& worker_name,
                                           double now) {
  ++figures_[ref.stage].failures;
  const FirstError& first = first_error(input_errors_, ref, error, worker_name, now);
  if (++task(ref).lost_inputs < kMaxLostInputs || now - first.time < kLostInputsPatience) return std::nullopt;
  return Error{first.error.code, task_text(ref) + ", could not get its inputs " +
                                     std::to_string(task(ref).lost_inputs) + " times, first on " + first.worker_name +
                                     ": " + first.error.message};
}

std::optional<Error> ActionRun::result_lost(const Error& error, const std::string& worker_name, double now) {
  if (lost_results_++ == 0) first_result_lost_ = now;
  if (lost_results_ < kMaxLostInputs || now - first_result_lost_ < kLostInputsPatience) return std::nullopt;
  return Error{error.code, "the result was made and lost " + std::to_string(lost_results_) + " times, now on " +
                               worker_name + ": " + error.message};
}

// ---- the end ----

void ActionRun::end(ActionOutcome outcome, double now) {
  outcome.seconds = now - began_;
  outcome.stages = figures_;
  for (const auto& [ref, bytes] : accumulators_) {
    outcome.accumulators.push_back({plan().stages[ref.stage].id, ref.task, bytes});
  }
  succeeded_ = outcome.ok;
  outcome_ = outcome.frame(kNoAddress, 0);
}

void ActionRun::end_with_result(double now) {
  ActionOutcome outcome;
  const OutputPlaces::Stage& result = board_.outputs(static_cast<uint32_t>(tasks_.size() - 1));
  outcome.places = result.at;
  outcome_version_ = result.version;
  end(std::move(outcome), now);
}

bool ActionRun::outdated() const {
  return succeeded() && board_.outputs(static_cast<uint32_t>(tasks_.size() - 1)).version != outcome_version_;
}

void ActionRun::end_with_error(const Error& error, double now) {
  ActionOutcome outcome;
  outcome.ok = false;
  outcome.code = error.code;
  outcome.message = error.message;
  end(std::move(outcome), now);
}

Frame ActionRun::outcome_frame(Address worker) const {
  Frame frame = *outcome_;  // shares the body, which may be large
  frame.dst = worker;
  return frame;
}

}  // namespace actorhost
