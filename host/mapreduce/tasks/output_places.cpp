#include "host/mapreduce/tasks/output_places.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr size_t kMaxRanEntries = size_t{2} * kMaxPlanTasks;
constexpr size_t kMaxRanStages = 1024;  // each costs some 100 bytes, even with few tasks

}  // namespace

Status OutputPlaces::open(StageId id, uint32_t tasks) {
  const auto [at, made] = stages_.try_emplace(id);
  if (made) {
    at->second.at.assign(tasks, kNoProcess);
    at->second.since.assign(tasks, 0);
  } else if (at->second.at.size() != tasks) {
    return Error{Code::mismatch, "stage " + std::to_string(id) + " had " + std::to_string(at->second.at.size()) +
                                     " tasks in an earlier action and has " + std::to_string(tasks) + " now"};
  }
  return {};
}

bool OutputPlaces::add(StageId id, uint32_t task, ProcessId process) {
  Stage& stage = stages_.at(id);
  if (stage.has(task)) return false;
  stage.at[task] = process;
  stage.since[task] = ++clock_;
  ++stage.present;
  ++stage.version;
  std::vector<ProcessId>& ran = ran_[id];
  if (ran.empty()) {
    ran.assign(stage.at.size(), kNoProcess);
    ran_entries_ += ran.size();
    while ((ran_entries_ > kMaxRanEntries || ran_.size() > kMaxRanStages) &&
           ran_.begin()->first != id) {  // the oldest stage has the smallest number
      ran_entries_ -= ran_.begin()->second.size();
      ran_.erase(ran_.begin());
    }
  }
  ran[task] = process;
  return true;
}

bool OutputPlaces::drop_task(Stage& stage, uint32_t task, ProcessId process, uint64_t seen) {
  if (task >= stage.at.size() || stage.at[task] != process || stage.since[task] > seen) return false;
  stage.at[task] = kNoProcess;
  --stage.present;
  ++stage.version;
  return true;
}

bool OutputPlaces::drop(StageId id, uint32_t task, ProcessId process, uint64_t seen) {
  const auto found = stages_.find(id);
  return process != kNoProcess && found != stages_.end() && drop_task(found->second, task, process, seen);
}

bool OutputPlaces::drop_all(StageId id, ProcessId process, uint64_t seen) {
  const auto found = stages_.find(id);
  if (process == kNoProcess || found == stages_.end()) return false;
  bool dropped = false;
  for (uint32_t task = 0; task < found->second.at.size(); ++task) {
    dropped = drop_task(found->second, task, process, seen) || dropped;
  }
  return dropped;
}

size_t OutputPlaces::drop_process(ProcessId process) {
  size_t lost = 0;
  for (auto& [id, stage] : stages_) {
    for (uint32_t task = 0; task < stage.at.size(); ++task) lost += drop_task(stage, task, process, clock_) ? 1 : 0;
  }
  for (auto& [id, ran] : ran_) std::replace(ran.begin(), ran.end(), process, kNoProcess);
  return lost;
}

void OutputPlaces::forget(StageId id) { stages_.erase(id); }

ProcessId OutputPlaces::last_run(StageId id, uint32_t task) const {
  const auto found = ran_.find(id);
  return found == ran_.end() || task >= found->second.size() ? kNoProcess : found->second[task];
}

bool OutputPlaces::count_once(StageId id, uint32_t task) {
  std::vector<bool>& counted = counted_[id];
  if (task >= counted.size()) counted.resize(size_t{task} + 1);
  if (counted[task]) return false;
  counted[task] = true;
  return true;
}

}  // namespace actorhost
