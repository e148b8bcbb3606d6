// A link cut at a random moment: all survivors see the same end of every call (jobs/kills.lua, which has further runs).
// ACTORHOST_TEST_KILLS=1000 sets the number of cuts.

#include "host/base/random.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// Cuts a link between two workers; the others then see the loss of the worker that joined later.
void cut_off(const std::string& what, const Words& job, Rng& rng) {
  const JobFolder folder;
  const std::string script = (source_dir() / "tests/integration/cut_off.sh").string();
  Process run("unshare", with(with(kOwnNetwork, {"sh", script, actorhost_binary()}), job), folder.options());
  process_of(run, "dies");
  std::this_thread::sleep_for(std::chrono::duration<double>(rng.uniform() * 0.2));  // a random moment
  std::ofstream(folder.path() / "cut") << what << std::endl;
  const auto status = run.wait(60);
  INFO(what << " was cut off\n" << run.describe());
  CHECK(status == 0);
  CHECK(count_of(run.out(), "ended with 0.") == 2);
}

}  // namespace

TEST_CASE("when a link is cut at a random moment, the others see the same end of every call", "[deep]") {
  if (!networks_can_be_made()) {
    WARN("test-skipped: network namespaces cannot be made here (that needs root, ip, bridge and unshare)");
    return;
  }
  // The host to cut off, or both hosts without the leader of small data; the kind of call; its elements.
  static const std::vector<Words> cuts = {
      {"1", "allreduce", "1"},  {"2", "allreduce", "1"},         {"2", "allreduce", "300000"},
      {"1", "alltoall", "10"},  {"1", "table", "100"},           {"1", "rotator", "1000"},
      {"2", "rotator", "1000"}, {"pair", "allreduce", "300000"}, {"pair", "alltoall", "100000"}};
  const uint64_t seed = number_of("ACTORHOST_TEST_SEED", 1);
  Rng rng(seed);
  for (uint64_t run = 0; run < number_of("ACTORHOST_TEST_KILLS", 1); ++run) {
    const Words& cut = cuts.at(rng.below(cuts.size()));
    INFO(cut[1] << " of " << cut[2] << ", seed " << seed << ", run " << run);
    cut_off(cut[0], {(source_dir() / "tests/integration/jobs/kills.lua").string(), cut[1], cut[2], "1"}, rng);
  }
}
