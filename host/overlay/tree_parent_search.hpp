#pragma once
// Finds a node's right parent in the aggregation tree, moves the node to this parent, and falls back to another parent
// when a parent fails. Passive; the tree owns it.

#include <functional>
#include <optional>

#include "host/overlay/finder.hpp"
#include "host/overlay/tree_parents.hpp"

namespace actorhost {

class TreeParentSearch {
 public:
  TreeParentSearch(PeerCalls& calls, const Neighbourhood& near, Finder& finder, TreeParents& parents)
      : calls_(calls), near_(near), finder_(finder), parents_(parents) {}

  /// The right parent, as far as known.
  std::optional<NodeId> target() const noexcept { return target_; }
  bool is_target(NodeId node) const noexcept { return target_ == node; }
  /// The parent that includes this node with all reports up to `settled`: the right parent if possible.
  const TreeParents::Parent* inside(uint64_t settled) const;
  /// The key that the right parent owns.
  RingId key() const noexcept { return key_; }
  /// The next time at which the right parent is looked up.
  double next_time() const noexcept { return next_seek_; }

  /// Looks for the right parent, if it is time. The owner of key 0 has none.
  void seek();
  /// The right parent may have changed: looks it up soon.
  void seek_soon();
  /// Leaves unneeded parents, and parents after a long silence. Children rely on the report `settled`. A root needs no
  /// parent.
  void check(uint64_t settled, bool is_root);
  void detach_all();
  /// The node has taken another id.
  void restart();

 private:
  RingId parent_key() const noexcept;
  void adopt(const Peer& owner);
  void detach(NodeId node);
  void fall_back();

  PeerCalls& calls_;
  const Neighbourhood& near_;
  Finder& finder_;
  TreeParents& parents_;
  std::optional<NodeId> target_;
  RingId key_ = 0;
  double next_seek_ = 0;
  double next_fall_back_ = 0;
  uint32_t lookup_ = 0;  // the lookup in flight, 0: none
  uint32_t lookups_ = 0;
};

}  // namespace actorhost
