#pragma once
// Decides the rounds of a session of averaging: a passive machine on the rendezvous host, which does not die without
// the run's end, so every survivor hears the same of every round. Frames, membership and time come in, frames go out.
//
// A round: the lead opens it for the workers that train. Each of their processes says whose models it has copied. When
// all have answered, or the deadline has passed, the lead says which workers take part. Their processes exchange data
// and say when they have all of it; when all have, each applies the round. A process that is lost before that breaks
// the round for all. Workers wait for a round only in `start`, in steps of the warm-up, and in `abort`.
//
// Full rounds leave the same bits everywhere. Those of the warm-up are among all workers that are in one of its steps,
// once no other worker can come to one. That of an abort is among all live workers, and begins when all of them wait in
// it; until then they take part in rounds as before.
//
// A worker that has joined late brings no weight to its first round: it takes the others' mean, in every pattern.

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
  using Say = std::function<void(const std::string& line)>;  // for the log

  AverageLead(uint32_t session, Send send, Say say);

  /// An error: it cannot be read.
  Status on_frame(ProcessId from, Kind kind, std::string_view meta, double now);
  void on_membership(const MembershipPtr& membership, double now);
  /// Called after the others and at the time that it returned last.
  double tick(double now);
  /// No worker is in the session any more, nor will be.
  bool over() const;

 private:
  enum class State { training, syncing, aborting, resting, left };
  struct Worker {
    ProcessId process = kNoProcess;
    State state = State::training;
    bool fresh = false;
    bool warm = false;    // steps of its warm-up are to come
    bool rested = false;  // aborting: had not resumed since the last abort
    bool last = false;    // syncing: this is the last step of its warm-up
    double since = 0;     // when it came into this state
  };
  enum class Phase { copying, moving };
  struct Round {
    uint32_t number = 0;
    RoundWhy why = RoundWhy::interval;
    Phase phase = Phase::copying;
    double opened = 0;
    std::set<NodeId> nodes;    // the workers for which it was opened
    std::set<NodeId> pending;  // have still to be copied
    std::set<NodeId> copied;
    std::set<ProcessId> processes;  // that have been told of the round
    std::set<NodeId> participants;
    std::set<ProcessId> busy;  // that have not got all yet
  };

  void on_report(ProcessId from, const Report& report, double now);
  void on_ready(const RoundReady& ready);
  void on_done(ProcessId from, const RoundDone& done, double now);
  bool alive(NodeId node) const { return membership_ && membership_->alive(node); }
  void enter(Worker& member, State state, double now);
  bool all_have_joined() const;
  bool consider(double now);
  std::vector<NodeId> who_aborts() const;
  std::vector<NodeId> who_syncs() const;
  std::vector<NodeId> who_trains() const;
  bool open(RoundWhy why, const std::vector<NodeId>& nodes, double now);
  void look_if_copied(double now);
  void go();
  AveragePattern order(std::vector<NodeId>& nodes) const;
  void end(RoundVerdict::Outcome outcome, const std::string& message, double now);
  void tell(const std::set<ProcessId>& processes, Kind kind, const std::string& meta);
  bool is_missed(State waits, NodeId node) const;
  double complain(double now);

  const uint32_t session_;
  const Send send_;
  const Say say_;
  AverageOptions options_;
  MembershipPtr membership_;
  NodeId newest_ = 0;  // the largest that a membership has had
  std::map<NodeId, Worker> members_;
  bool started_ = false;
  uint32_t rounds_ = 0;
  double next_ = 0;  // the next round by interval begins then at the earliest
  bool complained_ = false;
  std::vector<RoundGo::Participant> last_;  // of the newest round that was applied; empty after a broken one
  std::optional<std::string> refusal_;      // why a full round cannot be
  std::optional<Round> round_;
};

}  // namespace actorhost
