#include "host/engine/param/run_recorder.hpp"

#include <utility>

#include "host/engine/param/push_merger.hpp"
#include "host/engine/param/run_workers.hpp"

namespace actorhost {

RunRecorder::RunRecorder(uint32_t run, std::string barrier, std::string merge, ParamTrace* trace, BarrierBoard* board,
                         Log& log)
    : barrier_(std::move(barrier)),
      merge_(std::move(merge)),
      trace_(trace),
      board_(board),
      log_(log),
      recording_(trace != nullptr) {
  if (board_ != nullptr) board_->begin(run, barrier_, merge_);
}

void RunRecorder::add(NodeId id, RecordedWorker& worker) {
  if (board_ != nullptr && worker.row == nullptr) worker.row = &board_->worker(id);
}

RunRecorder::Rules RunRecorder::rules() const { return board_ != nullptr ? board_->rules() : Rules(barrier_, merge_); }

void RunRecorder::begin_recording(const Progress& progress, double now) {
  recording_ = true;
  recorded_ = rules();
  trace_->begin_run(
      {{"barrier", recorded_.first}, {"merge", recorded_.second}, {"workers", std::to_string(progress.size())}}, now);
}

void RunRecorder::begin(const Progress& progress, double now) {
  began_ = true;
  if (trace_ == nullptr || !trace_->wanted(now)) return;
  begin_recording(progress, now);
  for (Slot slot = 0; slot < progress.size(); ++slot) {
    trace_->join(progress.ids()[slot], static_cast<uint64_t>(progress.steps()[slot]), now);
  }
}

// If an observer requests rows in the middle of a run, each worker joins the trace with the end of its present step. So
// it does after a change of the rules: the rows for observers are of the present rules.
void RunRecorder::poll(const Progress& progress, double now) {
  if (trace_ == nullptr) return;
  trace_->poll(now);
  if (!began_ || stopped_) return;
  const bool begins = trace_->wanted(now) && (!recording_ || (!trace_->has_file() && recorded_ != rules()));
  recording_ = trace_->wanted(now);
  if (!begins) return;
  trace_->restart();
  ++recordings_;
  begin_recording(progress, now);
}

void RunRecorder::count(NodeId id, RecordedWorker& worker, uint64_t step, double now) {
  if (!recording_) return;
  worker.recording = recordings_;
  trace_->join(id, step, now);
}

void RunRecorder::show_gate(const Gate& gate) {
  if (board_ == nullptr) return;
  board_->passed.set(gate.passed());
  board_->refused.set(gate.refused());
  board_->bound.set(gate.rule().staleness());
}

void RunRecorder::show_merges(const PushMerger& merger) {
  if (board_ == nullptr) return;
  board_->merged.set(merger.updates());
  board_->dropped.set(merger.dropped());
  board_->held.set(merger.held().size());
}

void RunRecorder::complete(NodeId id, RecordedWorker& worker, uint64_t step, double compute, double began, double now) {
  if (worker.row != nullptr) board_->step_seconds.add(now - began);
  worker.set_waiting(step, now);
  if (!recording_) return;
  if (!in_trace(worker)) return count(id, worker, step, now);
  if (trace_->step(id, step, worker.released, compute, now)) return;
  const uint64_t n = ++impossible_times_;
  if ((n & (n - 1)) != 0) return;  // the 1st, 2nd, 4th, 8th ... are logged
  log_.warn("record", "worker " + std::to_string(id) + " reports " + std::to_string(compute) + " s of work in the " +
                          std::to_string(now - worker.released) + " s of its step " + std::to_string(step) +
                          "; the trace has the nearest possible time (" + std::to_string(n) + " such times so far)");
}

void RunRecorder::park(NodeId id, RecordedWorker& worker, uint64_t step, double now) {
  worker.set_away(now);
  if (in_trace(worker)) trace_->leave(id, step, now);
}

void RunRecorder::unpark(NodeId id, RecordedWorker& worker, uint64_t step, double now) {
  worker.released = now;
  count(id, worker, step, now);
}

void RunRecorder::lose(NodeId id, RecordedWorker& worker, uint64_t step, bool counted, bool busy, double now) {
  worker.set_away(now);
  if (!in_trace(worker) || !counted) return;
  if (busy) trace_->open_step(id, step, worker.released, now);
  trace_->leave(id, step, now);
}

void RunRecorder::stop(const RunWorkers& workers, double now) {
  stopped_ = true;
  if (!recording_) return;
  for (const auto& [id, worker] : workers) {
    if (worker.busy && in_trace(worker.record)) trace_->open_step(id, worker.step, worker.record.released, now);
  }
  trace_->stop(now);
  recording_ = false;
}

}  // namespace actorhost
