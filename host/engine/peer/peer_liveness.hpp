#pragma once
// A node's evidence of which other nodes are live: failures, departures, unanswered claims, and leases. A leader
// replies only while it has a lease: a majority of its group has recently confirmed it. A member grants the lease with
// its confirmation, and joins no other group before the lease has expired. Passive; PeerKeys owns it.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "host/base/clock.hpp"
#include "host/engine/peer/key_groups.hpp"

namespace actorhost {

/// Dead-peer timeout in seconds: a node that has not replied for this long counts as failed. A node cannot distinguish
/// a failure from a partition. In a shorter partition a minority takes over no keys of a group mostly on the other
/// side.
inline constexpr double kUnresponsiveMajority = 45;

class PeerLiveness {
 public:
  // ---- the run ----

  /// The live processes in the order of their numbers; lose_process reports later failures.
  void set_live(std::vector<ProcessId> processes) { live_ = std::move(processes); }
  void lose_process(ProcessId process) { lost_.insert(process); }
  /// Process numbers increase: a missing process with a lower number than a live one has failed.
  bool lost(ProcessId process) const {
    if (lost_.contains(process)) return true;
    return !live_.empty() && process < live_.back() && !std::binary_search(live_.begin(), live_.end(), process);
  }
  /// Until when this process is on the side of a majority of the run (Cluster::leased_until). After that the node
  /// replies to no get and acknowledges no write.
  void set_run_lease(double until) { run_lease_ = until; }
  bool run_leased(double now) const { return run_lease_ > now; }
  /// Sets a callback that returns all workers of the run that may be peers, if the run has a membership table. Once all
  /// of them have replied, no other node can have a replica.
  void set_all_workers(std::function<std::vector<Peer>()> all_workers) { all_workers_ = std::move(all_workers); }
  /// nullopt: the run has no membership table.
  std::optional<std::vector<Peer>> all_workers() const {
    return all_workers_ ? std::optional(all_workers_()) : std::nullopt;
  }

  // ---- nodes ----

  /// The node has replied that it is no peer: it has no replicas.
  void lose_node(NodeId node) { departed_.insert(node); }
  void forget_departed() { departed_.clear(); }
  /// Returns whether this reply ends an exclusion. It ends one exclusion in kExclusion seconds: a node may reply to
  /// claims and to nothing else.
  bool reply_to_claim(NodeId node, double now) {
    silent_.erase(node);
    departed_.erase(node);
    const auto excluded = excluded_until_.find(node);
    if (excluded == excluded_until_.end() || excluded->second < now) return false;
    const auto readmitted = readmitted_.find(node);
    if (readmitted != readmitted_.end() && now - readmitted->second < kExclusion) return false;
    readmitted_[node] = now;
    excluded_until_.erase(excluded);
    return true;
  }
  /// The node has not replied to a claim.
  void miss_claim(NodeId node, double now) {
    Silence& silence = silent_.try_emplace(node, Silence{now, now}).first->second;
    if (now - silence.last > kForgetSilence) silence.since = now;
    silence.last = now;
  }
  bool failed_or_departed(const Peer& peer) const {
    if (lost(peer.process) || departed_.contains(peer.node)) return true;
    const auto silent = silent_.find(peer.node);
    return silent != silent_.end() && silent->second.last - silent->second.since > kUnresponsiveMajority;
  }
  /// Leaves the node out of new groups for some time.
  void exclude(NodeId node, double now) { excluded_until_[node] = now + kExclusion; }
  bool usable(const Peer& peer, double now) const {
    const auto excluded = excluded_until_.find(peer.node);
    return (excluded == excluded_until_.end() || excluded->second < now) && !lost(peer.process);
  }

  // ---- leases ----

  /// The member has confirmed this leader in its reply to a message sent at this time.
  void confirm(NodeId member, double sent) { confirmed_[member] = sent; }
  /// Until when the node may reply from its own replica as the leader of this group.
  double leased_until(const KeyGroup& group, NodeId self) const {
    std::vector<double> until;
    for (const Peer& member : group.members) {
      const auto confirmed = confirmed_.find(member.node);
      const double theirs = confirmed != confirmed_.end() ? confirmed->second + kLease : 0;
      until.push_back(member.node == self ? kForever : theirs);
    }
    // The time until which a majority of the members has confirmed the leader.
    std::sort(until.begin(), until.end(), std::greater<>());
    return std::min(until[until.size() / 2], run_lease_);
  }
  /// Confirms the leader of this term.
  void grant(const GroupTerm& term, double now) { granted_[term] = now; }
  bool granted(const GroupTerm& term) const { return granted_.contains(term); }
  void forget_grants(double before) {
    std::erase_if(granted_, [&](const auto& grant) { return grant.second < before; });
  }
  bool leader_is_live(const KeyGroup& group, double now) const {
    const auto granted = granted_.find(group.term);
    return !lost(group.leader().process) && granted != granted_.end() && now < granted->second + kGrantedLease;
  }

 private:
  static constexpr double kForgetSilence = 10;  // between two unanswered claims: the node may have been live meanwhile
  static constexpr double kExclusion = 5;       // before a failed member is chosen again
  static constexpr double kLease = 1.5;         // of a leader, from the sending of the renewal
  static constexpr double kGrantedLease = 1.8;  // granted by a member, from the arrival of the renewal
  struct Silence {
    double since = 0;
    double last = 0;
  };

  std::vector<ProcessId> live_;  // at the start
  std::unordered_set<ProcessId> lost_;
  double run_lease_ = kForever;
  std::function<std::vector<Peer>()> all_workers_;
  std::unordered_set<NodeId> departed_;      // since the current attempt to lead began
  std::map<NodeId, Silence> silent_;         // nodes that do not reply to claims
  std::map<NodeId, double> excluded_until_;  // members left out of new groups
  std::map<NodeId, double> readmitted_;      // when a reply has ended their exclusion
  std::map<NodeId, double> confirmed_;       // members: when they last confirmed this leader
  std::map<GroupTerm, double> granted_;      // the last confirmation of each term's leader
};

}  // namespace actorhost
