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

}  // namespace actorhost::test
