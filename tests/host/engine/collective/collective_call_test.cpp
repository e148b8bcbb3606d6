#include "host/engine/collective/call.hpp"
#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/host/engine/collective/call_plan.hpp"
#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/test.hpp"

namespace {

/// The call of rank `me` of three ranks. Its frames reach no rank.
std::unique_ptr<CollectiveCall> begin_without_peers(CallSpec spec, uint32_t me, CallLedger& ledger) {
  CallWiring wiring{.send = [](uint32_t, Kind, std::string_view, const Blob&) { return Status(); },
                    .returned = [] {},
                    .describe_loss = [] { return std::string(); },
                    .epoch = [] { return uint64_t{0}; },
                    .ledger = &ledger,
                    .appeal = [](const Error&) {}};
  ledger.enter({0, false, 1}, 0);
  wiring.key.number = 1;
  CallGroup group;
  group.me = me;
  group.members = 3;
  group.ids = group.ranks = {0, 1, 2};
  auto call = CollectiveCall::make(std::move(spec), std::move(group), std::move(wiring));
  REQUIRE(call->begin().ok());
  return call;
}

}  // namespace

TEST_CASE("a join_point message survives encoding, and hostile bytes are refused or harmless") {
  const JoinPoint good{7, 3, 2, 5, {0, 1, 4, 6}, 2};
  const auto copy = required(unpack<JoinPoint>(pack(good)));
  CHECK(pack(*copy) == pack(good));
  CHECK(copy->ids == good.ids);
  CHECK(copy->late == 2);
  CHECK_FALSE(unpack<JoinPoint>(pack(JoinPoint{7, 3, 2, 5, {0, 1}, 3})).ok());
  const uint64_t seed = 0x5eed02;
  INFO("seed " << seed);
  const size_t refused = feed_hostile(pack(good), seed, 3000, [](std::string_view bytes) {
    const auto point = unpack<JoinPoint>(bytes);
    if (point) REQUIRE(point->late <= point->ids.size());
    return point.ok();
  });
  CHECK(refused > 1000);
}

TEST_CASE("hostile frames end a call with an error, or have no effect") {
  Rng rng(11);
  const CallPlan plan{CollectiveKind::allreduce, Algorithm::ring, 0, 500,
                      std::vector<std::vector<float>>(3, std::vector<float>(500))};
  for (int round = 0; round < 20000; ++round) {
    CallLedger ledger;
    const auto me = static_cast<uint32_t>(rng.below(3));
    CallPlan kind = plan;
    kind.kind = static_cast<CollectiveKind>(rng.below(6));
    kind.algorithm = Algorithm::automatic;
    if (rng.below(2) == 0) kind.elements = 0;
    const auto call = begin_without_peers(spec_of(kind, me, 3), me, ledger);
    for (int i = 0; i < 5; ++i) {
      const auto which = static_cast<uint16_t>(0x0200 + rng.below(11));
      std::string meta(rng.below(60), '\0');
      for (char& c : meta) c = static_cast<char>(rng.below(rng.below(2) == 0 ? 3 : 256));
      Frame frame = make_frame(Kind{which}, 0, 0, 0, meta, Blob::copy_of(std::string(rng.below(100), 'x')));
      (void)call->take(static_cast<uint32_t>(rng.below(4)), std::move(frame));
      (void)call->timed_out();
    }
  }
  SUCCEED();
}

TEST_CASE("a leader's go moves no data in a barrier or a reduction") {
  const CallPlan plan{GENERATE(CollectiveKind::barrier, CollectiveKind::allreduce), Algorithm::automatic, 0, 5,
                      std::vector<std::vector<float>>(3, std::vector<float>(5))};
  CallLedger ledger;
  const auto call = begin_without_peers(spec_of(plan, 1, 3), 1, ledger);
  CHECK(call->take(0, make_frame(collective_kind::go, 0, 0, 0, pack(Route{0, 0, 1}, Go{20, "x"}))).ok());
  CHECK_FALSE(call->decided());
  CHECK(std::string(call->algorithm()).empty());
}
