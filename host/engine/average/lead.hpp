#pragma once
// Decides the rounds of an averaging session, in the process of the run's first coordinator (process 0). When that
// process fails, only actor.peer continues, so all survivors get the same verdict of every round. Passive: the owner
// hands in frames, the membership and the time; frames are handed out.
//
// A round: the lead opens it for the training workers. Each of their processes reports the copied models. When all have
// replied, or the deadline has passed, the lead announces the participants. Their processes exchange data and report
// when they have all of it. When all have reported, each applies the round. A process that fails earlier breaks the
// round for all. Workers wait for a round only in `start`, in steps of the warm-up, and in `abort`.
//
// Full rounds leave the same bits on all workers. A warm-up round has all workers that are in a warm-up step, and
// begins when no other worker can enter such a step. The round of an abort has all live workers, and begins when all of
// them wait in `abort`; until then they take part in rounds as before.
//
// A late joiner has no weight in its first round: with every pattern it takes over the others' mean.
//
// With a graph the lead computes the weights of a round. In a graph a worker sends shares of its model. A share for a
// worker without a copy in this round stays with its sender. The averaging is push-sum (Kempe, Dobra, Gehrke, FOCS
// 2003): each worker has a weight, at first 1, and sends it in the same shares as its model; a model is a sum divided
// by its weight. So directed graphs keep the mean of all models, too. With equal shares in both directions the weights
// stay
// 1. Rounds of all workers reset the weights. A round of another number of workers than the graph's averages all of
// them.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/membership.hpp"
#include "host/engine/average/average_messages.hpp"

namespace actorhost {

class AverageLead {
 public:
  using Send = std::function<void(ProcessId to, Kind kind, const std::string& meta)>;
  using WriteLog = std::function<void(const std::string& line)>;  // for the log

  AverageLead(uint32_t session, Send send, WriteLog write_log);

  /// An error means that the frame is malformed.
  Status on_frame(ProcessId from, Kind kind, std::string_view meta, double now);
  void on_membership(const MembershipPtr& membership, double now);
  /// Does the due work. To be called after the other functions and at the time that it last returned.
  double tick(double now);
  /// True when all workers have left the session for good.
  bool over() const;

 private:
  enum class State { training, syncing, aborting, resting, left };
  struct Worker {
    ProcessId process = kNoProcess;
    State state = State::training;
    bool fresh = false;
    bool warm = false;    // steps of its warm-up remain
    bool rested = false;  // aborting: had not resumed since the last abort
    bool last = false;    // syncing: this is the last step of its warm-up
    double since = 0;     // when it entered this state
  };
  enum class Phase { copying, moving };
  struct Round {
    uint32_t number = 0;
    RoundReason reason = RoundReason::interval;
    Phase phase = Phase::copying;
    double opened = 0;
    std::set<NodeId> nodes;    // the workers that it was opened for
    std::set<NodeId> pending;  // workers without a copy yet
    std::set<NodeId> copied;
    std::set<ProcessId> processes;  // processes notified of the round
    std::set<NodeId> participants;
    std::set<ProcessId> busy;            // processes that still lack data
    bool adopts = true;                  // its mean is that of the session, which late joiners take over
    std::map<NodeId, double> weights{};  // of the participants after the round
  };

  void on_report(ProcessId from, const Report& report, double now);
  void take_table(const Report& report);
  void on_ready(const RoundReady& ready);
  void on_done(ProcessId from, const RoundDone& done, double now);
  bool alive(NodeId node) const { return membership_ && membership_->alive(node); }
  void enter(Worker& member, State state, double now);
  bool all_have_joined() const;
  bool try_begin_round(double now);
  std::vector<NodeId> aborting_workers() const;
  std::vector<NodeId> warm_up_workers() const;
  std::vector<NodeId> training_workers() const;
  bool open(RoundReason reason, const std::vector<NodeId>& nodes, double now);
  void check_copies(double now);
  void go();
  AveragePattern pattern(const std::vector<NodeId>& nodes) const;
  std::vector<RoundGo::Term> mix(const std::vector<NodeId>& nodes);
  void end(RoundVerdict::Outcome outcome, const std::string& message, double now);
  void send_to_all(const std::set<ProcessId>& processes, Kind kind, const std::string& meta);
  bool is_awaited(State waits, NodeId node) const;
  double log_long_wait(double now);

  const uint32_t session_;
  const Send send_;
  const WriteLog write_log_;
  AverageOptions options_;
  MembershipPtr membership_;
  NodeId newest_ = 0;  // the largest node id of any membership
  std::map<NodeId, Worker> members_;
  bool started_ = false;
  uint32_t rounds_ = 0;
  double next_ = 0;  // the earliest start of the next round by interval
  bool long_wait_logged_ = false;
  std::optional<std::string> refusal_;  // why a full round is impossible
  std::optional<Round> round_;
  std::map<size_t, MixingTable> tables_;  // of the graph, by the number of workers
  size_t mixed_ = 0;                      // rounds of the graph so far
  std::map<NodeId, double> weights_;      // of push-sum; 1 without an entry
};

}  // namespace actorhost
