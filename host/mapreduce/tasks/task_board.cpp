#include "host/mapreduce/tasks/task_board.hpp"

#include <iterator>

namespace actorhost {

TaskBoard::TaskBoard(const Plan& plan, const OutputPlaces& places) : plan_(plan), places_(places) {
  stages_.resize(plan.stages.size());
  for (uint32_t i = 0; i < stages_.size(); ++i) {
    const PlanStage& from = plan.stages[i];
    Stage& stage = stages_[i];
    stage.outputs = &places.stage(from.id);
    stage.tasks.resize(from.tasks);
    for (const PlanDependency& need : from.needs) {
      const uint32_t parent = index_.at(need.stage);
      stage.parents.push_back({parent, need.wide, need.first});
      stages_[parent].children.push_back({i, need.wide, need.first});
    }
    index_[from.id] = i;
  }
}

std::optional<uint32_t> TaskBoard::find(StageId id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

bool TaskBoard::complete() const { return stages_.back().outputs->complete(); }

// ---- wanted tasks ----

void TaskBoard::refresh() {
  if (!stale_) return;
  stale_ = false;
  queues_.clear();
  ready_ = 0;
  for (Stage& stage : stages_) {
    stage.all_wanted = false;
    for (Task& task : stage.tasks) {
      task.wanted = false;
      if (task.state != State::running) task.state = State::idle;
    }
  }
  want_all(static_cast<uint32_t>(stages_.size() - 1));
  process_pending();
}

void TaskBoard::want_all(uint32_t stage) {
  if (stages_[stage].all_wanted) return;
  stages_[stage].all_wanted = true;
  for (uint32_t i = 0; i < stages_[stage].tasks.size(); ++i) pending_.push_back({stage, i});
}

/// Works through a list instead of recursing, since lineages can be thousands of stages deep.
void TaskBoard::process_pending() {
  while (!pending_.empty()) {
    const TaskRef ref = pending_.back();
    pending_.pop_back();
    Task& next = task(ref);
    if (next.wanted) continue;
    next.wanted = true;
    if (!has_output(ref) && next.state != State::running) admit(ref);
  }
}

/// Admits a wanted task that neither runs nor has its output: counts its missing inputs, which are then wanted too.
void TaskBoard::admit(TaskRef ref) {
  Task& here = task(ref);
  here.unmet = 0;
  for (const Edge& parent : stages_[ref.stage].parents) {
    const Stage& needed = stages_[parent.stage];
    if (parent.wide) {
      if (needed.outputs->complete()) continue;
      want_all(parent.stage);
    } else {
      if (ref.task < parent.first || ref.task - parent.first >= needed.tasks.size()) continue;
      const TaskRef input{parent.stage, ref.task - parent.first};
      if (has_output(input)) continue;
      pending_.push_back(input);
    }
    ++here.unmet;
  }
  here.state = State::waiting;
  if (here.unmet == 0) make_ready(ref);
}

void TaskBoard::satisfy_need(TaskRef ref) {
  Task& here = task(ref);
  if (here.state == State::waiting && --here.unmet == 0) make_ready(ref);
}

// ---- progress of tasks ----

void TaskBoard::record_output(TaskRef ref) {
  task(ref).state = State::idle;
  Stage& stage = stages_[ref.stage];
  --stage.running;
  if (stale_) return;
  for (const Edge& child : stage.children) {
    if (!child.wide) {
      satisfy_need({child.stage, ref.task + child.first});
    } else if (stage.outputs->complete()) {
      for (uint32_t i = 0; i < stages_[child.stage].tasks.size(); ++i) satisfy_need({child.stage, i});
    }
  }
}

void TaskBoard::give_back(TaskRef ref) {
  task(ref).state = State::idle;
  --stages_[ref.stage].running;
  if (stale_ || !task(ref).wanted || has_output(ref)) return;
  admit(ref);
  process_pending();
}

// ---- which tasks a worker may have ----

ProcessId TaskBoard::home_of(TaskRef ref) const {
  for (const Edge& parent : stages_[ref.stage].parents) {
    const auto& at = stages_[parent.stage].outputs->at;
    if (!parent.wide && ref.task >= parent.first && ref.task - parent.first < at.size()) {
      return at[ref.task - parent.first];
    }
  }
  return places_.last_run(plan_.stages[ref.stage].id, ref.task);
}

void TaskBoard::make_ready(TaskRef ref) {
  task(ref).state = State::ready;
  queues_[home_of(ref)].insert(ref);
  ++ready_;
}

size_t TaskBoard::ready() {
  refresh();
  return ready_;
}

TaskRef TaskBoard::start(std::set<TaskRef>& queue, std::set<TaskRef>::iterator at) {
  const TaskRef ref = *at;
  queue.erase(at);
  --ready_;
  task(ref).state = State::running;
  ++stages_[ref.stage].running;
  return ref;
}

std::optional<TaskRef> TaskBoard::take_at_home(ProcessId home) {
  refresh();
  const auto found = queues_.find(home);
  if (found == queues_.end() || found->second.empty()) return std::nullopt;
  return start(found->second, found->second.begin());
}

std::optional<TaskRef> TaskBoard::take_from_others(const std::function<bool(ProcessId)>& may) {
  refresh();
  std::set<TaskRef>* longest = nullptr;
  for (auto& [home, queue] : queues_) {
    if (queue.size() > (longest == nullptr ? 0 : longest->size()) && may(home)) longest = &queue;
  }
  if (longest == nullptr) return std::nullopt;
  return start(*longest, std::prev(longest->end()));
}

}  // namespace actorhost
