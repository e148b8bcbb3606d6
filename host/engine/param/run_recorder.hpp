#pragma once
// What observers see of a run: writes the trace of `--record` and the barrier board. Passive; belongs to the run's
// ParamController.

#include <cstdint>
#include <string>
#include <utility>

#include "host/barrier/gate.hpp"
#include "host/barrier/progress.hpp"
#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/cluster/look/barrier_board.hpp"
#include "host/engine/param/trace.hpp"

namespace actorhost {

class PushMerger;
class RunWorkers;

/// The recorder's part of a worker.
struct RecordedWorker {
  double released = 0;                  // when it last passed the barrier; for the trace
  uint32_t recording = 1;               // the number of the recording that has its join
  BarrierBoard::Worker* row = nullptr;  // its row on the board

  void set_waiting(uint64_t step, double now) noexcept {
    if (row != nullptr) row->set_waiting(step, now);
  }
  void set_working(double now) noexcept {
    if (row != nullptr) row->set_working(now);
  }
  void set_away(double now) noexcept {
    if (row != nullptr) row->set_away(now);
  }
};

class RunRecorder : private NonCopyable {
 public:
  /// Shows the run on the board. `trace` and `board` may be null and outlive the recorder.
  RunRecorder(uint32_t run, std::string barrier, std::string merge, ParamTrace* trace, BarrierBoard* board, Log& log);
  /// Writes the recorded rows of the run to their file.
  ~RunRecorder() {
    if (trace_ != nullptr) trace_->flush();
  }

  /// Whether the trace records: without a file only while an observer requests the rows; false once the run is stopped.
  bool records() const noexcept { return recording_; }
  double next_time() const noexcept { return trace_ != nullptr ? trace_->next_time() : kForever; }
  void poll(const Progress& progress, double now);

  void add(NodeId id, RecordedWorker& worker);
  /// The first worker has arrived.
  void begin(const Progress& progress, double now);
  /// The worker is counted from now on.
  void count(NodeId id, RecordedWorker& worker, uint64_t step, double now);
  void show_gate(const Gate& gate);
  /// The worker has completed its step `step`, counted from 1, which began at `began`. `compute` is its claim.
  void show_merges(const PushMerger& merger);
  void complete(NodeId id, RecordedWorker& worker, uint64_t step, double compute, double began, double now);
  void park(NodeId id, RecordedWorker& worker, uint64_t step, double now);
  void unpark(NodeId id, RecordedWorker& worker, uint64_t step, double now);
  /// The worker has failed. `counted`: until now; `busy`: in step `step`.
  void lose(NodeId id, RecordedWorker& worker, uint64_t step, bool counted, bool busy, double now);
  /// The trace ends with the decision to stop: no worker begins a step after it.
  void stop(const RunWorkers& workers, double now);

 private:
  using Rules = std::pair<std::string, std::string>;  // the names of the barrier rule and of the merge rule
  Rules rules() const;
  void begin_recording(const Progress& progress, double now);
  bool in_trace(const RecordedWorker& worker) const noexcept { return recording_ && worker.recording == recordings_; }

  const std::string barrier_, merge_;
  ParamTrace* const trace_;
  BarrierBoard* const board_;
  Log& log_;
  Rules recorded_;
  bool recording_ = false;
  uint32_t recordings_ = 1;
  bool began_ = false, stopped_ = false;
  uint64_t impossible_times_ = 0;  // working times of workers that cannot be true
};

}  // namespace actorhost
