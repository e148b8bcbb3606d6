// Peer runs whose coordinators are killed one after another, and hosts that join through a surviving host. Rehearsals
// kill hosts at random moments (jobs/losses.lua, jobs/registers.lua).

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

const std::string kPeerJob = "jobs/coordinator_loss.lua";

/// Whether the newest line of each worker of a host lists exactly these workers.
bool sees_only(const Process& host, size_t workers, const std::string& seen) {
  const std::string log = host.err();
  std::map<std::string, std::string> newest;  // by worker
  for (const std::string& line : lines_of(log)) {
    const size_t at = line.find(": sees ");
    if (at == std::string::npos) continue;
    newest[line.substr(at - 2, 2)] = line.substr(at + 7);
  }
  // A worker's rank changes with the membership table, so it may have printed under another rank before.
  const auto right = [&](const auto& entry) { return entry.second == seen + "."; };
  return static_cast<size_t>(std::count_if(newest.begin(), newest.end(), right)) >= workers;
}

/// Waits until all of these hosts see these workers.
void await_members(Hosts& hosts, const std::vector<size_t>& live, size_t workers, const std::string& seen,
                   double seconds) {
  const bool reached = wait_until(
      [&] {
        return std::all_of(live.begin(), live.end(), [&](size_t i) { return sees_only(hosts[i], workers, seen); });
      },
      seconds);
  INFO("wanted: " << seen << "\n" << hosts.describe());
  REQUIRE(reached);
}

/// "4 live: 2 3 4 5" for the workers of these hosts, two each.
std::string members_of(const Hosts& hosts, const std::vector<size_t>& live) {
  std::set<int> ids;
  for (const size_t i : live) {
    const std::string err = const_cast<Hosts&>(hosts)[i].err();
    for (int id = 0; id < 20; ++id) {
      if (err.find("worker " + std::to_string(id) + " works.") != std::string::npos) ids.insert(id);
    }
  }
  std::string text = std::to_string(ids.size()) + " live:";
  for (const int id : ids) text += " " + std::to_string(id);
  return text;
}

void check_well_ended(Hosts& hosts, const std::vector<size_t>& live) {
  for (const size_t i : live) {
    const auto status = hosts[i].wait(10);
    INFO("host " << i << "\n" << hosts.describe());
    CHECK(status == 0);
  }
}

/// "tcp://127.0.0.1:4711" without the scheme: where a host of a peer run accepts connections.
std::string place_of(Process& host) {
  const auto url = host.wait_for_match("it can be joined at tcp://(\\S+)", 20);
  INFO(host.describe());
  REQUIRE(url.has_value());
  return *url;
}

}  // namespace

TEST_CASE("peers continue when one coordinator after another is killed, and the last host exits with 0") {
  const JobFolder folder;
  Hosts hosts(folder, 4, {"-n", "2", kPeerJob});
  std::vector<size_t> live = {0, 1, 2, 3};
  for (const size_t i : live) {
    for (int worker = 0; worker < 2; ++worker) REQUIRE(hosts[i].wait_for_match("worker \\d+ works", 20));
  }
  await_members(hosts, live, 2, "8 live: 0 1 2 3 4 5 6 7", 20);
  while (live.size() > 1) {
    // Host 0 is the first coordinator; the next is the host with the lowest worker ids.
    const auto lowest = std::min_element(live.begin(), live.end(), [&](size_t a, size_t b) {
      return members_of(hosts, {a}).substr(8) < members_of(hosts, {b}).substr(8);
    });
    hosts[*lowest].signal(SIGKILL);
    const double killed = now();
    live.erase(lowest);
    await_members(hosts, live, 2, members_of(hosts, live), 20);
    CHECK(now() - killed < 3 * patience());
  }
  folder.write("enough", "");
  check_well_ended(hosts, live);
  CHECK_THAT(hosts[live[0]].out(), Contains("is done."));
}

TEST_CASE("a stopped coordinator is declared failed, and ends when it resumes", "[deep]") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "2", kPeerJob});
  await_members(hosts, {0, 1, 2}, 2, "6 live: 0 1 2 3 4 5", 20);
  hosts[0].signal(SIGSTOP);
  await_members(hosts, {1, 2}, 2, members_of(hosts, {1, 2}), 20);
  const auto taken_over = [&] { return hosts.err().find("this host is the coordinator now") != std::string::npos; };
  REQUIRE(wait_until(taken_over, 20));  // before that it may resume as the coordinator
  hosts[0].signal(SIGCONT);
  const Ended ended({hosts[0]}, 20, 3);
  folder.write("enough", "");
  check_well_ended(hosts, {1, 2});
}

TEST_CASE("a host can join through any other host, also after the first host is lost") {
  const JobFolder folder;
  const FreePort port;
  const Words job = {"-n", "2", "--nnodes", "2:3"};
  const auto start = [&](const std::string& place) {
    return folder.start(with(with(job, {"--rdzv-endpoint", place}), {kPeerJob}));
  };
  Process first = start(port.endpoint());
  REQUIRE(first.wait_for_output("info] seed", 20));
  Process second = start(port.endpoint());
  REQUIRE(first.wait_for_output("sees 4 live: 0 1 2 3.", 20));
  const std::string place = place_of(second);
  Process third = start(place);
  REQUIRE(third.wait_for_output("sees 6 live: 0 1 2 3 4 5.", 20));
  first.signal(SIGKILL);
  REQUIRE(third.wait_for_output("sees 4 live: 2 3 4 5.", 20));
  // The third place is free again for a host that joins through a host that only knows the coordinator's address.
  Process fourth = start(place_of(third));
  const auto joined = fourth.wait_for_match("sees 6 live: 2 3 4 5 (\\d+ \\d+)\\.", 20);
  INFO(first.describe() << second.describe() << third.describe() << fourth.describe());
  REQUIRE(joined.has_value());
  REQUIRE(second.wait_for_output("sees 6 live: 2 3 4 5 " + *joined, 20));
  // There are three hosts again.
  Process fifth = start(place);
  CHECK(fifth.wait(20) == 3);
  CHECK_THAT(fifth.err(), Contains("the run already has its 3 hosts"));
  second.signal(SIGKILL);
  REQUIRE(fourth.wait_for_output("sees 4 live: 4 5 " + *joined, 20));
  folder.write("enough", "");
  const Ended both({third, fourth}, 10);
}

TEST_CASE("several rendezvous addresses are tried in turn") {
  const JobFolder folder;
  const FreePort ports[3];
  const std::string all = ports[0].endpoint() + "," + ports[1].endpoint() + "," + ports[2].endpoint();
  const Words words = {"-n", "1", "--nnodes", "2:3", "--rdzv-endpoint", all, kPeerJob};
  Process first = folder.start(words, "info] seed");
  Process second = folder.start(words);
  CHECK(place_of(second) == ports[1].endpoint());
  REQUIRE(first.wait_for_output("sees 2 live: 0 1.", 20));
  first.signal(SIGKILL);
  REQUIRE(second.wait_for_output("sees 1 live: 1.", 20));
  // The first address is free, but the run is at the second address.
  Process third = folder.start(words);
  const auto joined = third.wait_for_match("sees 2 live: 1 (\\d+)\\.", 20);
  INFO(first.describe() << second.describe() << third.describe());
  CHECK(joined.has_value());
  folder.write("enough", "");
  const Ended both({second, third}, 10);
  const Ended refused(
      folder.run({"--node-rank", "1", "--nnodes", "2", "--rdzv-endpoint", all, "--start-timeout", "1", kPeerJob}), 3);
  for (const FreePort& port : ports) CHECK_THAT(refused.err, Contains(port.endpoint()));
}

TEST_CASE("operations that need the coordinator report its loss, and other operations continue") {
  const std::string what = GENERATE("param", "get", "mapreduce", "average", "collective", "raise");
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", kPeerJob, what});
  await_members(hosts, {0, 1, 2}, 1, "3 live: 0 1 2", 20);
  hosts[0].signal(SIGKILL);
  await_members(hosts, {1, 2}, 1, members_of(hosts, {1, 2}), 20);
  folder.write("enough", "");
  const int status = what == "collective" ? 0 : what == "raise" ? 1 : 3;
  INFO(what << "\n" << hosts.describe());
  const Ended both({hosts[1], hosts[2]}, 20, status);
  if (what == "collective") CHECK(line_after(hosts.out(), "met: ") == "1 2");
  if (what == "raise") CHECK_THAT(hosts.err(), Contains("spilt milk"));
  if (status == 3) {
    CHECK_THAT(hosts.err(), Contains("the coordinator is lost, and without it only actor.peer continues") &&
                                Contains("coordinator_loss.lua:"));
  }
}

TEST_CASE("Ctrl-C ends one host of a run whose first coordinator is lost, and the other hosts continue") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "2", kPeerJob});
  await_members(hosts, {0, 1, 2}, 2, "6 live: 0 1 2 3 4 5", 20);
  hosts[0].signal(SIGKILL);
  await_members(hosts, {1, 2}, 2, members_of(hosts, {1, 2}), 20);
  hosts[1].signal(SIGINT);
  CHECK(hosts[1].wait(10) == 130);
  await_members(hosts, {2}, 2, members_of(hosts, {2}), 20);
  folder.write("enough", "");
  check_well_ended(hosts, {2});
}

TEST_CASE("status finds the run through any of its hosts after its first coordinator is lost") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", kPeerJob});
  await_members(hosts, {0, 1, 2}, 1, "3 live: 0 1 2", 20);
  const std::string places[] = {place_of(hosts[1]), place_of(hosts[2])};
  hosts[0].signal(SIGKILL);
  await_members(hosts, {1, 2}, 1, members_of(hosts, {1, 2}), 20);
  for (const std::string& place : places) {
    const Ended status(folder.run({"status", "--attach", place}));
    CHECK_THAT(status.out, Contains("2 workers") && Contains("rank 1") && Contains("lost: closed by the peer"));
  }
  folder.write("enough", "");
  check_well_ended(hosts, {1, 2});
}
