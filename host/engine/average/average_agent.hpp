#pragma once
// A process's part in a session of averaging: the models of its workers, and what rounds ask of them. A passive
// machine: frames, reports and the time come in, frames go out. Owned and used by the courier's thread; it touches the
// workers' replicas and nothing else of the workers.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/engine/average/mover.hpp"

namespace actorhost {

class AverageAgent {
 public:
  using Send = std::function<void(ProcessId to, Kind kind, const std::string& meta, Blob body)>;

  AverageAgent(ProcessId self, Send send) : self_(self), send_(std::move(send)) {}

  /// What models travel through, the same on all processes; before the first report.
  void set_filter(const FilterSpec& filter) { filter_ = filter; }

  /// A worker of this process says what it does; `join` comes with its model, whose layout is that of all others.
  void report(const Report& report, std::shared_ptr<AverageReplica> replica = nullptr);
  /// An error: it cannot be read.
  Status on_frame(ProcessId from, Frame&& frame);
  /// Called after the others, when a worker has done something, and at the time that it returned last: `now` when there
  /// is more to do.
  double tick(double now);
  bool empty() const noexcept { return replicas_.empty() && !round_; }

 private:
  struct Round {
    uint32_t number = 0;
    bool full = false;
    std::set<NodeId> nodes;  // of this process, that it was opened for
    std::set<NodeId> asked;  // of them, that have still to be copied
    std::map<NodeId, std::shared_ptr<AverageReplica>> copied;
    std::unique_ptr<AverageMover> mover;  // once it is known which workers take part
    bool done = false;
  };
  struct Early {
    ProcessId from;
    AveragePiece head;
    Blob body;
  };

  Status take_word(Kind kind, std::string_view meta);
  void on_started();
  void on_open(const RoundOpen& open);
  void on_go(RoundGo&& go);
  void on_piece(ProcessId from, const AveragePiece& head, Blob body);
  void on_verdict(const RoundVerdict& verdict);
  void answer_copied();
  void take(ProcessId from, const AveragePiece& head, Blob body);
  void finish(const RoundDone& done);
  void settle(const RoundVerdict& verdict);

  const ProcessId self_;
  const Send send_;
  std::map<NodeId, std::shared_ptr<AverageReplica>> replicas_;  // shared with their workers
  std::map<NodeId, Report::What> waiting_;                      // in start, a step of the warm-up, or abort
  FilterSpec filter_;
  AverageReference reference_;  // of the newest round that was applied
  std::optional<Round> round_;
  uint32_t ended_ = 0;  // newest round that has ended here
  std::vector<Early> early_;
};

}  // namespace actorhost
