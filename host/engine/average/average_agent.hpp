#pragma once
// A process's part in an averaging session: it holds the models of the process's workers and serves the requests of
// rounds. Passive: the owner hands in frames, reports and the time; frames are handed out. Owned by the courier and
// used by its thread; of the workers it accesses only their replicas.

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

  /// Reports an action of a worker of this process. `join` includes the worker's model, whose layout all models share.
  void report(const Report& report, std::shared_ptr<AverageReplica> replica = nullptr);
  /// An error means that the frame is malformed.
  Status on_frame(ProcessId from, Frame&& frame);
  /// Does the due work. To be called after the other functions, after a worker's action, and at the time that it last
  /// returned; it returns `now` if work remains.
  double tick(double now);
  bool empty() const noexcept { return replicas_.empty() && !round_; }

 private:
  struct Round {
    uint32_t number = 0;
    bool full = false;
    std::set<NodeId> nodes;    // the nodes of this process that the round was opened for
    std::set<NodeId> pending;  // nodes without a copy yet
    std::map<NodeId, std::shared_ptr<AverageReplica>> copied;
    std::unique_ptr<AverageMover> mover;  // set once the participants are known
    bool done = false;
  };
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
  std::map<NodeId, Report::Kind> waiting_;                      // in start, a step of the warm-up, or abort
  std::optional<Round> round_;
  uint32_t ended_ = 0;  // the newest ended round
  std::vector<Early> early_;
};

}  // namespace actorhost
