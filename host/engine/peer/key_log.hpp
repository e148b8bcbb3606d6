#pragma once
// Writes of a group: its leader numbers them and sends them to all members, each of which makes them in that order. A
// write is over when all have it. Passive.

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "host/engine/peer/key_table.hpp"
#include "host/engine/peer/peer_calls.hpp"

namespace actorhost {

class KeyLog {
 public:
  /// `made` is false when it is not known whether the write lasts: it has to be asked for again.
  using OnOver = std::function<void(bool made)>;

  KeyLog(PeerCalls& calls, KeyTable& table, RangeMap& ranges) : calls_(calls), table_(table), ranges_(ranges) {}

  // ---- the leader ----

  /// The group in whose name writes are made from now on.
  void lead(const KeyGroup& group);
  /// What is under way is over: another group follows, which may have it or not.
  void abandon();
  /// Makes the write, which KeyTable::check has approved of, and sends it to the others. `over` is called when all have
  /// it, at once where there is none.
  void append(KeyOperation&& operation, OnOver over);
  const GroupTerm& term() const noexcept { return group_.term; }
  bool drained() const noexcept { return writes_.empty(); }
  /// Whether a write under way changes the key.
  bool touches(const ParamKey& key) const;
  /// A member that has not answered for a while, or follows another group for some keys.
  std::optional<NodeId> stuck() const noexcept { return stuck_; }
  /// The members that have not acknowledged the oldest write under way.
  std::vector<NodeId> missing() const;
  void on_written(const Written& written);
  /// Spread values that keys have no longer, as all members know, since the last call.
  std::vector<KeyTable::Dropped> take_dropped() { return std::exchange(dropped_, {}); }

  // ---- a member ----

  /// It has the keys as of the group's begin.
  void follow(const GroupTerm& term) { next_.try_emplace(term, 1); }
  Status on_write(Frame&& frame);

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
    int sent = 0;
    double due = 0;
    OnOver over;
  };
  void send(Pending& pending);
  void finish(Pending&& pending);
  void finish_over();
  double patience(const Pending& pending) const;
  bool make(KeyWrite&& write, std::vector<ParamEntry>&& entries, const GroupTerm& term);

  PeerCalls& calls_;
  KeyTable& table_;
  RangeMap& ranges_;
  KeyGroup group_;
  uint64_t made_ = 0;
  std::deque<Pending> writes_;
  std::optional<NodeId> stuck_;
  uint32_t tag_ = 0;
  std::vector<KeyTable::Dropped> dropped_;
  std::map<GroupTerm, uint64_t> next_;  // of the groups that this node follows
  std::map<std::pair<NodeId, uint32_t>, std::vector<ParamEntry>> collecting_;
};

}  // namespace actorhost
