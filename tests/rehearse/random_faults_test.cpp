// Jobs of all engines with random faults: each has its results, or ends because it is cut off. ACTORHOST_TEST_SEEDS=100
// sets the number of seeds, ACTORHOST_TEST_SEED the first.

#include "tests/rehearse/rehearsals.hpp"

// Found with these jobs: a dropped coordinator took over the table, and the other hosts refused it. A
// dropped host took the end of the others' run for their failure. A coordinator's first table lacked an attached host.
// After a loss, a broadcast with a given algorithm raised an error, and actor.size had the lost rank until the next
// call.
TEST_CASE("a job with random faults has its results, or ends because its host is cut off") {
  const auto& [words, faults, hosts] = GENERATE(table<Words, std::string, std::string>({
      {{"collectives"}, "kill=1,break=1,within=700ms", "4"},
      {{"collectives", "allreduce", "star"}, "kill=2,break=1,within=700ms", "5"},
      {{"collectives", "allreduce", "ring"}, "kill=1,break=1,within=700ms", "4"},
      {{"collectives", "allreduce", "recursive_doubling"}, "kill=1,stall=1:4500ms,within=700ms", "4"},
      {{"collectives", "allreduce", "halving_doubling"}, "kill=1,break=1,within=700ms", "5"},
      {{"collectives", "broadcast", "tree"}, "kill=1,break=1,within=700ms", "5"},
      {{"collectives", "broadcast", "chain"}, "kill=1,break=1,within=700ms", "4"},
      {{"collectives", "allreduce", "ordered"}, "kill=1,one-way=1:6s,within=700ms", "4"},
      {{"collectives", "allreduce", "hierarchical"}, "kill=1,partition=1:6s,within=700ms", "4"},
      {{"locks"}, "kill=2,within=700ms", "5"},
      {{"events"}, "kill=1,break=1,within=500ms", "4"},
      {{"rotator"}, "kill=1,break=1,within=600ms", "4"},
      {{"averaging", "all"}, "kill=1,break=1,within=300ms", "4"},
      {{"averaging", "ring"}, "kill=1,stall=1:4s,within=300ms", "4"},
      {{"averaging", "random"}, "kill=1,one-way=1:6s,within=300ms", "5"},
      {{"server", "bsp", "all"}, "kill=1,break=1,within=500ms", "4"},
      {{"server", "ssp:2", "drop"}, "kill=2,break=1,within=400ms", "5"},
      {{"server", "asp", "buffer"}, "kill=1,stall=1:6s,within=400ms", "4"},
      {{"server", "pssp:2:4", "scale"}, "kill=1,one-way=1:6s,within=400ms", "4"},
      {{"server", "pbsp:2", "all"}, "kill=1,partition=1:6s,break=1,within=400ms", "4"},
      {{"peers", "ssp:2"}, "kill=1,break=1,within=900ms", "5"},
      {{"peers", "bsp"}, "crash=1,partition=1:1s,within=900ms", "5"},
      {{"peers", "asp"}, "kill=1,stall=1:6s,break=1,within=900ms", "4"},
      {{"peers", "bsp"}, "kill=1,one-way=1:6s,within=900ms", "3"},
      {{"mapreduce", "narrow"}, "kill=1,break=1,within=900ms", "4"},
      {{"mapreduce", "wide"}, "kill=1,break=1,within=1s", "4"},
      {{"mapreduce", "wide"}, "kill=1,stall=1:6s,within=1s", "4"},
  }));
  Rehearsals rehearsals;
  const uint64_t first = number_of("ACTORHOST_TEST_SEED", 1);
  const uint64_t count = number_of("ACTORHOST_TEST_SEEDS", 3);
  for (uint64_t order = first; order < first + count; ++order) {
    const Run run =
        rehearsals.run({"losses", with({"--start-timeout", "10", "--faults", faults, kLosses}, words), hosts}, order);
    INFO("ACTORHOST_TEST_SEED=" << order << "\n" << run.ended.description);
    CHECK((run.ended.status == 0 || run.ended.status == 3));
  }
}

// Two hosts are killed and a third is cut off: all three replicas of a key may be lost, a fourth is not.
TEST_CASE("peers with four replicas keep their keys when three hosts are lost at once") {
  Rehearsals rehearsals;
  const uint64_t first = number_of("ACTORHOST_TEST_SEED", 1);
  const uint64_t count = number_of("ACTORHOST_TEST_SEEDS", 5);
  for (uint64_t order = first; order < first + count; ++order) {
    const Words words = {"--replicas", "4",        "--start-timeout",
                         "10",         "--faults", "kill=2,break=1,partition=1:700ms,within=900ms",
                         kLosses};
    const Run run = rehearsals.run({"losses", with(words, {"peers", "bsp"}), "5"}, order);
    INFO("ACTORHOST_TEST_SEED=" << order << "\n" << run.ended.description);
    CHECK((run.ended.status == 0 || run.ended.status == 3));
  }
}

TEST_CASE("a loss after a failed collective fails the next collective too") {
  Rehearsals rehearsals;
  const std::string job = rehearsals.write("losses.lua", R"(
    local actor = require "actor"
    local co, ones = actor.collective, actor.tensor.ones(1)
    local function sum() return co.allreduce(ones) end
    local function first() return co.broadcast(ones, 0, { algorithm = "tree" }) end
    local call = ... == "sum" and sum or first
    assert(sum()[1] == 4)
    for size = 4, 3, -1 do
      actor.sleep(0.1)
      assert(actor.size == size)
      local none, message, code = call()
      assert(none == nil and code == "peer_lost", "the loss is not reported")
      assert(message:find((": rank %d lost"):format(size - 2), 1, true), message)
      assert(actor.size == size - 1)
    end
    assert(sum()[1] == 2)
  )");
  const std::string faults = rehearsals.write("faults.lua", R"(
    return function(world)
      world:at(0.05, "kill", 2)
      world:at(0.15, "kill", 1)
    end
  )");
  const std::string call = GENERATE("sum", "broadcast");
  const Run run = rehearsals.run({"losses", {"--faults", faults, job, call}, "4"}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.status == 0);
}

TEST_CASE("a lost cluster does not hide the failure of another host") {
  Rehearsals rehearsals;
  const std::string job = rehearsals.write("fails.lua", R"(
    local actor = require "actor"
    actor.sleep(0.1)
    assert(actor.rank ~= 0, "a check fails")
    actor.sleep(1)
  )");
  const std::string faults =
      rehearsals.write("faults.lua", "return function(world) world:at(0.05, 'break', { 0, 2 }) end");
  const Run run = rehearsals.run({"fails", {"--faults", faults, job}}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.err.find("host 2: lost ") != std::string::npos);
  CHECK(run.ended.status == 1);
}
