// Ranks agree on the end of a call: for all losses and all orders of frames and notices, all surviving ranks see the
// same end of each call, and none waits forever.

#include "tests/host/engine/collective/every_order.hpp"

#include <catch.hpp>

#include "tests/test.hpp"

namespace {

/// The largest number of explored states per plan; ACTORHOST_TEST_STATES sets another number, 0 explores all.
size_t most_states() {
  const char* most = std::getenv("ACTORHOST_TEST_STATES");
  const size_t states = most == nullptr ? 20000 : std::strtoull(most, nullptr, 10);
  return states == 0 ? SIZE_MAX : states;
}

void check(const OrderPlan& plan) {
  const OrderReport report = try_every_order(plan, most_states(), 16);
  INFO("kind " << static_cast<int>(plan.kind) << " by " << algorithm_name(plan.algorithm) << ", " << plan.ranks
               << " ranks, up to " << plan.losses << " losses: " << report.states << " states"
               << (report.whole ? ", all" : ""));
  CHECK(report.fault == "");
  if (std::getenv("ACTORHOST_TEST_STATES") != nullptr)
    WARN(report.states << (report.whole ? " states, all" : " states"));
}

}  // namespace

TEST_CASE("in every order of frames and losses all survivors see the same end of every call", "[deep]") {
  for (const uint32_t ranks : {2U, 3U, 4U}) {
    for (uint32_t losses = 1; losses < ranks; ++losses) {
      check({CollectiveKind::allreduce, Algorithm::automatic, ranks, 2, losses});
      check({CollectiveKind::exchange, Algorithm::star, ranks, 2, losses});
      check({CollectiveKind::allreduce, Algorithm::ring, ranks, 2, losses});
      check({CollectiveKind::broadcast, Algorithm::automatic, ranks, 2, losses});
    }
  }
}

// Rank 1 misses the failures of two calls, and leads the second of them after the loss of rank 0.
TEST_CASE("a rank that leads a call which has ended for the other ranks learns the end") {
  OrderWorld world({CollectiveKind::allreduce, Algorithm::automatic, 5, 2, 3});
  const auto finish = [&world](bool without_rank_1) {
    for (;;) {
      const std::vector<OrderEvent> events = world.events();
      const auto next = std::find_if(events.begin(), events.end(), [&](const OrderEvent& event) {
        return event.kind != OrderEvent::Kind::loss && !(without_rank_1 && event.rank == 1);
      });
      if (next == events.end()) return;
      world.happen(*next);
    }
  };
  for (const uint32_t lost : {4U, 2U, 0U}) {
    finish(true);
    world.happen({OrderEvent::Kind::loss, lost, 0});
  }
  for (int epoch = 2; epoch <= 4; ++epoch) world.happen({OrderEvent::Kind::membership, 1, 0});  // before all frames
  finish(false);
  CHECK(world.fault(true) == "");
}
