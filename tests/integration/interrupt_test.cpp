// Ctrl-C: whatever a run does, it ends within about a second, with 130, and what it had taken of checkpoints is on
// disk.

#include <csignal>
#include <regex>

#include <catch2/catch.hpp>

#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Counts for ever, with a checkpoint every few steps.
constexpr const char* kEndless = R"(
local actor = require "actor"
local param, tensor = actor.param, actor.tensor
param.run {
  init = function(from)
    actor.log.info("begins at %d updates", from.updates)
    return { count = tensor.zeros(1) }
  end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "count" } } end
    return tasks
  end,
  push = function() return { { "count", tensor.ones(1) } } end,
  pull = actor.optim.add(),
  stop = function() return false end,
  checkpoint = { steps = 5 },
}
)";

// What a run may be doing; each says "works" first.
constexpr const char* kCompiled = "io.stderr:write('works\\n') while true do end";
constexpr const char* kCoroutine = R"(
local turn = coroutine.wrap(function() while true do coroutine.yield() end end)
io.stderr:write("works\n")
while true do turn() end
)";
constexpr const char* kSwallows = R"(
local actor = require "actor"
local function fails() error("swallowed") end
io.stderr:write("works\n")
while true do
  pcall(fails)
  pcall(actor.collective.barrier)
end
)";
constexpr const char* kSwallowsLoops = R"(
local function loops() while true do end end
io.stderr:write("works\n")
while true do pcall(loops) end
)";
constexpr const char* kInterpreted = "io.stderr:write('works\\n') jit.off(true, true) while true do pcall(error) end";
constexpr const char* kReads = R"(
local pipe = io.popen("exec sleep 60 2>&-")
io.stderr:write("works\n")
print(pipe:read("*a"))
)";
constexpr const char* kLoads = R"(
local data = require("actor").data
io.stderr:write("works\n")
while true do data.mnist("images") end
)";
constexpr const char* kWaits = R"(
local actor = require "actor"
io.stderr:write("works\n")
if actor.rank == 0 then while true do end end
actor.collective.barrier()
)";

void write_jobs(const JobFolder& folder) {
  folder.write("endless.lua", std::string("io.stderr:write('works\\n')") + kEndless);
  folder.write("compiled.lua", kCompiled);
  folder.write("coroutine.lua", kCoroutine);
  folder.write("swallows.lua", kSwallows);
  folder.write("swallows_loops.lua", kSwallowsLoops);
  folder.write("interpreted.lua", kInterpreted);
  folder.write("reads.lua", kReads);
  folder.write("loads.lua", kLoads);
  folder.write("waits.lua", kWaits);
}

/// Runs it until it works, and interrupts it then.
void check_interrupt(const JobFolder& folder, const Words& words) {
  Process run = folder.start(words);
  REQUIRE(run.wait_for_output("works\n", 20));
  run.signal(SIGINT);
  const double interrupted = now();
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 130);
  CHECK(now() - interrupted < 2.5 * patience());
  CHECK(count_of(run.err(), "actorhost: ") == 1);
  CHECK_THAT(run.err(), Contains("actorhost: interrupted\n"));
}

}  // namespace

TEST_CASE("Ctrl-C ends a run within about a second whatever it does") {
  const JobFolder folder;
  write_jobs(folder);
  write_images(folder.path() / "images", 600, 100);
  const std::string job = GENERATE(as<std::string>(), "endless.lua", "compiled.lua", "coroutine.lua", "swallows.lua",
                                   "swallows_loops.lua", "interpreted.lua", "reads.lua", "loads.lua", "waits.lua");
  check_interrupt(folder, {"-n", "2", job});
}

TEST_CASE("Ctrl-C ends one node, many nodes and isolated ones") {
  const JobFolder folder;
  write_jobs(folder);
  const Words flags = GENERATE(Words{"-n", "1"}, Words{"-n", "8"}, Words{"--isolate", "-n", "2"});
  const std::string job = GENERATE(as<std::string>(), "endless.lua", "compiled.lua", "reads.lua");
  check_interrupt(folder, with(flags, {job}));
}

TEST_CASE("Ctrl-C at the rendezvous host ends all hosts") {
  const JobFolder folder;
  write_jobs(folder);
  const std::string job = GENERATE(as<std::string>(), "endless.lua", "compiled.lua");
  Hosts hosts(folder, 3, {"-n", "1", job});
  for (size_t host = 0; host < 3; ++host) REQUIRE(hosts[host].wait_for_output("works\n", 20));
  hosts[0].signal(SIGINT);
  const double interrupted = now();
  const auto codes = hosts.wait(20);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>{130, 130, 130});
  CHECK(now() - interrupted < 2.5 * patience());
}

TEST_CASE("Ctrl-C at another host takes that one out of the run") {
  const JobFolder folder;
  write_jobs(folder);
  const Words flags = GENERATE(Words{"-n", "1"}, Words{"-n", "1", "--isolate"});
  Hosts hosts(folder, 2, with(flags, {"endless.lua"}));
  for (size_t host = 0; host < 2; ++host) REQUIRE(hosts[host].wait_for_output("works\n", 20));
  hosts[1].signal(SIGINT);
  const auto code = hosts[1].wait(20);
  const bool noticed = hosts[0].wait_for_output("lost ", 20);
  hosts[0].signal(SIGINT);
  INFO(hosts.describe());
  CHECK(noticed);
  CHECK(code == 130);
  CHECK(count_of(hosts[1].err(), "actorhost: interrupted\n") == 1);
  CHECK(hosts[0].wait(20) == 130);
}

TEST_CASE("the checkpoints of an interrupted run are complete and the next run goes on from the newest") {
  const JobFolder folder;
  write_jobs(folder);
  const Words flags = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  Process run = folder.start(with(flags, {"--checkpoint", "saved", "endless.lua"}));
  REQUIRE(run.wait_for_match("checkpoint saved/\\S+ at \\d+ updates(?:.|\n)*checkpoint saved/", 20));
  run.signal(SIGINT);
  CHECK(run.wait(20) == 130);
  INFO(run.describe());
  const std::string log = run.err();
  long last = 0;
  const std::regex written("checkpoint saved/\\S+ at (\\d+) updates\n");
  for (std::sregex_iterator at(log.begin(), log.end(), written), end; at != end; ++at) last = std::stol((*at)[1]);

  const Finished next = folder.run(with(flags, {"--resume", "saved", "--seconds", "0.2", "endless.lua"}));
  INFO(next.description);
  CHECK(next.status == 0);
  std::smatch from;
  const std::regex resumes("resuming from the newest checkpoint in 'saved' \\((\\d+) updates\\)");
  REQUIRE(std::regex_search(next.err, from, resumes));
  CHECK(std::stol(from[1]) >= last);  // one may be complete before the log says so
  CHECK_THAT(next.err, Contains("begins at " + from[1].str() + " updates"));
}
