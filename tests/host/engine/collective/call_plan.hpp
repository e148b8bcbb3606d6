#pragma once
// A random call for tests of CollectiveCall: the input and the expected result of every rank.

#include "host/base/random.hpp"
#include "host/engine/collective/call.hpp"
#include "tests/host/engine/collective/collective_ranks.hpp"

namespace actorhost::test {

/// A call of a random run: identical on all ranks.
struct CallPlan {
  CollectiveKind kind;
  Algorithm algorithm;
  uint32_t root;
  size_t elements;
  std::vector<std::vector<float>> inputs;
};

inline CallPlan random_plan(Rng& rng, uint32_t ranks) {
  constexpr CollectiveKind kKinds[] = {CollectiveKind::barrier,        CollectiveKind::broadcast,
                                       CollectiveKind::reduce,         CollectiveKind::allreduce,
                                       CollectiveKind::reduce_scatter, CollectiveKind::exchange};
  CallPlan plan;
  plan.kind = kKinds[rng.below(6)];
  do {
    plan.algorithm = static_cast<Algorithm>(rng.below(9));
  } while (!algorithm_fits(plan.kind, plan.algorithm));
  plan.root = static_cast<uint32_t>(rng.below(ranks));
  constexpr size_t kSizes[] = {0, 1, 5, 1000, 5000, 70000};
  plan.elements = kSizes[rng.below(6)];
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    plan.inputs.emplace_back(plan.elements);
    for (float& value : plan.inputs.back()) value = static_cast<float>(rng.below(100));
  }
  return plan;
}

inline CallSpec spec_of(const CallPlan& plan, uint32_t me, uint32_t ranks) {
  CallSpec spec;
  spec.kind = plan.kind;
  spec.name = "call";
  spec.signature = "call of a plan";
  spec.where = "job.lua:" + std::to_string(me);
  spec.choice.forced = plan.algorithm;
  spec.root = plan.root;
  const Blob mine = bytes_of(plan.inputs[me]);
  spec.input = mine;
  if (plan.kind == CollectiveKind::broadcast && me == plan.root) spec.parcel = PackedValue{"x", mine};
  if (plan.kind == CollectiveKind::exchange) {
    spec.outgoing.assign(ranks, PackedValue{std::to_string(me), mine});
    spec.expected.assign(ranks, true);
  }
  return spec;
}

inline bool is_right(const CallPlan& plan, uint32_t me, uint32_t ranks, const CallResult& result) {
  const std::vector<float> total = folded(CollectiveOp::sum, plan.inputs);
  switch (plan.kind) {
    case CollectiveKind::barrier: return true;
    case CollectiveKind::broadcast: return values_of<float>(result.parcel.body) == plan.inputs[plan.root];
    case CollectiveKind::allreduce: return values_of<float>(result.buffer) == total;
    case CollectiveKind::reduce: return me != plan.root || values_of<float>(result.buffer) == total;
    case CollectiveKind::reduce_scatter: {
      const Span mine = block_of(plan.elements, ranks, me);
      return values_of<float>(result.buffer) ==
             std::vector<float>(total.begin() + static_cast<std::ptrdiff_t>(mine.begin),
                                total.begin() + static_cast<std::ptrdiff_t>(mine.end));
    }
    case CollectiveKind::exchange: break;
  }
  for (uint32_t from = 0; from < ranks; ++from) {
    const auto& parcel = result.received[from];
    if (!parcel || parcel->head != std::to_string(from)) return false;
    if (values_of<float>(parcel->body) != plan.inputs[from]) return false;
  }
  return true;
}

}  // namespace actorhost::test
