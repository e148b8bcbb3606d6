#include "host/mapreduce/tasks/plan.hpp"

#include "host/wire/message.hpp"
#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/test.hpp"

namespace {

/// Counts words: two splits, three partitions, and a kept dataset that a narrow stage joins in.
Plan sample_plan() {
  Plan plan;
  plan.hash = 0xfeedULL;
  plan.stages = {{1, "load, flatmap, map", 2, 3, false, {}},
                 {2, "reduce_by_key", 3, 1, true, {{1, true, 0}}},
                 {5, "map", 3, 1, true, {{2, false, 0}}, true},
                 {6, "union", 5, 1, false, {{5, false, 0}, {1, false, 3}}}};
  plan.forget = {3, 4};
  return plan;
}

std::string refusal(const Plan& plan) {
  const Status sound = plan.check();
  if (sound.ok()) return "sound";
  CHECK(sound.error().code == Code::bad_argument);
  CHECK_FALSE(unpack<Plan>(pack(plan)).ok());
  return sound.error().message;
}

Plan changed(void (*change)(Plan&)) {
  Plan plan = sample_plan();
  change(plan);
  return plan;
}

}  // namespace

TEST_CASE("a plan arrives as it was sent") {
  REQUIRE(sample_plan().check().ok());
  const auto plan = required(unpack<Plan>(pack(sample_plan())));
  CHECK(plan->hash == 0xfeedULL);
  CHECK(plan->forget == std::vector<StageId>{3, 4});
  REQUIRE(plan->stages.size() == 4);
  CHECK(plan->stages[0].name == "load, flatmap, map");
  CHECK(plan->stages[0].tasks == 2);
  CHECK(plan->stages[0].buckets == 3);
  CHECK_FALSE(plan->stages[0].keep);
  CHECK(plan->stages[1].keep);
  CHECK_FALSE(plan->stages[1].disk);
  CHECK(plan->stages[2].keep);
  CHECK(plan->stages[2].disk);
  REQUIRE(plan->stages[3].needs.size() == 2);
  CHECK(plan->stages[3].needs[1].stage == 1);
  CHECK_FALSE(plan->stages[3].needs[1].wide);
  CHECK(plan->stages[3].needs[1].first == 3);
  CHECK(plan->stages[1].needs[0].wide);
  CHECK(pack(*plan) == pack(sample_plan()));
}

TEST_CASE("an invalid plan is refused with the stage at fault") {
  CHECK(refusal(sample_plan()) == "sound");
  CHECK_THAT(refusal({}), Contains("without stages"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[2].id = 0; })), Contains("stage 0 (map) has no number"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[3].id = 1; })), Contains("stage 1 (union) is in the plan twice"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[1].needs[0].stage = 5; })),
             Contains("stage 2 (reduce_by_key) needs stage 5, which is not before it"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[1].needs[0].stage = 2; })), Contains("is not before it"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[0].buckets = 4; })), Contains("3 tasks for the 4 buckets"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[1].needs[0].first = 1; })), Contains("offset"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[3].needs[1].first = 4; })), Contains("no place"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[3].needs[1].first = 0xffffffffU; })), Contains("no place"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[2].tasks = 2; })), Contains("no place"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[1].buckets = 0; })), Contains("no bucket"));
  CHECK_THAT(refusal(changed([](Plan& p) { p.stages[3].tasks = kMaxPlanTasks; })), Contains("fewer partitions"));
}

TEST_CASE("datasets may be empty") {
  Plan plan;
  plan.stages = {{1, "load", 0, 3, false, {}}, {2, "reduce", 3, 1, false, {{1, true, 0}}}};
  CHECK(plan.check().ok());
  plan.stages = {{1, "load", 4, 7, false, {}}, {2, "nothing", 0, 1, false, {{1, true, 0}}}};
  CHECK(plan.check().ok());
  plan.stages = {{1, "load", 0, 0, false, {}}, {2, "map", 0, 0, false, {{1, false, 0}}}};
  CHECK(plan.check().ok());
}

TEST_CASE("hostile bytes never make an invalid plan") {
  const uint64_t seed = 0x5eed04;
  INFO("seed " << seed);
  const size_t refused = test::feed_hostile(pack(sample_plan()), seed, 20000, [](std::string_view bytes) {
    const auto plan = unpack<Plan>(bytes);
    if (!plan) return false;
    REQUIRE(plan->check().ok());
    REQUIRE(unpack<Plan>(pack(*plan)).ok());
    return true;
  });
  CHECK(refused > 20000);
  CHECK_FALSE(unpack<Plan>(pack(sample_plan()) + "x").ok());
}
