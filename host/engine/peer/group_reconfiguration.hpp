#pragma once
// The reconfiguration (view change) of replica groups: makes a node the leader of the keys that it owns by its ring id,
// and replaces members. Joins, leaves, failures and repairs all use it. The node that owns an arc of the ring takes
// these steps:
//
//  query    asks its neighbours for the present leader and group
//  claim    proposes a term above all known terms, first to the present leader, then to the rest of its group; a
//           majority must promise to join no group of a lower term (as in Paxos)
//  sync     copies the keys from a complete replica
//  adopt    sends the new group to its members, which copy the keys as well, and to the old group
//  settle   once all of the new group and a majority of the old group have replied, it leads; nodes outside of the new
//           group drop their replicas
//
// A write is acknowledged when all members have it, so each member has every acknowledged write. A node cannot
// distinguish a failure from a partition. So it waits for kUnresponsiveMajority before it treats an unresponsive
// majority as failed: in a shorter partition the minority does not take over keys whose group is mostly on the other
// side. A leader replies only while a majority of its group has recently confirmed it (a lease), and no member joins
// another group before this lease has expired. Passive; PeerKeys owns it.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_set>
#include <vector>

#include "host/base/log.hpp"
#include "host/engine/peer/key_log.hpp"
#include "host/engine/peer/key_sync.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

class GroupReconfiguration {
 public:
  struct Parts {
    Overlay& overlay;
    PeerCalls& calls;
    KeyTable& table;
    RangeMap& ranges;
    KeyLog& log;
    KeySync& sync;
  };
  GroupReconfiguration(const Parts& parts, uint32_t copies)
      : parts_(parts), copies_(copies), rng_(parts.overlay.self().id) {}

  /// The nodes that the job started with, in any order. All nodes derive the same first groups from them without
  /// messages.
  void bootstrap(std::vector<Peer> founders);
  /// The live processes in the order of their numbers; lose_process reports later failures.
  void set_live(std::vector<ProcessId> processes) { live_ = std::move(processes); }
  /// Sets a callback that returns all workers of the run that may be peers, if the run has a membership table. Once all
  /// of them have replied, no other node can have a replica.
  void set_all_workers(std::function<std::vector<Peer>()> all_workers) { all_workers_ = std::move(all_workers); }
  /// Called when the node may reply for further keys.
  void on_progress(std::function<void()> callback) { progress_ = std::move(callback); }
  /// Starts to hand over all keys to other nodes. To be called before the overlay leaves the ring.
  void leave();
  /// This node has no replica.
  bool holds_nothing() const;

  /// The range of `place` if this node leads its group and may write; nullptr otherwise.
  const KeyRange* leads(RingId place) const;
  /// The end of this leader's lease: until then it may reply from its own replica.
  double leased_until() const;
  bool leased() const { return leased_until() > now(); }
  /// Sets the time until which this process is on the side of a majority of the run (Cluster::leased_until). After that
  /// the node replies to no get and acknowledges no write.
  void set_run_lease(double until) { run_lease_ = until; }
  bool run_leased() const { return run_lease_ > now(); }
  /// This node owns the place by the ring, so it will lead there.
  bool will_lead(RingId place) const { return !leaving_ && parts_.overlay.near().owns(place); }

  Status on_query(const Frame& frame);
  Status on_claim(const Frame& frame);
  Status on_adopt(const Frame& frame);
  Status on_settle(const Frame& frame);
  Status on_renew(const Frame& frame);
  void lose_process(ProcessId process);
  /// The node has replied in the current attempt that it is no peer, so it has no replicas.
  void lose_node(NodeId node) { departed_.insert(node); }
  /// Does the due work; returns the time of the next call.
  double tick();

 private:
  struct Contact {
    Peer peer;
    enum class Vote { none, silent, refused, yes } vote = Vote::none;
    std::vector<KeyRange> ranges;
    bool consent_requested = false;
    bool consents = false;
  };
  struct Attempt {
    Arc arc;
    std::vector<Peer> members;
    GroupTerm term;
    RangeMap known;
    std::map<NodeId, Contact> contacts;
    size_t open = 0;
    bool claiming = false;
    bool all_queried = false;
    bool all_replied = false;  // all workers of the run that may be peers have replied
  };
  using AttemptPtr =
      std::shared_ptr<Attempt>;  // shared by its pending requests, whose replies are ignored once it is replaced

  double now() const { return parts_.calls.now(); }
  const Peer& self() const { return parts_.overlay.self(); }
  std::pair<Arc, std::vector<Peer>> wanted() const;
  bool satisfied(const Arc& arc, const std::vector<Peer>& members) const;
  bool too_early(const Arc& arc) const;
  bool failed_or_departed(const Peer& peer) const;
  bool lost(ProcessId process) const;
  bool leader_is_live(const KeyRange& range) const;

  // Own attempts to lead.
  void begin(const Arc& arc, const std::vector<Peer>& members);
  void learn(Attempt& attempt, const std::vector<KeyRange>& ranges);
  void query(const AttemptPtr& attempt, size_t reach);
  void queried(const AttemptPtr& attempt);
  void claim(const AttemptPtr& attempt);
  void request_promises(const AttemptPtr& attempt);
  void send_claims(const AttemptPtr& attempt, const std::map<NodeId, Peer>& peers, bool consent);
  void on_promise(const AttemptPtr& attempt, NodeId node, bool consent, const Frame* frame);
  void promised(const AttemptPtr& attempt);
  bool has_majority(const Attempt& attempt, const KeyGroup& group, Contact::Vote vote) const;
  std::optional<Peer> source(const Attempt& attempt, const KeyRange& piece) const;
  bool overtaken(const Attempt& attempt);
  bool all_replicas_lost(const Attempt& attempt, const KeyRange& piece) const;
  void adopt(const AttemptPtr& attempt);
  void send_adopt(const AttemptPtr& attempt, const Peer& peer, const Adopt& message);
  void adopted(const AttemptPtr& attempt, const Adopt& message);
  void settle(const AttemptPtr& attempt, const Adopt& message);
  void retry(const AttemptPtr& attempt, double seconds);
  void finish_adopting(const Frame& frame, const Adopt& message, bool synced);
  void renew();
  void notify_watcher(const KeyRange& range);
  void stop_draining();
  void tidy();
  void drop_strays();
  void drop_if_later(const Arc& arc, const KeyGroup& group);

  Parts parts_;
  uint32_t copies_;
  Rng rng_;
  std::function<void()> progress_;
  bool leaving_ = false;
  AttemptPtr attempt_;
  std::optional<std::pair<Arc, std::vector<Peer>>> target_;
  double target_since_ = 0;
  double target_arc_since_ = 0;  // last change of the target's arc
  double next_try_ = 0;
  bool failed_ = false;          // the last attempt failed, so the next attempt queries other nodes
  double bootstrapped_at_ = -1;  // when the founders were set
  struct Silence {
    double since = 0;
    double last = 0;
  };
  std::map<NodeId, Silence> silent_;         // nodes that do not reply to claims
  std::map<NodeId, double> excluded_until_;  // members left out of new groups
  std::unordered_set<ProcessId> lost_;
  std::unordered_set<NodeId> departed_;
  std::function<std::vector<Peer>()> all_workers_;
  double run_lease_ = kForever;
  std::vector<ProcessId> live_;          // at the start
  std::map<GroupTerm, double> granted_;  // when this node last confirmed the leader of each term
  std::map<NodeId, double> renewed_;     // members: when they last confirmed this leader
  double next_renewal_ = 0;
  std::pair<GroupTerm, NodeId> watcher_;  // the next node on the ring, which this node has sent its group
  double next_tidy_ = 0;
  bool strays_ = false;                              // the table may contain keys outside of all ranges
  std::optional<double> draining_;                   // since when new writes wait for a takeover by another node
  std::set<std::pair<GroupTerm, NodeId>> adopting_;  // groups whose keys this node copies, and their proposers
  bool deposed_ = false;                             // this node leads its group no longer, until it leads a new group
};

}  // namespace actorhost
