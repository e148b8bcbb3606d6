#pragma once
// pbsp and pssp whose waiters keep their sample (`sticky`) or draw every so many seconds (`poll`). While no node leaves
// they draw the very samples that Sampler draws for the same seed, so their decisions are those of the rule in Lua.

#include <vector>

#include "host/base/random.hpp"
#include "host/sim/admission.hpp"
#include "host/sim/event_queue.hpp"

namespace actorhost {

/// Draws samples of the live nodes, each asker from its own stream.
class SampleStreams {
 public:
  SampleStreams(const Clocks& clocks, uint32_t beta, uint64_t seed) : clocks_(clocks), beta_(beta), seed_(seed) {}
  /// Different nodes, as many as the sample has or as there are.
  void draw(NodeId asker, std::vector<NodeId>& out);
  /// A live node that is not in `members`, to replace one that left; false when there is none.
  bool draw_other(NodeId asker, const std::vector<NodeId>& members, NodeId& out);
  uint32_t beta() const noexcept { return beta_; }

 private:
  Rng& stream(NodeId asker);

  const Clocks& clocks_;
  uint32_t beta_;
  uint64_t seed_;
  std::vector<Rng> streams_;
  std::vector<uint32_t> permutation_;  // the identity between draws
};

/// Each waiter is listed at one member of its sample that is behind, and is looked at again only when that member has
/// come far enough: O(1) an event beside the O(beta) of each pass.
class StickyAdmission final : public Admission {
 public:
  StickyAdmission(const Clocks& clocks, uint32_t beta, int32_t staleness, uint64_t seed)
      : Admission(clocks), staleness_(staleness), streams_(clocks, beta, seed) {}

  void joined(NodeId id) override;
  void left(NodeId id) override;
  void completed(NodeId id, double now) override;
  Status decide(double now, std::vector<NodeId>& passed) override;

 private:
  struct Waiter {
    std::vector<NodeId> members;
    uint64_t ticket = 0;  // 0: it does not wait
  };

  bool hang(NodeId id);
  void replace(NodeId gone, NodeId asker);

  int32_t staleness_;
  SampleStreams streams_;
  std::vector<Waiter> waiters_;               // by id
  std::vector<std::vector<NodeId>> hanging_;  // by id: the waiters that are listed at it
  std::vector<NodeId> ready_;
  bool changed_ = false;
  uint64_t tickets_ = 0;
};

class PollAdmission final : public Admission {
 public:
  PollAdmission(const Clocks& clocks, uint32_t beta, int32_t staleness, double seconds, uint64_t seed)
      : Admission(clocks), staleness_(staleness), seconds_(seconds), streams_(clocks, beta, seed) {}

  void joined(NodeId id) override;
  void left(NodeId id) override;
  void completed(NodeId id, double now) override;
  Status decide(double now, std::vector<NodeId>& passed) override;
  double next_time() override { return polls_.next_time(); }

 private:
  bool passes(NodeId id);

  int32_t staleness_;
  double seconds_;
  SampleStreams streams_;
  EventQueue polls_;
  std::vector<uint8_t> waits_;  // by id
  std::vector<NodeId> sample_;
};

}  // namespace actorhost
