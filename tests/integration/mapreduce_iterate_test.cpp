// dataset:iterate under barrier rules: against a plain loop, with workers that are slow, die or come late.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

using Catch::Contains;

namespace {

// A contraction of a vector of sums, so that any rule comes to the same end; the model is a loop over all rows.
constexpr const char* kJob = R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local opt = actor.options {
  rows = 500, partitions = 7, steps = 60, kill = -1, at = 0, fold = false, cached = false, joins = 0, tensors = false,
}
local tensor = actor.tensor
local rows = mr.range(1, opt.rows, 1, opt.partitions):map(function(i) return i % 5 + 1, i / 7 end)
if opt.cached then rows = rows:cache() end

local function zeros()
  return opt.tensors and tensor.zeros(5, { dtype = "float64" }) or { 0, 0, 0, 0, 0 }
end

-- What rows add to each of five sums that hang on the state.
local function add(sums, key, value, state)
  sums[key] = sums[key] + value * (1 + math.sin(state[key] + 0.1 * state[key % 5 + 1]) / 40)
end

local function next_state(_, all)
  local state = zeros()
  for i = 1, 5 do
    for _, sums in ipairs(all) do state[i] = state[i] + sums[i] end
    state[i] = state[i] / opt.rows
  end
  return state
end

local calls = 0
local step = function(part, state, p, folded)
  calls = calls + 1
  if actor.id == opt.kill and calls > opt.at then os.execute("kill -9 $PPID") end
  local sums = folded or zeros()
  for _, row in ipairs(part) do add(sums, row[1], row[2], state) end
  return sums
end

local state, summary = rows:iterate {
  state = zeros(), step = step, merge = next_state, steps = opt.steps, fold = opt.fold or nil,
}
local digits = {}
for i = 1, 5 do digits[i] = ("%.17g"):format(state[i]) end
print("state " .. table.concat(digits, " "))
print("rounds " .. summary.steps .. " " .. summary.reason)
print("updates " .. summary.updates)

local model = zeros()
for _ = 1, opt.steps do
  local sums = zeros()
  for i = 1, opt.rows do add(sums, i % 5 + 1, i / 7, model) end
  model = next_state(nil, { sums })
end
local off = 0
for i = 1, 5 do off = math.max(off, math.abs(state[i] - model[i])) end
print("off " .. off)
)";

Words job(const Words& flags) { return with({"job.lua"}, flags); }

double number_after(const Finished& run, const std::string& start) { return std::stod(line_after(run.out, start)); }

void check_like_model(const Finished& run, double off) {
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "rounds ") == "60 steps");
  CHECK(number_after(run, "off ") <= off);
}

}  // namespace

TEST_CASE("iterate under bsp is the plain loop, to the bit the same wherever it runs") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Words flags = GENERATE(Words{}, Words{"--cached"}, Words{"--tensors"}, Words{"--partitions", "1"},
                               Words{"--rows", "3", "--partitions", "16"});
  const Finished one = folder.run(with({"-n", "1"}, job(flags)));
  INFO(one.description);
  check_like_model(one, 1e-12);
  for (const char* n : {"2", "3", "8"}) {
    const Finished run = folder.run(with({"-n", n}, job(flags)));
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(run.out == one.out);
  }
}

TEST_CASE("iterate runs in threads, processes and hosts") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Finished one = folder.run(with({"-n", "1"}, job({})));
  REQUIRE(one.status == 0);
  for (const std::string& place : places()) {
    const Finished run = run_at(place, folder, job({}));
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(line_after(run.out, "state ") == line_after(one.out, "state "));
  }
}

TEST_CASE("iterate folds the contributions of a worker") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const std::string n = GENERATE("1", "3", "8");
  const Words flags = GENERATE(Words{"--fold"}, Words{"--fold", "--tensors"});
  const Finished run = folder.run(with({"-n", n}, job(flags)));
  INFO(run.description);
  check_like_model(run, 1e-12);
}

TEST_CASE("iterate comes to the same end under any rule, with any number of servers") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  folder.write("rule.lua", "return function(view) return view.step <= view:quantile(0.5) + 2 end");
  const std::string rule = GENERATE("ssp:2", "asp", "pbsp:2", "pssp:2:3", "rule.lua");
  const Words flags = GENERATE(Words{}, Words{"--fold"});
  const Finished run =
      folder.run(with({"-n", "4", "--servers", "3", "--barrier", rule, "--inject", "straggler=0.25:4x"}, job(flags)));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(std::stoi(line_after(run.out, "rounds ")) >= 60);
  CHECK(number_after(run, "off ") < 1e-9);
}

TEST_CASE("a worker that dies in iterate changes nothing") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Finished whole = folder.run(with({"-n", "3"}, job({})));
  REQUIRE(whole.status == 0);
  const std::string at = GENERATE("0", "1", "4", "50");
  const Words kept = GENERATE(Words{}, Words{"--cached"});
  const Finished run = folder.run(with({"-n", "3", "--isolate"}, job(with({"--kill", "2", "--at", at}, kept))));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.err, Contains("(workers 2)"));
  CHECK(line_after(run.out, "state ") == line_after(whole.out, "state "));
}

TEST_CASE("a worker that dies in iterate with folded contributions or under another rule is made up for") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const std::string rule = GENERATE("bsp", "ssp:1", "asp");
  const Finished run = folder.run(
      with({"-n", "3", "--isolate", "--barrier", rule}, job({"--fold", "--kill", "2", "--at", "10", "--cached"})));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(number_after(run, "off ") < 1e-9);
}

TEST_CASE("a host that comes late takes partitions of an iterate over") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local rows = mr.range(1, 100, 1, 4):cache()
print("rows " .. rows:count())
local began = false
local who = rows:iterate {
  state = {},
  step = function(part, state)
    if not began then
      began = true
      actor.log.info("worker %d works on %d rows.", actor.id, #part)
    end
    return { by = actor.id, rows = #part }
  end,
  merge = function(_, parts)
    local who = {}
    for _, part in ipairs(parts) do who[part.by] = (who[part.by] or 0) + part.rows end
    return who
  end,
  stop = function(ctx) return ctx.state[1] ~= nil and ctx.state[0] ~= nil end,
}
print(("rows of 0: %d, of 1: %d"):format(who[0], who[1]))
)");
  const FreePort port;
  const Words words = {"-n", "1", "--nnodes", "1:2", "--rdzv-endpoint", port.endpoint(), "job.lua"};
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("worker 0 works on 25 rows.", 20));
  Process second = folder.start(words);
  CHECK(first.wait(20) == 0);
  CHECK(second.wait(20) == 0);
  INFO(first.describe() << second.describe());
  CHECK_THAT(first.out(), Contains("rows of 0: 50, of 1: 50\n"));
}

TEST_CASE("what is wrong with an iterate is said") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local mr = require "actor.mapreduce"
local case = ...
local rows = mr.range(1, 10, 1, 2)
local step = function(part, state, p) return #part + state end
local merge = function(state) return state end
local options = { state = 0, step = step, merge = merge, steps = 3 }
if case == "step" then
  options.step = function(_, _, p) if p == 2 then error("no luck") end return 1 end
elseif case == "nothing" then
  options.step = function() end
elseif case == "prepare" then
  options.prepare = function() end
elseif case == "merge" then
  options.merge = function() end
elseif case == "endless" then
  options.steps = nil
elseif case == "stop" then
  options.stop = function() return 1 end
elseif case == "unknown" then
  options.step_size = 1
elseif case == "state" then
  options.state = print
elseif case == "row" then
  rows = rows:map(function(i) return i < 5 and i or nil end)
elseif case == "barrier" then
  options.barrier = "bps"
elseif case == "wide" then
  rows:key_by(mr.identity):reduce_by_key(mr.sum, { barrier = "ssp:2" })
end
rows:iterate(options)
)");
  const auto [name, wanted] = GENERATE(table<const char*, const char*>({
      {"step", "iterate (job.lua:31), partition 2: job.lua:9: no luck"},
      {"nothing", "step (job.lua:11) returned nothing (is a 'return' missing?)"},
      {"prepare", "prepare (job.lua:13) returned nothing (is a 'return' missing?)"},
      {"merge", "mapreduce.iterate: merge (job.lua:15) returned nothing (is a 'return' missing?)"},
      {"endless", "job.lua:31: mapreduce.iterate: without steps= or stop= (or --seconds on the command line)"},
      {"stop", "mapreduce.iterate: stop (job.lua:19) returned number, expected a boolean"},
      {"unknown", "job.lua:31: unknown option 'step_size' to mapreduce.iterate (known: barrier, fold, merge,"},
      {"state", "job.lua:31: mapreduce.iterate: state "},
      {"row", "map (job.lua:25) failed: it returned nothing"},
      {"barrier", "'bps'"},
      {"wide", "job.lua:29: mapreduce.reduce_by_key cannot honour barrier 'ssp:2'"},
  }));
  const std::string n = GENERATE("1", "3");
  const Finished run = folder.run({"-n", n, "job.lua", name});
  INFO(name << "\n" << run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains(wanted));
}

TEST_CASE("an iterate ends after --seconds, and an action and another iterate behind it go on") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local mr = require "actor.mapreduce"
local rows = mr.range(1, 100)
local function step(part) return #part end
local n, first = rows:iterate { state = 0, step = step, merge = function(n) return n + 1 end }
print("count " .. rows:count())
local m, second = rows:iterate { state = n, step = step, merge = function(n) return n + 1 end, steps = 5 }
print(first.reason .. " " .. second.reason .. " " .. tostring(m - n == second.steps))
)");
  const Finished run = folder.run({"-n", "2", "--seconds", "2", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "count 100\nseconds steps true\n");
}

TEST_CASE("map-reduce and the parameter server go together in one job") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local n = mr.range(1, 100):count()
actor.param.run {
  init = function() return { a = n } end,
  schedule = function(ids)
    local tasks = {}
    for _, id in ipairs(ids) do tasks[id] = { { "a" } } end
    return tasks
  end,
  push = function(_, entries) return { { "a", entries[1][2] + 1 } } end,
  stop = function(ctx) return ctx.updates >= 10 end,
}
print(("%d %s %d"):format(n, actor.param.get("a") > n, mr.range(1, 50):count()))
)");
  for (const std::string& place : places()) {
    const Finished run = run_at(place, folder, {"job.lua"});
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK_THAT(run.out, Contains("100 true 50\n"));
  }
}
