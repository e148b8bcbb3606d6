// --record: what the trace of a run says, wherever its workers are and however it ends. The traces are read by
// actor.trace, which refuses what cannot be (steps that are not consecutive, times that go back).

#include <algorithm>
#include <chrono>
#include <csignal>
#include <regex>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Work that takes no time of its own, for some steps in some runs, or until worker `until_worker` has done a piece.
// Push number `stay` of each worker takes `seconds`.
constexpr const char* kJob = R"(
local actor = require "actor"
local opt = actor.options { steps = 5, runs = 1, stay = 0, seconds = 0, until_worker = -1 }
local pushes = 0

local function has_worked(wanted)
  for _, id in ipairs(actor.param.keys()) do
    if id == wanted then return true end
  end
  return false
end

for run = 1, opt.runs do
  local summary = actor.param.run {
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
      return tasks
    end,
    push = function(id)
      pushes = pushes + 1
      if pushes == 1 then actor.log.info("worker %d works.", id) end
      if pushes == opt.stay then require("actor.c.node").sleep(opt.seconds) end
      return { { id, true } }
    end,
    stop = function(ctx) return opt.steps > 0 and ctx.step >= opt.steps or has_worked(opt.until_worker) end,
  }
  print(("run %d: %d updates"):format(run, summary.updates))
end
)";

// Says what a trace holds, a line for the file, for each run and for each worker.
constexpr const char* kShow = R"(
local actor = require "actor"
local recorded = actor.trace.read(actor.args[1])
local h = recorded.header
print(("file: job %s, seed %s, servers %s, resample '%s', note %s"):format(h.job, h.seed, h.servers, h.resample, recorded.note))
local viewer = actor.trace.chrome(recorded)
print(("viewer: %s, %d spans"):format(viewer:match('^{"displayTimeUnit":"ms","traceEvents":%[\n.*\n%]}\n$') ~= nil,
  select(2, viewer:gsub('"ph":"X"', ""))))
for _, run in ipairs(recorded.runs) do
  local summary = actor.trace.summary(run)
  print(("run %d: barrier %s, %s workers, %d completed, mean step %.2f, stop %s"):format(run.index, run.header.barrier,
    run.header.workers, summary.completed, summary.mean_step, run.stop and ("%.3f"):format(run.stop)))
  local barrier = true -- nobody was in a step before all had completed the one before
  for _, worker in ipairs(run.workers) do
    for i, step in ipairs(worker.steps) do
      for _, other in ipairs(run.workers) do
        barrier = barrier and (step == 1 or (other.time[i - 1] or math.huge) <= worker.released[i])
      end
    end
  end
  print("run " .. run.index .. ": in lockstep " .. tostring(barrier))
  for i, worker in ipairs(run.workers) do
    local least = math.huge
    for _, seconds in ipairs(worker.compute) do least = math.min(least, seconds) end
    print(("worker %d: joined %.3f at %d, %d completed, %d started, least work %.4f, open %s, left %s"):format(worker.id,
      worker.joins[1].time, worker.joins[1].step, #worker.steps, summary.workers[i].started, least,
      worker.open and worker.open.step, worker.leaves[1] and worker.leaves[1].step))
  end
end
)";

struct Folder : JobFolder {
  Folder() {
    write("job.lua", kJob);
    write("show.lua", kShow);
  }
  std::string trace() const { return read_text(path() / "trace.csv"); }
  std::string show() const {
    const Finished shown = run({"-n", "1", "show.lua", "trace.csv"});
    INFO(shown.description << trace());
    REQUIRE(shown.status == 0);
    return shown.out;
  }
  /// Waits until the trace has `text`.
  void await(const std::string& text) const {
    const double deadline = now() + 20 * patience();
    while (now() < deadline) {
      if (std::filesystem::exists(path() / "trace.csv") && trace().find(text) != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL("the trace does not come to '" + text + "':\n" + trace());
  }
};

/// The numbers that `pattern`'s first group matches, one behind the other.
std::vector<double> numbers(const std::string& text, const std::string& pattern) {
  std::vector<double> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.push_back(std::stod((*at)[1]));
  }
  return found;
}

}  // namespace

TEST_CASE("a run is recorded with its barrier, its stragglers and all its steps, wherever the workers are") {
  const Folder folder;
  const std::string place = GENERATE(from_range(places()));
  const Finished run =
      run_at(place, folder,
             {"--record", "trace.csv", "--seed", "3", "--inject", "straggler=0.34:4x,delay=const(0.05)", "job.lua"});
  INFO(run.description);
  REQUIRE(run.status == 0);
  const std::string shown = folder.show();
  INFO(shown);
  CHECK_THAT(shown, Contains("file: job job.lua, seed 3, servers 1, resample '', note nil\n"));
  CHECK_THAT(shown, Contains("viewer: true, ") && Contains("run 1: barrier bsp, 3 workers, 15 completed"));
  CHECK(numbers(shown, "mean step 5.00, stop ([0-9.]+)").at(0) >= 5 * 0.2);
  CHECK_THAT(shown, Contains("run 1: in lockstep true\n"));
  CHECK(count_of(shown, "joined 0.000 at 0, 5 completed, 5 started, ") == 3);
  CHECK(count_of(shown, "open nil, left nil\n") == 3);
  std::vector<double> work = numbers(shown, "least work ([0-9.]+)");
  std::sort(work.begin(), work.end());
  REQUIRE(work.size() == 3);
  CHECK(work[0] >= 0.05);
  CHECK(work[1] < 0.2);
  CHECK(work[2] >= 0.2);
}

TEST_CASE("several shards and a Lua barrier are recorded too") {
  const Folder folder;
  folder.write("rule.lua", "return function(view) return view.step <= view:min() + 1 end");
  const Finished run = folder.run(
      {"-n", "3", "--servers", "3", "--barrier", "rule.lua", "--resample", "sticky", "--record=trace.csv", "job.lua"});
  INFO(run.description);
  REQUIRE(run.status == 0);
  CHECK_THAT(folder.show(),
             Contains("servers 3, resample 'sticky', note nil") && Contains("barrier rule.lua, 3 workers"));
}

TEST_CASE("each run of a job is a section of its trace") {
  const Folder folder;
  const Finished run = folder.run({"-n", "2", "--record", "trace.csv", "job.lua", "--runs", "3", "--steps", "2"});
  INFO(run.description);
  REQUIRE(run.status == 0);
  const std::string shown = folder.show();
  INFO(shown);
  for (const char* index : {"1", "2", "3"}) {
    CHECK_THAT(shown,
               Contains(std::string("run ") + index + ": barrier bsp, 2 workers, 4 completed, mean step 2.00, stop"));
  }
  CHECK(count_of(shown, "joined 0.000 at 0, 2 completed") == 6);
}

TEST_CASE("a run that is stopped in the middle of steps says who was in one") {
  const Folder folder;
  const Finished run = folder.run({"-n", "3", "--barrier", "asp", "--seconds", "1", "--record", "trace.csv", "job.lua",
                                   "--steps", "0", "--stay", "3", "--seconds", "3"});
  INFO(run.description);
  REQUIRE(run.status == 0);
  const std::string shown = folder.show();
  INFO(shown);
  const double stop = numbers(shown, "stop ([0-9.]+)").at(0);
  CHECK(stop >= 1);
  const std::vector<double> completed = numbers(shown, "([0-9]+) completed, [0-9]+ started");
  const std::vector<double> started = numbers(shown, "([0-9]+) started");
  REQUIRE(completed.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(started[i] == completed[i] + 1);
  CHECK(count_of(shown, "open nil") == 0);
}

TEST_CASE("a worker that is killed leaves the trace with its step open") {
  const Folder folder;
  folder.write("stays.lua", R"(
local actor = require "actor"
local process = io.open("/proc/self/stat"):read("*n")
local pushes = 0
actor.param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(id)
    pushes = pushes + 1
    if id == 1 and pushes == 3 then
      actor.log.info("stays in process %d.", process)
      while true do end
    end
    return { { id, true } }
  end,
  stop = function(ctx) return ctx.step >= 5 end,
}
)");
  Process run = folder.start({"-n", "3", "--isolate", "--record", "trace.csv", "stays.lua"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  REQUIRE(status == 0);
  const std::string shown = folder.show();
  INFO(shown);
  CHECK_THAT(shown, Contains("note nil\n") && Contains("mean step 5.00"));
  CHECK_THAT(shown, Contains("worker 1: joined 0.000 at 0, 2 completed, 3 started, ") && Contains("open 2, left 2\n"));
}

TEST_CASE("a worker that joins late is in the trace from then on, at the slowest one's step") {
  const Folder folder;
  const FreePort port;
  const Words meeting = {"-n", "1", "--nnodes", "1:2", "--rdzv-endpoint", port.endpoint()};
  const Words record = {"--inject", "delay=const(0.01)", "--record", "trace.csv"};
  const Words words = with(with(meeting, record), {"job.lua", "--steps", "0", "--until_worker", "1"});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("worker 0 works.", 20));
  folder.await("step,0,10,");
  Process second = folder.start(words);
  const auto status = first.wait(20);
  CHECK(second.wait(20) == 0);
  INFO(first.describe() << second.describe());
  REQUIRE(status == 0);
  const std::string shown = folder.show();
  INFO(shown);
  CHECK_THAT(shown, Contains("run 1: barrier bsp, 1 workers, ") && Contains("worker 0: joined 0.000 at 0, "));
  CHECK(numbers(shown, "worker 1: joined ([0-9.]+)").at(0) > 0.1);
  CHECK(numbers(shown, "worker 1: joined [0-9.]+ at ([0-9]+)").at(0) >= 10);
  CHECK(numbers(shown, "worker 1: .* ([0-9]+) completed").at(0) >= 1);
}

TEST_CASE("a killed run leaves what it had recorded until a second before") {
  const Folder folder;
  Process run =
      folder.start({"-n", "2", "--inject", "delay=const(0.05)", "--record", "trace.csv", "job.lua", "--steps", "0"});
  folder.await("step,1,20,");
  run.signal(SIGKILL);
  CHECK(run.wait(20) == 128 + SIGKILL);
  CHECK_THAT(folder.show(), Contains("run 1 has no stop\n") && Contains("in lockstep true"));
}

TEST_CASE("a run of slow steps has each of them in its trace before the next one ends") {
  const Folder folder;
  Process run =
      folder.start({"-n", "1", "--record", "trace.csv", "job.lua", "--steps", "0", "--stay", "2", "--seconds", "1000"});
  folder.await("step,0,1,");
  CHECK(run.running());
}

TEST_CASE("an interrupted run has all of its steps but no stop") {
  const Folder folder;
  Process run =
      folder.start({"-n", "2", "--inject", "delay=const(0.05)", "--record", "trace.csv", "job.lua", "--steps", "0"});
  folder.await("step,1,5,");
  run.signal(SIGINT);
  CHECK(run.wait(20) == 130);
  CHECK_THAT(folder.show(), Contains("note run 1 has no stop\n"));
}

TEST_CASE("a trace that cannot be written is refused at the start, with its name") {
  const Folder folder;
  const std::string file = GENERATE(as<std::string>(), "missing/trace.csv", ".");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Finished run = run_at(place, folder, {"--record", file, "job.lua"});
  INFO(run.description);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("actorhost: --record: cannot write to '" + file + "': "));
  CHECK(run.out.empty());
}

TEST_CASE("only the rendezvous host takes notice of --record") {
  const Folder folder;
  const FreePort port;
  const Words meeting = {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--record"};
  Process first = folder.start(with(meeting, {"trace.csv", "job.lua"}));
  REQUIRE(first.wait_for_output("info] seed", 20));
  Process second = folder.start(with(meeting, {"missing/trace.csv", "job.lua"}));
  CHECK(first.wait(20) == 0);
  CHECK(second.wait(20) == 0);
  INFO(first.describe() << second.describe());
  CHECK_THAT(folder.show(), Contains("2 workers, 10 completed"));
}

TEST_CASE("a disk that is full ends the recording and not the run") {
  const Folder folder;
  const Finished run = folder.run({"-n", "2", "--record", "/dev/full", "job.lua", "--runs", "2"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("run 2: 10 updates"));
  CHECK(count_of(run.err, "cannot write to '/dev/full': No space left on device") == 1);
}

TEST_CASE("the help names --record") {
  const JobFolder folder;
  CHECK_THAT(folder.run({"--help"}).out, Contains("--record FILE"));
}
