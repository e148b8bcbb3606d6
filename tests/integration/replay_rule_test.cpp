// The same decisions on a cluster and in an evaluator: a rule file records each view of a real run, and its decision.
// The views are then passed to a fresh evaluator of the same rule in a VM of its own, which must decide the same.

#include "tests/bindings/vm_fixture.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

std::string with_text(std::string text, const std::string& place, const std::string& by) {
  return text.replace(text.find(place), place.size(), by);
}

struct Replayed {
  int evaluations = 0;
  int passes = 0;
  int different = 0;
};

Replayed replay(const std::string& rule, const std::filesystem::path& notes, int seed) {
  VmConfig config;
  config.args = {rule, notes.string(), std::to_string(seed)};
  actorhost::test::VmFixture lua(std::move(config));
  lua.run(job_text("replay_rule_replay.lua"));
  Replayed out;
  std::istringstream(lua.lines.at(0)) >> out.evaluations >> out.passes >> out.different;
  return out;
}

}  // namespace

TEST_CASE("a fresh evaluator with a run's rule and seed decides as the real run for all of its views") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const JobFolder folder;
  const std::filesystem::path notes = folder.path() / "views";
  const Ended run(run_at(place, folder,
                         {"--barrier", "jobs/replay_rule_noting.lua", "--seed", "7", "--inject",
                          "straggler=0.34:4x,delay=uniform(0,0.003)", "jobs/replay_rule.lua"}));
  const std::string rule = job_text("replay_rule_drawn.lua");
  const Replayed same = replay(rule, notes, 7);
  CHECK(same.evaluations > 150);
  CHECK(same.passes >= 3 * 40);
  CHECK(same.passes < same.evaluations - 20);
  CHECK(same.different == 0);
  // The match is no accident: another seed, or a rule with other memory, decides differently.
  CHECK(replay(rule, notes, 8).different > 5);
  CHECK(replay(with_text(rule, "shared.total % 3", "shared.total % 4"), notes, 7).different > 5);
}
