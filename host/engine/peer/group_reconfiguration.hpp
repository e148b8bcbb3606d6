#pragma once
// The reconfiguration (view change) of replica groups: makes a node the leader of the keys that it owns by its ring id,
// and replaces members. Joins, leaves, failures and repairs all use it. Starts an attempt to lead
// (reconfiguration_attempt.hpp) whenever the ring requires another group than the present one, replies to the attempts
// of other nodes, renews the lease of its group, and drops replicas of former groups. Passive; PeerKeys owns it.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "host/engine/peer/reconfiguration_attempt.hpp"

namespace actorhost {

class GroupReconfiguration {
 public:
  GroupReconfiguration(const GroupParts& parts, uint32_t copies)
      : parts_(parts), copies_(copies), rng_(parts.overlay.self().id) {}

  /// The nodes that the job started with, in any order. All nodes derive the same first groups from them without
  /// messages.
  void bootstrap(std::vector<Peer> founders);
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
  /// Whether the node may acknowledge writes (PeerLiveness::set_run_lease).
  bool run_leased() const { return parts_.liveness.run_leased(now()); }
  /// The node owns the place by the ring, so it will lead there.
  bool will_lead(RingId place) const { return !leaving_ && parts_.overlay.near().owns(place); }

  void on_query(const Frame& frame, const ArcQuery& query);
  void on_claim(const Frame& frame, const Claim& claim);
  void on_adopt(const Frame& frame, const Adopt& adopt);
  void on_settle(const Frame& frame, const Adopt& settle);
  void on_renew(const Frame& frame, const Renew& renew);
  double tick();

 private:
  double now() const { return parts_.calls.now(); }
  const Peer& self() const { return parts_.overlay.self(); }
  void update_wanted();
  bool satisfied() const;
  bool too_early() const;
  void end_attempt(std::optional<double> retry);
  void finish_adopting(const Frame& frame, const Adopt& message, bool synced);
  void renew();
  void notify_watcher();
  void tidy();
  void drop_strays();
  void drop_if_later(const Arc& arc, const KeyGroup& group);

  GroupParts parts_;
  uint32_t copies_;
  Rng rng_;
  std::function<void()> progress_;
  bool leaving_ = false;
  std::optional<WantedGroup> wanted_;
  std::shared_ptr<ReconfigurationAttempt> attempt_;  // shared with itself while it handles a reply
  double next_try_ = 0;                              // 0: no attempt has failed since the last one that succeeded
  double bootstrapped_at_ = -1;                      // when the founders were set
  double next_renewal_ = 0;
  std::pair<GroupTerm, NodeId> watcher_;  // the next node on the ring, which this node has sent its group
  double next_tidy_ = 0;
  bool strays_ = false;                              // the table may contain keys outside of all ranges
  std::optional<double> draining_;                   // since when new writes wait for a takeover
  std::set<std::pair<GroupTerm, NodeId>> adopting_;  // groups whose keys the node is copying, by their leaders
};

}  // namespace actorhost
