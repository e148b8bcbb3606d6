// Runs of the peer-to-peer engine: steps, barriers and updates in whole jobs.

#include <nlohmann/json.hpp>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Ended run_peers(const std::string& place, const Words& job, const Words& flags = {}) {
  return Ended(run_at(place, JobFolder(), with(with(flags, {"jobs/peer_run.lua"}), job)));
}

}  // namespace

TEST_CASE("bsp of peers with one seed gives the same bits in threads, processes, hosts and rehearsals", "[deep]") {
  const std::string size = GENERATE("4", "300001");  // the second size takes two parts
  for (const std::string pull : {"native", "lua", "replace"}) {
    std::set<std::string> bits;
    for (const std::string place : {"threads", "isolate", "hosts", "rehearsal"}) {
      const Ended run = run_peers(place, {"bits", pull, "bsp", size}, {"--seed", "7"});
      bits.insert(line_after(run.out, "bits: "));
    }
    INFO(pull);
    CHECK(bits.size() == 1);
  }
}

TEST_CASE("the flag --seconds ends a peer run") {
  const Ended timed = run_peers("threads", {"seconds"}, {"--seconds", "0.3"});
  CHECK_THAT(timed.out, Contains("reason:\tseconds\ttrue\ttrue\n"));
  CHECK_THAT(timed.err, Contains("rank 0: peer.run: ") && Contains("messages of this worker in each: "));
}

TEST_CASE("errors of a peer run name the callback and its line", "[deep]") {
  const std::map<std::string, std::string> wrongs = {
      {"schedule", "schedule (" + place_in("peer_run.lua", "schedule = function() return nil") + ") returned nil"},
      {"key", "key 1: expected a string or number, got table"},
      {"push", "push (" + place_in("peer_run.lua", "push = function() return 7") + "): expected {{key, value}, ...}"},
      {"twice", "key \"k\" occurs twice"},
      {"pull", "returned a wrong entry: key \"other\" is not in the batch"},
      {"nothing", "expected {{key, value}, ...}, got nil (is a 'return' missing?)"},
      {"stop", "returned number, expected a boolean"},
      {"init", "returned number, expected a table {key = value}"},
      {"raises", "barrier rule 'peer_run.lua:"},
      {"single", "use sample: no worker here knows all clocks"},
      {"keeps", "it cannot be used here, where each worker evaluates its own rule"},
      {"nan", "the value of key \"k\" in step 1 is infinite or not a number somewhere"},
      {"merge", "peer.run cannot honour merge rule 'drop(1)'"},
      {"event", "peer.run cannot honour barrier pbsp(2)@event"},
      {"filter", "peer.run cannot honour filter: "},
      {"checkpoint", "peer.run cannot honour checkpoint: "},
      {"endless", "without stop= (or --seconds on the command line) it would never end"},
      {"within", "peer.run cannot be called in a callback of peer.run (peer_run.lua:"},
      {"leave", "this worker takes part in a peer.run"},
      {"stuck", "rank 1: barrier rule 'peer_run.lua:"},
  };
  for (const auto& [what, message] : wrongs) {
    INFO(what);
    const Ended run(JobFolder().run({"-n", "3", "--rule-timeout", "0.5", "jobs/peer_run.lua", "wrong", what}), 1);
    CHECK_THAT(run.err, Contains(message));
  }
}

TEST_CASE("flags that a peer run cannot honour end it by their names") {
  const JobFolder folder;
  const std::map<std::string, Words> flags = {{"--record steps.csv", {"--record", "steps.csv"}},
                                              {"--checkpoint", {"--checkpoint", "kept"}},
                                              {"barrier pbsp(2)@event", {"--resample", "event"}}};
  for (const auto& [name, given] : flags) {
    const Ended run(folder.run(with(with(given, {"-n", "2"}), {"jobs/peer_run.lua", "original", "pbsp:2"})), 1);
    CHECK_THAT(run.err, Contains("peer.run cannot honour " + name + ": no "));
  }
  const Words other = {"--record", "run.jsonl", "--inject", "delay=0.001", "--resample", "sticky", "-n", "2"};
  const Ended run(folder.run(with(other, {"jobs/peer_run.lua", "original", "pbsp:2"})));
}

TEST_CASE("a peer run whose pull or init does not return is ended by --callback-timeout, with its place", "[deep]") {
  const std::string what = GENERATE(as<std::string>(), "pull", "init");
  const Ended run(
      JobFolder().run({"-n", "3", "--isolate", "--callback-timeout", "0.3", "jobs/peer_run.lua", "hangs", what}), 1);
  CHECK_THAT(run.err, Contains(what + " (" + place_in("peer_run.lua", what + " = function() while") +
                               ") did not return within 0.3 s (--callback-timeout)"));
}

TEST_CASE("the console swaps the rule of peers during a run", "[deep]") {
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "jobs/peer_run.lua", "held"});
  Finished seen;
  const bool held = wait_until(
      [&] {
        seen = folder.run({"repl", "--attach", "-e", ":barrier"});
        return seen.out.find("3 of 3 wait") != std::string::npos && seen.out.find("the rule") != std::string::npos;
      },
      20);
  INFO(run.describe() << seen.description);
  CHECK(held);
  CHECK_THAT(seen.out,
             Contains("run 1: peer_run.lua:") && Contains(", passed 9 times, refused ") && Contains("the rule"));
  CHECK_THAT(folder.run({"repl", "--attach", "-e", ":get k"}).out, Contains("2\n3\n"));
  CHECK_THAT(folder.run({"repl", "--attach", "-e", ":checkpoint"}).err, Contains("no param.run is in progress"));
  const std::string chunk = "return peer.size_estimate(), #peer.sample(5), #peer.neighbours().after";
  CHECK_THAT(folder.run({"repl", "--attach", "-e", chunk}).out, Contains("3\n") && !Contains("error"));
  const auto state = nlohmann::json::parse(folder.run({"status", "--json"}).out);
  for (const auto& node : state["nodes"]) {  // the messages that the courier has sent and received for its worker
    CHECK(node["sent"].get<int>() > 1000);
    CHECK(node["received"].get<int>() > 1000);
  }
  Finished set;
  const bool swapped = wait_until(
      [&] {
        set = folder.run({"repl", "--attach", "-e", ":barrier set ssp:2"});
        return set.status == 0;
      },
      20);
  INFO(run.describe() << set.description);
  CHECK(swapped);
  CHECK_THAT(set.out, Contains("the barrier is ssp:2; it was peer_run.lua:"));
  CHECK(run.wait(20) == 0);
}

TEST_CASE("keys survive as many simultaneous deaths as they have further copies", "[deep]") {
  const auto& [replicas, dead] =
      GENERATE(table<std::string, std::vector<size_t>>({{"1", {0, 3}}, {"2", {3}}, {"4", {0, 1, 3}}}));
  const JobFolder folder;
  Hosts hosts(folder, 4, {"-n", "1", "--replicas", replicas, "jobs/peer_run.lua", "outlived"});
  for (size_t i = 0; i < 4; ++i) REQUIRE(hosts[i].wait_for_match("(values are there)", 20));
  for (const size_t i : dead) hosts[i].signal(SIGKILL);
  folder.write("killed", "");
  const auto missing = hosts[2].wait_for_match("of 1000 keys (\\d+) are missing", 30);
  INFO(replicas << " copies\n" << hosts.describe());
  REQUIRE(missing.has_value());
  // With one copy the keys of the dead hosts are lost. Addresses and with them the shares of the hosts are random: two
  // of four hosts have none or all of 1,000 keys in one of 80,000 runs.
  CHECK((replicas == "1") == (std::stoi(*missing) > 0));
  CHECK(std::stoi(*missing) < 1000);
}

TEST_CASE("the next worker provides the initial values when the first one is killed") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", "jobs/peer_run.lua", "beginning"});
  REQUIRE(hosts[0].wait_for_match("(gives the first values)", 20));
  hosts[0].signal(SIGKILL);
  for (size_t i = 1; i < 3; ++i) {
    const auto status = hosts[i].wait(30);
    INFO(hosts.describe());
    CHECK(status == 0);
    CHECK_THAT(hosts[i].err(), Contains("steps 3, k is 11."));
  }
}
