#pragma once
// A node's role in the aggregation tree: whether it is the root, and which root it knows. The owner of key 0 should be
// the root. Passive; the tree owns it.
//
//   role      becomes   when
//   member    root      the node owns key 0, and the ring is new, or a resigned root has handed over its token, or no
//                       node can rely on the old root any more: it has been silent for kTreeRetention
//   root      resigned  another node owns key 0 and has no root yet: the children rely on this node's old results
//   root      member    another node owns key 0 and has a root, or this node was suspended for longer than a lease
//   resigned  member    a parent has included the node, or kTreeLease has passed
//
// A token is the right to become the root at once. It travels with the reports towards the owner of key 0.

#include <optional>

#include "host/base/clock.hpp"
#include "host/overlay/tree_parents.hpp"

namespace actorhost {

class TreeRole {
 public:
  bool is_root() const noexcept { return role_ == Role::root; }
  bool owns_root_key() const noexcept { return owns_root_key_; }
  bool has_seen_root() const noexcept { return root_seen_ != -kForever; }
  /// Until when children rely on the old results of this resigned root; 0 in the other roles.
  double resigned_until() const noexcept { return role_ == Role::resigned ? resigned_until_ : 0; }
  /// The term of the latest known root. Each root has its own term, and later roots have greater terms.
  uint64_t term() const noexcept { return term_; }
  /// The next time at which this node may become the root.
  double next_time(double now) const noexcept;

  /// Whether this node becomes the root at once if it owns key 0 and has seen no root.
  void set_founder(bool founder) noexcept { founder_ = founder; }
  void take(const TreeReport& report, double now);
  void take(const TreeResult& result, double now);
  /// Whether this node owns key 0. Call it before the next four functions.
  void set_owns_root_key(bool owns, double now);
  /// `parent`: this node's parent if it were not the root.
  bool must_resign(const TreeParents::Parent& parent) const noexcept;
  /// Hands over the token to the node `to`. `until`: when children stop relying on this node's old results.
  void resign(std::optional<NodeId> to, double until);
  /// If this node should become the root now: the minimum with which it starts. `inside`: it relies on another root.
  std::optional<uint64_t> succession(const TreeChildren& children, bool inside, double now) const;
  void become_root(NodeId self);
  /// A parent has included this node.
  void follow() noexcept {
    if (!is_root()) role_ = Role::member;
  }
  /// The node was suspended. Others may have another root. Returns whether this node must resign.
  bool resume(double now);
  /// The node has taken another id.
  void restart() noexcept;

  /// The term of a resigned root to hand over to this parent, or 0. Only one node receives the token: two receivers
  /// would both become the root.
  uint64_t hand_over(NodeId parent, std::optional<NodeId> target, double now);
  /// The same in the last report of a leaving node.
  uint64_t hand_over_all(double now) const noexcept;
  /// The greatest minimum that this node knows, with that of the token. `least`: without it.
  uint64_t known(uint64_t least, double now) const noexcept;

 private:
  enum class Role : uint8_t { member, root, resigned };
  struct Token {
    double until = 0;    // expiry
    uint64_t known = 0;  // the minimum that the resigned root announced
    NodeId from = 0;     // the sender
    uint64_t term = 0;   // of the resigned root
  };

  Role role_ = Role::member;
  bool founder_ = true;
  bool owns_root_key_ = false;
  double owns_root_key_since_ = 0;
  double root_seen_ = -kForever;  // when a root was last known to exist
  double resigned_until_ = 0;
  uint64_t term_ = 0;
  uint64_t own_term_ = 0;  // the term of this node's last time as root
  Token token_;
  std::optional<NodeId> token_to_;  // the node that has received the token from this node
};

}  // namespace actorhost
