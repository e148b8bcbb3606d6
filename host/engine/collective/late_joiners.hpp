#pragma once
// How late workers are admitted to the collectives of all workers. The current rank 0 receives the `join` frames and
// decides in its own join_point which workers are admitted. Collectives owns it; on the node's thread.

#include <set>
#include <string>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/engine/collective/collective_messages.hpp"

namespace actorhost {

class LateJoiners {
 public:
  explicit LateJoiners(Node& node) : node_(node), joined_(node.membership().founders()) {}

  /// All workers with lower ids take part in the calls of all workers.
  NodeId joined() const noexcept { return joined_; }
  void raise(NodeId joined) noexcept { joined_ = std::max(joined_, joined); }
  /// This worker is late and has not been admitted.
  bool awaits_admission() const noexcept { return node_.role() == Role::worker && node_.index() >= joined_; }

  /// On a late worker: blocks until another worker's join_point admits it. `waits` numbers the waits of the node.
  Result<JoinPoint> await_admission(uint32_t& waits);
  /// On the leader: the waiting late workers that its join_point admits.
  Result<std::vector<NodeId>> collect();
  /// The join_point has admitted workers.
  void admit(const JoinPoint& point);

 private:
  Status check_for_end(uint32_t wait, const std::string& subject, bool& ended_before);

  Node& node_;
  NodeId joined_;
  std::set<NodeId> joiners_;  // on the leader: late workers waiting for admission
};

}  // namespace actorhost
