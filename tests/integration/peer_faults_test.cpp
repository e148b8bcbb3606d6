// Hosts of a peer run that die with copies of keys and with unmerged updates.

#include "host/base/random.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// Runs the job on hosts, some of which kill themselves; checks the exit codes and the last line of each survivor.
void check_survivors(const Words& job, uint32_t hosts_count, size_t survivors, const std::string& expected,
                     const Words& flags = {}) {
  const JobFolder folder;
  Hosts hosts(folder, hosts_count, with(with({"-n", "1"}, flags), with({"jobs/peer_faults.lua"}, job)));
  size_t ended_well = 0;
  for (const int code : hosts.wait(60)) ended_well += code == 0 ? 1 : 0;
  INFO(hosts.describe());
  CHECK(ended_well == survivors);
  size_t right = 0;
  for (uint32_t i = 0; i < hosts_count; ++i) right += hosts[i].err().find(expected) != std::string::npos ? 1 : 0;
  CHECK(right == survivors);
}

}  // namespace

TEST_CASE("updates of the last step are merged although the leader of their key dies first", "[deep]") {
  const uint64_t seed = std::stoull(any_seed());
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::string victims : {"1", "2"}) {
    const std::string milliseconds = std::to_string(rng.below(20));
    INFO(victims << " of 3 hosts die " << milliseconds << " ms after their last push");
    check_survivors({"last_push", victims, milliseconds}, 3, victims == "1" ? 2 : 1,
                    "steps: 10 wrong: 0, quick: true.");
  }
}

TEST_CASE("keys whose copies are all known to be lost are missing at once") {
  check_survivors({"copies", "1", "2", "24"}, 4, 2, " wrong: 0 quick: true.", {"--replicas", "2"});
  check_survivors({"copies", "0", "2", "24"}, 4, 1, " wrong: 0 quick: true.", {"--replicas", "1"});  // the last node
}

TEST_CASE("keys of a departing worker are not lost while the others have no majority", "[deep]") {
  const JobFolder folder;
  // With this seed the next worker on the ring after worker 1 is on a stopped host.
  Hosts hosts(folder, 4, {"-n", "1", "--replicas", "1", "--seed", "1", "jobs/peer_faults.lua", "leave_alone", "24"});
  const std::vector<int> codes = hosts.wait(60);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>(4, 0));
  for (uint32_t i = 0; i < 4; ++i) CHECK_THAT(hosts[i].err(), Contains("wrong: 0."));
  CHECK_THAT(hosts.err(),
             Contains("waiting for over 10 s for rank") && Contains(", to take over the keys that this worker left"));
}
