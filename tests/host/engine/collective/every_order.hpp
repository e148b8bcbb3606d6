#pragma once
// Drives ranks that make the same consecutive calls through every order of frames, notices of losses, and losses. Uses
// the real CollectiveCall, CallLedger and Arbiter, and imitates their use by Collectives. Each rank is a separate
// process. Messages between two ranks keep their order, separately for nodes and arbiters.
//
// A state consists of the ordered events of each rank, so two orders that no rank can distinguish are one state. The
// search reaches a state again by replaying its events.

#include <deque>
#include <unordered_set>

#include "host/engine/collective/arbiter.hpp"
#include "host/engine/collective/call.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

struct OrderPlan {
  CollectiveKind kind = CollectiveKind::allreduce;
  Algorithm algorithm = Algorithm::automatic;
  uint32_t ranks = 3;
  uint32_t rounds = 2;  // calls that must succeed; a failed call is repeated
  uint32_t losses = 1;  // upper limit
};

/// A possible next event.
struct OrderEvent {
  enum class Kind : uint8_t { frame, arbiter_frame, membership, query, loss };
  Kind kind = Kind::frame;
  uint32_t rank = 0;  // the affected rank
  uint32_t from = 0;
};

class OrderWorld {
 public:
  explicit OrderWorld(const OrderPlan& plan);

  std::vector<OrderEvent> events() const;
  void happen(const OrderEvent& event);
  uint64_t state() const;
  uint64_t state_after(const OrderEvent& event) const;
  /// A description of the fault, or empty. `last`: no event is possible any more.
  std::string fault(bool last) const;

 private:
  struct Rank {
    std::unique_ptr<Arbiter> arbiter;
    std::unique_ptr<CollectiveCall> call;
    std::deque<Frame> early{};
    uint64_t epoch = 1;
    uint32_t number = 0;
    uint32_t round = 1;
    uint64_t caught_up = 0;  // an epoch that the rank must know before its next call
    std::vector<NodeId> last{};
    std::vector<std::string> outcomes{};
    uint32_t queried = 0;  // the last call for which the rank has queried the missing ranks
    uint64_t history = 0;
    bool lost = false;
  };

  static uint64_t mixed(uint64_t history, const OrderEvent& event);
  uint64_t state_of(const OrderEvent* next) const;
  CallSpec spec_of(const Rank& rank, uint32_t place, uint32_t members) const;
  std::string result_text(const Rank& rank, CallResult& result) const;
  void begin(uint32_t rank_id);
  void advance(uint32_t rank_id);
  void deliver_frame(uint32_t rank_id, Frame&& frame);
  void learn(uint32_t rank_id);

  const OrderPlan plan_;
  std::vector<MembershipPtr> memberships_;  // by epoch
  std::vector<Rank> ranks_;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<Frame>> frames_;  // by sender and receiver
  std::map<std::pair<uint32_t, uint32_t>, std::deque<std::function<void()>>> arbiter_frames_;
  std::string fault_;
};

struct OrderReport {
  size_t states = 0;
  bool whole = true;  // every state was reached
  std::string fault;  // of the first faulty order, with its events
};
/// Explores up to `most` states, chosen by the seed if there are more.
OrderReport try_every_order(const OrderPlan& plan, size_t most, uint64_t seed);

}  // namespace actorhost::test
