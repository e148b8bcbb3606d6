#include <csignal>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Counts how often each batch is merged. Worker 2 stays in its first push and says in which process; nobody is done
// with a batch before, so that there is one for it.
constexpr const char* kOneStops = R"(
local actor = require "actor"
local param, data, tensor = actor.param, actor.data, actor.tensor
local batches = data.batches { n = 60, size = 2 }
local process = io.open("/proc/self/stat"):read("*n")

local summary = param.run {
  init = function() return { counts = tensor.zeros(batches:count()) } end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do
      batches:done(id)
      local number = batches:next(id)
      if number then tasks[id] = { { "batch", number } } end
    end
    return tasks
  end,
  push = function(id, entries)
    if id == 2 then
      tell("worker 2 stays")
      actor.log.info("stays in process %d.", process)
      while true do end
    end
    await("worker 2 stays")
    local one = tensor.zeros(batches:count())
    one:set(entries[1][2], 1)
    return { { "counts", one } }
  end,
  pull = actor.optim.add(),
  lost = function(id, entries)
    if #entries > 0 then batches:lost(id) else batches:done(id) end
  end,
  stop = function(ctx) return ctx.updates >= batches:count() end,
}
local counts = param.get("counts")
print(("merged: %d to %d times, %d updates, %d lost"):format(counts:min(), counts:max(), summary.updates, summary.lost))
)";

// Runs until it is ended; every worker says in which process it is once the engine runs.
constexpr const char* kEndless = R"(
local actor = require "actor"
local process = io.open("/proc/self/stat"):read("*n")
local started = false
actor.param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(id)
    if not started then actor.log.info("worker %d works in process %d.", id, process) end
    started = true
    return { { id, true } }
  end,
  stop = function() return false end,
}
)";

// One kind of trouble each, by the job's first argument.
constexpr const char* kTrouble = R"(
local actor = require "actor"
local what = actor.args[1]

local function run(push)
  return actor.param.run {
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
      return tasks
    end,
    push = push or function(id) return { { id, true } } end,
    stop = function(ctx) return ctx.step >= 10 end,
  }
end

if what == "push" then
  run(function(id)
    if id == 1 then error("spilt milk") end
    return { { id, true } }
  end)
elseif what == "top" then
  if actor.rank == 1 then error("spilt milk") end
  actor.collective.barrier()
elseif what == "ends early" then
  if actor.rank == 1 then return end
  run()
elseif what == "ends before a barrier" then
  if actor.rank == 1 then return end
  actor.collective.barrier()
elseif what == "another operation" then
  if actor.rank == 1 then actor.collective.barrier()
  else actor.collective.allreduce(actor.tensor.zeros(3)) end
elseif what == "another shape" then
  actor.collective.allreduce(actor.tensor.zeros(actor.rank == 1 and 4 or 3))
elseif what == "an action against a collective" then
  if actor.rank == 1 then actor.collective.barrier()
  else run() end
elseif what == "one action more" then
  run()
  if actor.role == "server" or actor.rank ~= 1 then run() end
else
  print("nothing is wrong")
end
)";

}  // namespace

TEST_CASE("a killed worker process is not waited for and its batch is done by others") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kOneStops);
  const std::string rule =
      GENERATE(as<std::string>(), "bsp", "ssp:1", "asp", "pbsp:2", "pssp:2:4", "quorum:0.8:1", "backup:1");
  Process run = folder.start({"-n", "3", "--isolate", "--barrier", rule, "job.lua"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const double killed = now();
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK(now() - killed < 3 * patience());
  CHECK(line_after(run.out(), "merged: ") == "1 to 1 times, 30 updates, 1 lost");
}

TEST_CASE("a killed host is not waited for and its batch is done by others") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kOneStops);
  Hosts hosts(folder, 3, {"-n", "1", "job.lua"});
  size_t stays = 0;  // which host has worker 2 is the arrivals' order
  REQUIRE(hosts[0].wait_for_output("3 of 3 hosts", 20));
  const double started = now();
  while (hosts[stays].err().find("stays in process") == std::string::npos) {
    if (now() - started > 20 * patience()) FAIL("worker 2 does not stay\n" + hosts.describe());
    stays = 1 + stays % 2;
    hosts[stays].wait_for_output("stays in process", 0.1);
  }
  hosts[stays].signal(SIGKILL);
  const double killed = now();
  CHECK(hosts[0].wait(20) == 0);
  CHECK(hosts[3 - stays].wait(20) == 0);
  CHECK(now() - killed < 3 * patience());
  INFO(hosts.describe());
  CHECK(line_after(hosts.out(), "merged: ") == "1 to 1 times, 30 updates, 1 lost");
}

TEST_CASE("when the rendezvous host is killed the others end with 3 and name server 0") {
  const JobFolder folder;
  folder.write("job.lua", kEndless);
  Hosts hosts(folder, 3, {"-n", "1", "job.lua"});
  for (size_t host = 0; host < 3; ++host) REQUIRE(hosts[host].wait_for_output("works in process", 20));
  hosts[0].signal(SIGKILL);
  const double killed = now();
  for (const size_t host : {1, 2}) {
    const auto status = hosts[host].wait(20);
    INFO(hosts[host].describe());
    CHECK(status == 3);
    CHECK_THAT(hosts[host].err(), Contains("server 0") && Contains(hosts.endpoint()));
  }
  CHECK(now() - killed < 5 * patience());
}

TEST_CASE("when the rendezvous host is killed the others end also while their Lua spins") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
if actor.rank > 0 then
  io.stderr:write("spins\n")
  while true do end
end
actor.collective.barrier()
)");
  const bool isolate = GENERATE(false, true);
  Hosts hosts(folder, 2, with(isolate ? Words{"--isolate"} : Words{}, {"-n", "1", "job.lua"}));
  REQUIRE(hosts[1].wait_for_output("spins", 20));
  hosts[0].signal(SIGKILL);
  const double killed = now();
  CHECK(hosts[1].wait(20) == 3);
  INFO(hosts[1].describe());
  CHECK(now() - killed < 5 * patience());
}

TEST_CASE("an isolated worker that dies before the run has started ends its host at once, and is named") {
  const bool joins = GENERATE(false, true);  // another host's run, or has its own
  const JobFolder folder;
  const FreePort port;
  const std::string job = (folder.path() / "job.lua").string();
  REQUIRE(mkfifo(job.c_str(), 0600) == 0);  // its writer comes once: the parent reads the job, its workers wait for it
  const Words other = {"--nnodes", "2", "--node-rank", "1", "--rdzv-endpoint", port.endpoint()};
  const Words own = {"-n", "2", "--isolate", "--start-timeout", "1000", "job.lua"};
  Process run = folder.start(joins ? with(other, own) : own);
  std::ofstream(job) << "return 1" << std::flush;
  const std::string list = "/proc/" + std::to_string(run.pid()) + "/task/" + std::to_string(run.pid()) + "/children";
  const double give_up = now() + 20 * patience();
  pid_t first = 0;
  pid_t second = 0;
  while (second == 0 && now() < give_up) std::istringstream(read_text(list)) >> first >> second;
  REQUIRE(second != 0);
  ::kill(second, SIGKILL);
  CHECK(run.wait(10) == 3);
  INFO(run.describe());
  CHECK(run.err().find("local node 1 (process " + std::to_string(second) +
                       ") was killed by signal 9 before the run had started") != std::string::npos);
}

TEST_CASE("when the parent of isolated workers is killed they all end") {
  const JobFolder folder;
  folder.write("job.lua", kEndless);
  Process run = folder.start({"-n", "2", "--isolate", "job.lua"});
  const pid_t workers[] = {process_of(run, "worker 0 works"), process_of(run, "worker 1 works")};
  run.signal(SIGKILL);
  CHECK(run.wait(20) == 128 + SIGKILL);
  for (const pid_t worker : workers) CHECK(ends_within(worker, 5));
}

TEST_CASE("an error on one rank ends all nodes with 1 and is shown once") {
  const JobFolder folder;
  folder.write("job.lua", kTrouble);
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const std::string what = GENERATE(as<std::string>(), "push", "top");
  const Finished run = run_at(place, folder, {"job.lua", what});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK(count_of(run.err, "stack traceback:") == 1);
  CHECK_THAT(run.err, Contains(what == "push" ? "rank 1: job.lua:19: spilt milk" : "rank 1: job.lua:23: spilt milk"));
  CHECK_THAT(run.err, Contains("in main chunk"));
}

TEST_CASE("an error on one host ends all hosts with 1 and its traceback is shown once") {
  const JobFolder folder;
  folder.write("job.lua", kTrouble);
  const std::string what = GENERATE(as<std::string>(), "push", "top");
  Hosts hosts(folder, 3, {"-n", "1", "job.lua", what});
  const auto codes = hosts.wait(20);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>{1, 1, 1});
  CHECK(count_of(hosts.err(), "stack traceback:") == 1);
  for (size_t host = 0; host < 3; ++host) CHECK(count_of(hosts[host].err(), "spilt milk") == 1);
}

TEST_CASE("ranks that do different things are an error that names both and their lines") {
  const JobFolder folder;
  folder.write("job.lua", kTrouble);
  struct Case {
    std::string what, other_line, line;
  };
  const std::vector<Case> cases = {
      {"ends early", "job.lua:27", "come to the end of its script"},
      {"ends before a barrier", "job.lua:30", "come to the end of its script"},
      {"another operation", "job.lua:33", "job.lua:32"},
      {"another shape", "float32[3] at job.lua:35", "float32[4] at job.lua:35"},
      {"an action against a collective", "param.run at job.lua:38", "barrier at job.lua:37"},
      {"one action more", "job.lua:41", "come to the end of its script"},
  };
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const auto runs = run_together(cases.size(), [&](size_t i) {
    return run_at(place, folder, {"job.lua", cases[i].what});
  });
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(runs[i].description);
    CHECK(runs[i].status == 1);
    CHECK_THAT(runs[i].err, Contains("rank 1") && (Contains("rank 0") || Contains("rank 2")));
    CHECK_THAT(runs[i].err, Contains(cases[i].other_line) && Contains(cases[i].line));
    CHECK(count_of(runs[i].err, "stack traceback:") <= 1);
  }
}

TEST_CASE("an error of a callback of param.run ends the run on all nodes also where the script catches it") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local at = ...
local function boom(where) if where == at then error("boom in " .. where) end end
local ok = pcall(actor.param.run, {
  init = function() boom "init" return { w = 0 } end,
  schedule = function(workers)
    boom "schedule"
    local out = {}
    for _, id in ipairs(workers) do out[id] = { { "w" } } end
    return out
  end,
  push = function() if actor.rank == 1 then boom "push" end return { { "w", 1 } } end,
  pull = function() boom "pull" return { { "w", 1 } } end,
  barrier = function() boom "rule" return true end,
  stop = function() boom "stop" return false end,
})
print("caught", ok)
)");
  const std::string at = GENERATE("init", "schedule", "push", "pull", "rule", "stop");
  const Words flags = at == "pull" ? Words{"--isolate"} : Words{};
  const Finished run = folder.run(with(flags, {"-n", "2", "job.lua", at}), 10);
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("boom in " + at) && Contains("in main chunk"));
}

TEST_CASE("a host whose rendezvous host is gone ends within seconds also while its Lua spins") {
  const std::string loop = GENERATE(as<std::string>(), "local n = 0 while true do n = n + 1 end",
                                    "while true do pcall(function() error(io.open('/')) end) end");
  const JobFolder folder;
  folder.write("job.lua", "local actor = require 'actor'\nactor.log.info('here')\nif actor.rank > 0 then " + loop +
                              " end\nactor.collective.barrier()");
  const Words words = GENERATE(Words{"-n", "1", "job.lua"}, Words{"-n", "2", "--isolate", "job.lua"});
  Hosts hosts(folder, 2, words);
  REQUIRE(hosts[1].wait_for_output(": here", 20));
  hosts[0].signal(SIGKILL);
  CHECK(hosts[1].wait(8) == 3);
  INFO(hosts.describe());
  CHECK_THAT(hosts[1].err(), Contains("lost server 0 and the rendezvous host"));
}
