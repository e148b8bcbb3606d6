#pragma once
// Peers that decide by the smallest clock, which a binary tree over the live nodes carries: whenever the minimum of a
// subtree rises, a message takes it one hop up; whenever the root's rises, messages take it down to all nodes. What a
// node believes is old, and an older minimum is smaller, so a bound on the spread holds whatever the delays are. A
// completed step costs O(1) unless it raises a minimum; then it costs a message for each hop.
//
// Nodes sit in the tree in the order in which they came. When one goes, the last node takes its place. To keep beliefs
// below the truth, that node's new ancestors learn of its clock at once (a message each is counted) before its old
// ancestors forget it. A joiner starts at the minimum that its parent has reported, and asks before its first step. So
// no minimum ever falls.

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
    int32_t reported;  // minimum of its subtree, as it has sent it
    int32_t believed;  // by its parent: reported before
  };
  struct Node {
    uint32_t place;
    int32_t known;     // minimum of all, as it has heard it
    double wakes = 0;  // an earlier wake-up is out of date
  };

  static uint32_t parent(uint32_t place) noexcept { return (place - 1) / 2; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(places_.size()); }
  int32_t minimum(uint32_t place) const;
  void rise(uint32_t place, double now);
  void report(uint32_t place, double now);
  void include(uint32_t place);
  void learn(uint32_t place, int32_t value, double now);
  void tell(uint32_t place, int32_t value, double now);
  void take_over(uint32_t place, double now);
  void decide(NodeId id, double now);

  std::vector<Place> places_;
  uint32_t life_ = 0;  // how often all nodes have gone: messages of an earlier life are not for nodes that came since
  std::vector<Node> nodes_;  // by id
};

}  // namespace actorhost
