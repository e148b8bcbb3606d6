// Faults that rehearsals of tests/integration/jobs/losses.lua have found.

#include "tests/rehearse/rehearsals.hpp"

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

TEST_CASE("a call over a broken link is no cycle of ranks that wait for each other") {
  Rehearsals rehearsals;
  const std::string job = rehearsals.write("group.lua", R"(
    local actor = require "actor"
    local co = actor.collective
    if actor.rank == 0 then return co.wait_event "over" end
    local group, code = co.group("apart", { 1, 2 }), nil
    repeat code = select(3, group:allreduce(actor.tensor.ones(9))) until code
    assert(code == "peer_lost" and group:size() == 1)
    co.send_event("over", true, { to = 0 })
  )");
  const std::string faults =
      rehearsals.write("faults.lua", "return function(world) world:at(0.05, 'break', { 1, 2 }) end");
  for (uint64_t order = 1; order <= 5; ++order) {
    const Run run = rehearsals.run({"group", {"--faults", faults, job}}, order);
    INFO("order " << order << "\n" << run.ended.description);
    CHECK(run.ended.status == 3);
    CHECK(std::regex_search(run.ended.err, std::regex("has dropped host \\d: its link to host \\d is broken")));
  }
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

TEST_CASE("no node leads a group of itself alone while another member replies") {
  const JobFolder folder;
  const Finished run =
      folder.run({"rehearse", "--hosts", "4", "--seed", "102", "--virtual-seconds", "60", "--start-timeout", "10",
                  "--faults", "kill=1,stall=1:6s,break=1,within=900ms", "jobs/losses.lua", "peers", "asp"});
  INFO(run.description);
  CHECK(run.status == 3);  // the host with the broken link is dropped, and no value is lost
}
