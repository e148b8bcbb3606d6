#pragma once
// The replicated log of a group. The leader numbers the writes and sends them to all members, and each member applies
// them in order. A write is complete when all members have it.
//
// A large write passes along a chain: the leader sends it to one member, which sends it on to the next before it
// applies it (chain replication; van Renesse and Schneider, OSDI 2004). So no member sends a value twice, and members
// of one process share its bytes. Each member replies to the leader. Small writes go to all members at once, which
// saves hops. All pending writes take the same way, since a member drops a write that overtakes an earlier one. A
// resent write goes to each missing member directly. Passive; PeerKeys owns it.

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "host/engine/peer/key_table.hpp"
#include "host/engine/values/message_assembler.hpp"
#include "host/overlay/peer_calls.hpp"

namespace actorhost {

class KeyLog {
 public:
  /// `committed` is false if the write may be lost: the writer must send it again.
  using OnDone = std::function<void(bool committed)>;

  KeyLog(PeerCalls& calls, KeyTable& table, RangeMap& ranges) : calls_(calls), table_(table), ranges_(ranges) {}

  // ---- the leader ----

  /// Starts writing as the leader of this group.
  void lead(const KeyGroup& group);
  /// Ends all pending writes, because another group takes over, with or without them.
  void abandon();
  /// Applies the write, which KeyTable::check has approved, and sends it to the other members. Calls `done` when all
  /// have it, at once in a group of one.
  void append(KeyOperation&& operation, OnDone done);
  const GroupTerm& term() const noexcept { return group_.term; }
  /// The node must not write in this term any more: a member may lack a write, or has promised to join a later group.
  void depose() noexcept { deposed_ = true; }
  bool deposed() const noexcept { return deposed_; }
  bool drained() const noexcept { return writes_.empty(); }
  /// Whether a pending write changes the key.
  bool touches(const ParamKey& key) const;
  /// A member without a recent reply, or in a later group for some keys.
  std::optional<NodeId> stuck() const noexcept { return stuck_; }
  /// The members that have not acknowledged the oldest pending write.
  std::vector<NodeId> missing() const;
  void on_written(const Written& written);
  /// Split tensors replaced in all replicas since the last call.
  std::vector<KeyTable::Dropped> take_dropped() { return std::exchange(dropped_, {}); }

  // ---- a follower ----

  /// Called when this node has the keys as of the start of the group.
  void follow(const GroupTerm& term) { next_.try_emplace(term, 1); }
  Status on_write(Frame&& frame);
  /// Drops the half messages of lost peers.
  void forget(const LostPeer& lost) { messages_.forget(lost); }

  double tick();

 private:
  struct Pending {
    uint64_t index;
    KeyWrite write;
    std::vector<ParamEntry> entries;
    std::set<NodeId> missing;
    std::unordered_set<ParamKey> keys;
    std::vector<KeyTable::Dropped> dropped;
    size_t bytes = 0;
    bool chained = false;  // sent along the chain, and not resent since
    int sent = 0;
    double due = 0;
    OnDone done;
  };
  void send(Pending& pending);
  void send(Write&& head, const Peer& to, const std::vector<ParamEntry>& entries);
  void finish(Pending&& pending);
  void finish_acknowledged();
  double patience(const Pending& pending) const;
  bool apply(KeyWrite&& write, std::vector<ParamEntry>&& entries, const GroupTerm& term);

  PeerCalls& calls_;
  KeyTable& table_;
  RangeMap& ranges_;
  KeyGroup group_;
  std::vector<Peer> chain_;  // the other members; those of one process follow each other
  bool deposed_ = false;
  uint64_t last_index_ = 0;
  std::deque<Pending> writes_;
  std::optional<NodeId> stuck_;
  uint32_t tag_ = 0;
  std::vector<KeyTable::Dropped> dropped_;
  std::map<GroupTerm, uint64_t> next_;  // the next index of each group that this node follows
  MessageAssembler<Peer> messages_;
};

}  // namespace actorhost
