// Jobs that save their own state (actor.checkpoint, iterate's checkpoint=) and go on from it: whatever the number of
// ranks, wherever they are, and after kill -9 at any moment.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

/// Every rank adds to a tensor that all have and to a number of its own; saves at every third of ten steps.
constexpr const char* kJob = R"(
local actor = require "actor"
local ranks, last, parts = ...
local keeper = actor.checkpoint.new { steps = 3, ranks = ranks }
local state = keeper:load { parts = parts == "parts" }
if state and parts then
  local text = {}
  for i, each in ipairs(state) do text[i] = ("%d:%d"):format(each.rank, each.own) end
  return print("parts " .. table.concat(text, " "))
end
state = state or { step = 0, x = actor.tensor.zeros(4), own = 0, rank = actor.rank }
local first = state.step
while state.step < tonumber(last) do
  state.step = state.step + 1
  state.x, state.own = state.x + state.step, state.own + actor.rank * state.step
  keeper:save(state)
end
local own = actor.collective.allgather(actor.tensor { state.own })
print(("from %d to %d: %g, own %s"):format(first, state.step, state.x:sum(), table.concat(own:totable(), " ")))
)";

std::vector<std::string> entries_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("rank 0's state is saved and goes to every rank of a resumed run, whatever their number") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Finished first = run_at(place, folder, {"--checkpoint", "saved", "job.lua", "first", "8"});
  INFO(place << "\n" << first.description);
  CHECK(first.status == 0);
  CHECK_THAT(first.out, Contains("from 0 to 8: 144, own 0 36 72"));
  CHECK(entries_of(folder.path() / "saved") == Words{"state-000000000001", "state-000000000002"});
  const Finished same = run_at(place, folder, {"--resume", "saved", "job.lua", "first", "10"});
  INFO(same.description);
  CHECK_THAT(same.out, Contains("from 6 to 10: 220, own 0 34 68"));  // each has gone on from rank 0's
  const Finished fewer = folder.run({"-n", "2", "--resume", "saved", "job.lua", "first", "12"});
  INFO(fewer.description);
  CHECK(fewer.out == "from 9 to 12: 312, own 0 33\n");
}

TEST_CASE("with ranks = 'all' each rank gets back its own; another number of ranks is refused, or gets all parts") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Finished first = run_at(place, folder, {"--checkpoint", "saved", "job.lua", "all", "8"});
  INFO(place << "\n" << first.description);
  CHECK_THAT(first.out, Contains("from 0 to 8: 144, own 0 36 72"));
  const Finished same = run_at(place, folder, {"--resume", "saved", "job.lua", "all", "10"});
  INFO(same.description);
  CHECK_THAT(same.out, Contains("from 6 to 10: 220, own 0 55 110"));
  const Finished fewer = folder.run({"-n", "2", "--resume", "saved", "job.lua", "all", "12"});
  INFO(fewer.description);
  CHECK(fewer.status == 1);
  CHECK_THAT(fewer.err, Contains("job.lua:5: checkpoint:load: 'state' was saved by 3 ranks and this run has 2; "
                                 "load { parts = true } gives all 3 parts to each rank"));
  const Finished parts = folder.run({"-n", "2", "--resume", "saved", "job.lua", "all", "12", "parts"});
  INFO(parts.description);
  CHECK(parts.out == "parts 0:0 1:45 2:90\n");
  const Finished other = folder.run({"-n", "2", "--resume", "saved", "job.lua", "first", "12"});
  CHECK_THAT(other.err, Contains("'state' was saved with ranks = 'all', by 3 of them"));
}

TEST_CASE("without --checkpoint nothing is saved, and --resume of a folder without checkpoints is refused") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Finished plain = folder.run({"-n", "1", "job.lua", "first", "8"});
  CHECK(plain.out == "from 0 to 8: 144, own 0\n");
  CHECK(entries_of(folder.path()).size() == entries_of(JobFolder().path()).size() + 1);  // the job itself
  const Finished none = folder.run({"-n", "1", "--resume", "saved", "job.lua", "first", "8"});
  CHECK(none.status == 2);
  CHECK_THAT(none.err, Contains("--resume: there is no complete checkpoint in 'saved'"));
}

TEST_CASE("a damaged newest checkpoint of a job's own is named and the one before it is used") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  CHECK(folder.run({"-n", "1", "--checkpoint", "saved", "job.lua", "first", "8"}).status == 0);
  {
    std::fstream file(folder.path() / "saved/state-000000000002/values.npz", std::ios::in | std::ios::out);
    file.seekp(100);
    file.put('!');
  }
  const Finished run = folder.run({"-n", "1", "--resume", "saved", "job.lua", "first", "8"});
  INFO(run.description);
  CHECK(run.out == "from 3 to 8: 144, own 0\n");
  CHECK_THAT(run.err, Contains("checkpoint saved/state-000000000002 is damaged and skipped"));
}

TEST_CASE("a state that cannot be saved is an error at the call") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local keeper = actor.checkpoint.new { steps = 1, name = ... }
keeper:save { f = print }
)");
  const Finished function = folder.run({"-n", "1", "--checkpoint", "saved", "job.lua", "f"});
  CHECK_THAT(function.err, Contains("job.lua:4:") && Contains("function"));
  CHECK(function.status == 1);
  const Finished name = folder.run({"-n", "1", "--checkpoint", "saved", "job.lua", "checkpoint"});
  CHECK_THAT(name.err, Contains("job.lua:3: bad argument 'name' to checkpoint.new"));
}

TEST_CASE("killed at any moment, a job that saves all the time goes on from what is complete") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local keeper = actor.checkpoint.new { steps = 1, ranks = ... }
local state = keeper:load() or { step = 0, x = actor.tensor.zeros(20000), y = actor.tensor.zeros(10) }
assert(state.x:min() == state.step and state.x:max() == state.step and state.y:max() == state.step, "mixed")
print("from " .. state.step)
while true do
  local step = state.step + 1
  state = { step = step, x = actor.tensor.full({ 20000 }, step), y = actor.tensor.full({ 10 }, step) }
  keeper:save(state)
  print("saved " .. step)
end
)");
  const std::string ranks = GENERATE(as<std::string>(), "first", "all");
  const unsigned seed = std::random_device()();
  INFO("ranks " << ranks << ", seed " << seed);
  std::mt19937 random(seed);
  long last = 0;
  for (int round = 0; round < 6; ++round) {
    const Words resume = last > 0 ? Words{"--resume", "saved"} : Words{"--checkpoint", "saved"};
    Process run = folder.start(with(with({"-n", "2"}, resume), {"job.lua", ranks}));
    REQUIRE(run.wait_for_output("saved ", 20));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));  // the moment is what is random here
    run.signal(SIGKILL);
    run.wait(10);
    INFO(run.describe());
    const std::string out = run.out();
    const long from = std::stol(line_after(out, "from "));
    CHECK((from == last || from == last + 1));  // the last one may have been complete and not said
    const size_t complete = out.rfind('\n');
    const size_t at = out.rfind("saved ", complete);
    last = std::stol(out.substr(at + 6));
  }
}

TEST_CASE("iterate goes on from its newest state, with other nodes, after kill -9") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local steps, stop_at = tonumber((...)), tonumber((select(2, ...)))
local merges = 0
local state, summary = mr.range(1, 100):iterate {
  state = actor.tensor.zeros({ 3 }, { dtype = "float64" }), steps = steps, barrier = "bsp", checkpoint = { steps = 4 },
  step = function(rows, x)
    local sum = 0
    for _, row in ipairs(rows) do sum = sum + row end
    return sum + x:get(1) % 7
  end,
  merge = function(x, parts)
    merges = merges + 1
    if merges == stop_at then
      tell("there")
      await("never")
    end
    local sum = 0
    for _, part in ipairs(parts) do sum = sum + part end
    return x + sum
  end,
}
local again = mr.range(1, 10):iterate { state = 0, steps = 2, step = function() return 1 end, merge = function(s) return s + 1 end }
print(("%d steps: %.0f, %d"):format(summary.steps, state:get(1), again))
)");
  const Finished whole = folder.run({"-n", "2", "job.lua", "10"});
  INFO(whole.description);
  REQUIRE(whole.status == 0);
  Process killed = folder.start({"-n", "2", "--checkpoint", "saved", "job.lua", "10", "7"});
  INFO(killed.describe());
  REQUIRE(killed.wait_for_output("checkpoint saved/iterate-1-000000000001", 20));
  killed.signal(SIGKILL);
  killed.wait(10);
  const Finished resumed = folder.run({"-n", "2", "--resume", "saved", "job.lua", "10", "7"});
  INFO(resumed.description);
  CHECK(resumed.status == 0);  // 6 merges were left to make
  CHECK(resumed.out == whole.out);
  const Finished done = folder.run({"-n", "3", "--resume", "saved", "job.lua", "10", "1"});
  INFO(done.description);
  CHECK(done.out == whole.out);  // nothing left to merge
}
