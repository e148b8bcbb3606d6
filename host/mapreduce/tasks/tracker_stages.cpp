// The tracker's state of actions for the progress bar and for observers.

#include <algorithm>

#include "host/mapreduce/tasks/tracker.hpp"

namespace actorhost {

namespace {

constexpr size_t kPastStages = 100;

}  // namespace

std::optional<TrackerProgress> Tracker::progress() const {
  const auto newest = std::find_if(actions_.rbegin(), actions_.rend(), [](const auto& a) { return !a.second.ended(); });
  if (newest == actions_.rend()) return std::nullopt;
  const ActionRun& run = newest->second;
  const auto stages = static_cast<uint32_t>(run.plan().stages.size());
  uint32_t at = 0;
  while (at + 1 < stages && run.board().running(at) == 0) ++at;
  const PlanStage& stage = run.plan().stages[at];
  TrackerProgress now;
  now.action = newest->first;
  now.stage = stage.id;
  now.name = stage.name;
  now.tasks = stage.tasks;
  now.done = run.board().outputs(at).present;
  now.running = run.board().running(at);
  now.stage_index = at;
  now.stages = stages;
  now.rows = run.figures(at).figures.rows_in;
  now.bytes = run.figures(at).figures.bytes_in;
  return now;
}

void Tracker::add_stages(uint32_t number, const ActionRun& run, double now, std::deque<StageRow>& out) {
  for (uint32_t i = 0; i < run.plan().stages.size(); ++i) {
    if (!run.touched(i)) continue;
    const PlanStage& stage = run.plan().stages[i];
    const StageFigures& figures = run.figures(i);
    StageRow row{
        number, i, stage.name, run.where(), stage.tasks, run.board().outputs(i).present, run.board().running(i)};
    const bool runs = !run.ended() && row.done < row.tasks;
    row.seconds = (runs ? now - run.began() : figures.last) - figures.first;
    row.rows = figures.figures.rows_in;
    row.bytes = figures.figures.bytes_in;
    out.push_back(std::move(row));
  }
}

void Tracker::archive(uint32_t number, const ActionRun& run) {
  add_stages(number, run, 0, past_);
  while (past_.size() > kPastStages) past_.pop_front();
}

std::deque<StageRow> Tracker::stages(double now) const {
  std::deque<StageRow> out = past_;
  for (const auto& [number, run] : actions_) add_stages(number, run, now, out);
  return out;
}

}  // namespace actorhost
