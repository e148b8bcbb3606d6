#pragma once
// Protocol of peers that decide from the minimum clock. A binary aggregation tree over the live nodes carries the
// minimum. When the minimum of a subtree rises, a message carries it one hop up; when the root's minimum rises,
// messages carry it down to all nodes. A node's known minimum is old, and an older minimum is smaller, so a bound on
// the spread holds for all delays. A completed step costs O(1), or one message for each hop if it raises a minimum.
//
// Nodes are in the tree in the order in which they joined. When a node leaves, the last node takes its place. The new
// ancestors of that last node learn its clock at once (one counted message each), before its old ancestors forget it.
// A late joiner starts at the minimum that its parent has reported, and needs permission for its first step. So no
// minimum ever decreases, and no known minimum exceeds the true minimum.

#include <vector>

#include "host/sim/peer_world.hpp"

namespace actorhost {

class PeerTree final : public PeerProtocol {
 public:
  explicit PeerTree(PeerWorld& world) : PeerProtocol(world) {}

  int32_t first_step() const override;
  void joined(NodeId id, double now, bool later) override;
  void begins(NodeId id, double now) override;
  void completed(NodeId id, double now) override;
  void woken(NodeId id, double now) override;
  void arrived(const PeerMessage& message, double now) override;
  void left(NodeId id, double now) override;

 private:
  struct Place {
    NodeId node;
    int32_t reported;  // minimum of its subtree, as last sent to its parent
    int32_t received;  // `reported` as last received by its parent
  };
  struct Node {
    uint32_t place;
    int32_t known;       // the last received minimum of the whole tree
    double wake_at = 0;  // the valid wake-up; earlier wake-ups are ignored
  };

  static uint32_t parent(uint32_t place) noexcept { return (place - 1) / 2; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(places_.size()); }
  int32_t minimum(uint32_t place) const;
  void update_minimum(uint32_t place, double now);
  void report(uint32_t place, double now);
  void include(uint32_t place);
  void receive_minimum(uint32_t place, int32_t value, double now);
  void send_minimum(uint32_t place, int32_t value, double now);
  void take_over(uint32_t place, double now);
  void decide(NodeId id, double now);

  std::vector<Place> places_;
  uint32_t generation_ = 0;  // times that the tree became empty; the tree ignores messages of an earlier generation
  std::vector<Node> nodes_;  // by id
};

}  // namespace actorhost
