#pragma once
// Takes part in an averaging session for one process. It has the replicas (models) of the process's workers. In each
// round that the lead opens it copies the models, averages the copies with other processes, and applies the mean. A
// passive state machine: frames, the workers' reports and the time go in, frames go out through `send`. `Averages` owns
// it and calls it on the courier's thread. It shares only the replicas with the workers' threads.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/engine/average/mover.hpp"
#include "host/engine/average/replica.hpp"

namespace actorhost {

class AverageAgent {
 public:
  using Send = std::function<void(ProcessId to, Kind kind, const std::string& meta, Blob body)>;

  AverageAgent(ProcessId self, Send send) : self_(self), send_(std::move(send)) {}

  /// A worker of this process has acted (Report); the agent forwards the report to the lead. `replica` is the worker's
  /// model, for `join` only. All models of a session have the same layout.
  void report(const Report& report, std::shared_ptr<AverageReplica> replica = nullptr);
  /// Fails for a malformed frame.
  Status on_frame(ProcessId from, Frame&& frame);
  /// Does a small portion of the due work. Returns the time of the next call: `now` while work remains, else kForever.
  /// Also to be called after each other function, and after a worker has released its replica's lock.
  double tick(double now);
  /// The agent has no worker and no round, so its owner may destroy it.
  bool empty() const noexcept { return replicas_.empty() && !round_; }

 private:
  struct Round {
    uint32_t number = 0;
    bool full = false;
    std::set<NodeId> nodes;    // the workers of this process in the round
    std::set<NodeId> pending;  // the workers whose models are not copied yet
    std::map<NodeId, std::shared_ptr<AverageReplica>> copied;
    std::unique_ptr<AverageMover> mover;  // set once the participants are known
    bool done = false;
  };
  /// A piece that arrived before this process had a mover for its round.
  struct Early {
    ProcessId from;
    AveragePiece head;
    Blob body;
  };

  Status on_lead_message(Kind kind, std::string_view meta);
  void on_started();
  void on_open(const RoundOpen& open);
  void on_go(RoundGo&& go);
  void on_piece(ProcessId from, const AveragePiece& head, Blob body);
  void on_verdict(const RoundVerdict& verdict);
  void report_copies();
  void take(ProcessId from, const AveragePiece& head, Blob body);
  void finish(const RoundDone& done);
  void settle(const RoundVerdict& verdict);

  const ProcessId self_;
  const Send send_;
  std::map<NodeId, std::shared_ptr<AverageReplica>> replicas_;  // shared with their workers
  std::map<NodeId, Report::Kind> waiting_;                      // workers that wait: join, sync or abort
  std::optional<Round> round_;
  uint32_t ended_ = 0;  // the newest ended round
  std::vector<Early> early_;
};

}  // namespace actorhost
