#pragma once
// Admission for pbsp and pssp. A waiter retains its sample (`sticky`) or draws a new sample every few seconds (`poll`).
// While no node leaves, the samples equal the samples that Sampler draws for the same seed, so the decisions equal the
// decisions of the Lua rule.

#include <vector>

#include "host/base/random.hpp"
#include "host/sim/admission.hpp"
#include "host/sim/event_queue.hpp"

namespace actorhost {

/// Draws samples of the live nodes. Each requester has its own random stream.
class SampleStreams {
 public:
  SampleStreams(const Clocks& clocks, uint32_t beta, uint64_t seed) : clocks_(clocks), beta_(beta), seed_(seed) {}
  /// Draws beta distinct nodes, or all live nodes if there are fewer.
  void draw(NodeId requester, std::vector<NodeId>& out);
  /// Draws a live node outside `members`, to replace a departed member; false when there is none.
  bool draw_other(NodeId requester, const std::vector<NodeId>& members, NodeId& out);
  uint32_t beta() const noexcept { return beta_; }

 private:
  Rng& stream(NodeId requester);

  const Clocks& clocks_;
  uint32_t beta_;
  uint64_t seed_;
  std::vector<Rng> streams_;
  std::vector<uint32_t> permutation_;  // the identity between draws
};

/// Lists each waiter at one slow member of its sample, and checks the waiter again only when that member completes a
/// step. O(1) an event, plus O(beta) for each pass.
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
    uint64_t ticket = 0;  // 0: not waiting
  };

  bool wait_for_member(NodeId id);
  void replace(NodeId departed, NodeId requester);

  int32_t staleness_;
  SampleStreams streams_;
  std::vector<Waiter> waiters_;                  // by id
  std::vector<std::vector<NodeId>> blocked_on_;  // by id: the waiters listed at that member
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
