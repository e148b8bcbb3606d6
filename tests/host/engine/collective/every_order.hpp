#pragma once
// Ranks that make the same calls one after the other, driven through every order in which frames, news of losses and
// the losses themselves can come: CollectiveCall, CallLedger and Arbiter as they are, and of Collectives what it does
// with them. Each rank is a process of its own. What one rank sends another keeps its order, apart for nodes and
// arbiters.
//
// A state is what each rank has seen in which order, so two orders that no rank can tell apart are one state. States
// are made again by replaying the events that lead there.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "host/engine/collective/arbiter.hpp"
#include "host/engine/collective/call.hpp"

namespace actorhost::test {

struct OrderPlan {
  CollectiveKind kind = CollectiveKind::allreduce;
  Algorithm algorithm = Algorithm::automatic;
  uint32_t ranks = 3;
  uint32_t rounds = 2;  // calls that have to work; one that fails is made again
  uint32_t losses = 1;  // at most
};

/// What can happen next.
struct OrderEvent {
  enum class Kind : uint8_t { frame, arbiter_frame, news, loss };
  Kind kind = Kind::frame;
  uint32_t rank = 0;  // the rank to which it happens
  uint32_t from = 0;
};

class OrderWorld {
 public:
  explicit OrderWorld(const OrderPlan& plan);

  std::vector<OrderEvent> events() const;
  void happen(const OrderEvent& event);
  uint64_t state() const;
  uint64_t state_after(const OrderEvent& event) const;
  /// What is wrong; empty while nothing is. `last`: nothing can happen any more.
  std::string fault(bool last) const;

 private:
  struct Rank {
    std::unique_ptr<Arbiter> arbiter;
    std::unique_ptr<CollectiveCall> call;
    std::deque<Frame> kept{};
    uint64_t epoch = 1;
    uint32_t number = 0;
    uint32_t round = 1;
    uint64_t caught_up = 0;  // an epoch that it has to know before its next call
    bool told = true;        // of all losses that it knew of at its last call
    std::vector<NodeId> last{};
    std::vector<std::string> outcomes{};
    uint64_t history = 0;
    bool lost = false;
  };

  static uint64_t mixed(uint64_t history, const OrderEvent& event);
  uint64_t state_of(const OrderEvent* next) const;
  CallSpec spec_of(const Rank& rank, uint32_t place, uint32_t members) const;
  std::string result_text(const Rank& rank, CallResult& result) const;
  void begin(uint32_t who);
  void advance(uint32_t who);
  void give(uint32_t who, Frame&& frame);
  void learn(uint32_t who);

  const OrderPlan plan_;
  std::vector<MembershipPtr> memberships_;  // by epoch
  std::vector<Rank> ranks_;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<Frame>> frames_;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<std::function<void()>>> arbiter_frames_;
  std::string fault_;
};

struct OrderReport {
  size_t states = 0;
  bool whole = true;  // every state has been seen
  std::string fault;  // of the first order that went wrong, with the events that led there
};
/// Up to `most` states, chosen by the seed where there are more.
OrderReport try_every_order(const OrderPlan& plan, size_t most, uint64_t seed);

}  // namespace actorhost::test
