#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Every worker counts its steps; the schedule watches how far apart they come. One of the three is slow.
constexpr const char* kCounting = R"(
local actor = require "actor"
local param, tensor = actor.param, actor.tensor
local widest = 0

local summary = param.run {
  init = function() return { steps = tensor.zeros(3) } end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "steps" } } end
    return tasks
  end,
  push = function(id)
    local mine = tensor.zeros(3)
    mine:set(id + 1, 1)
    return { { "steps", mine } }
  end,
  pull = actor.optim.add(),
  stop = function(ctx)
    local steps = param.get("steps")
    widest = math.max(widest, steps:max() - steps:min())
    param.set("widest", widest)
    return ctx.step >= 20
  end,
}
local steps = param.get("steps")
print("least: " .. steps:min())
print("spread: " .. math.max(param.get("widest"), steps:max() - steps:min()))
print("updates: " .. summary.updates - steps:sum())
)";

// Worker 0 stays in its first push until the others have made 20 steps: it ends only under a rule that lets them.
constexpr const char* kOneStays = R"(
local actor = require "actor"
local param, tensor = actor.param, actor.tensor
local opt = actor.options { swap = "" }

param.run {
  init = function() return { steps = tensor.zeros(3) } end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(id)
    while id == 0 and param.get("steps"):slice(1, 2, 3):min() < 20 do end
    local mine = tensor.zeros(3)
    mine:set(id + 1, 1)
    return { { "steps", mine } }
  end,
  pull = actor.optim.add(),
  stop = function(ctx)
    if ctx.updates == 0 and opt.swap ~= "" then param.set_barrier(opt.swap) end
    return ctx.step >= 1
  end,
}
print("others: " .. tostring(param.get("steps"):slice(1, 2, 3):min() >= 20))
)";

// Ten steps under whatever rule the command line names.
constexpr const char* kShort = R"(
local actor = require "actor"
local function register()
  actor.param.register_schedule(function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end)
  actor.param.register_push(function(id) return { { id, true } } end)
  actor.param.register_stop(function(ctx) return ctx.step >= 10 end)
end
register()
print(("%d steps"):format(actor.param.start().steps))
)";

struct Counted {
  Finished run;
  int spread = -1;
};

Counted count(const std::string& place, const std::string& rule) {
  const JobFolder folder;
  folder.write("job.lua", kCounting);
  Counted counted;
  counted.run =
      run_at(place, folder, {"--barrier", rule, "--inject", "straggler=0.34:4x,delay=uniform(0,0.002)", "job.lua"});
  if (counted.run.status == 0) counted.spread = std::stoi(line_after(counted.run.out, "spread: "));
  return counted;
}

Finished run_short(const JobFolder& folder, const std::string& rule) {
  folder.write("job.lua", kShort);
  return folder.run({"-n", "3", "--barrier", rule, "job.lua"});
}

}  // namespace

TEST_CASE("under each rule the work is done and every update counted") {
  const std::string rule = GENERATE(as<std::string>(), "bsp", "ssp:4", "asp", "pbsp:2", "pbsp:1@sticky", "pssp:2:4",
                                    "quorum:0.8:1", "backup:1");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const auto [run, spread] = count(place, rule);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(std::stoi(line_after(run.out, "least: ")) >= 20);
  CHECK(line_after(run.out, "updates: ") == "0");
}

TEST_CASE("steps never spread by more than 1 under BSP and s + 1 under SSP(s)") {
  const auto [rule, most] = GENERATE(table<std::string, int>({{"bsp", 1}, {"ssp:0", 1}, {"ssp:1", 2}, {"ssp:4", 5}}));
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const auto [run, spread] = count(place, rule);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(spread >= 0);
  CHECK(spread <= most);
}

TEST_CASE("every rule of the library runs a job with a straggler") {
  const JobFolder folder;
  folder.write("list.lua", R"(
for _, row in ipairs(require("actor.barrier").list()) do
  if row.kind == "rule" then print(row.example) end
end
)");
  const Finished list = folder.run({"-n", "1", "list.lua"});
  std::istringstream rules(list.out);
  size_t count_of_rules = 0;
  for (std::string rule; std::getline(rules, rule); ++count_of_rules) {
    const auto [run, spread] = count("threads", rule);
    INFO(rule << "\n" << run.description);
    CHECK(run.status == 0);
    CHECK(std::stoi(line_after(run.out, "least: ")) >= 20);
    CHECK(line_after(run.out, "updates: ") == "0");
  }
  CHECK(count_of_rules >= 17);
}

TEST_CASE("a rule that does not wait for one worker goes on without it") {
  const JobFolder folder;
  folder.write("job.lua", kOneStays);
  const std::string rule = GENERATE(as<std::string>(), "asp", "ssp:30", "pbsp:0", "quorum:0.6", "backup:1", "ksync:2",
                                    "partial:0.6", "delay_bounded:0.01:bsp");
  const Finished run = folder.run({"-n", "3", "--barrier", rule, "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "others: ") == "true");
}

TEST_CASE("a rule can be swapped while the job runs") {
  const JobFolder folder;
  folder.write("job.lua", kOneStays);
  const std::string to = GENERATE(as<std::string>(), "asp", "backup:1");
  const Finished run = folder.run({"-n", "3", "--barrier", "bsp", "job.lua", "--swap", to});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "others: ") == "true");
}

TEST_CASE("a rule comes from a file, or by its name from a file of several") {
  const JobFolder folder;
  folder.write("one.lua", "return function(view) return view:passed(view.step) == view.n end");
  folder.write("rules/two.lua", R"(
local barrier = require "actor.barrier"
return { close = function(view) return view.step <= view:min() + 2 end, far = barrier.ssp(30) }
)");
  const std::string rule = GENERATE(as<std::string>(), "one.lua", "rules/two.lua:close", "rules/two.lua:far");
  const Finished run = run_short(folder, rule);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(std::stoi(run.out) >= 10);
}

TEST_CASE("a rule file may stand within other rules") {
  const JobFolder folder;
  folder.write("one.lua", "return function(view) return view:passed(view.step) == view.n end");
  folder.write("rules/two.lua", "return { never = function() return false end, always = function() return true end }");
  folder.write("job.lua", kShort);
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  for (const char* rule : {"delay_bounded:0.01:rules/two.lua:never", "delay_bounded:0.01:sample:2:one.lua@sticky"}) {
    const Finished run = run_at(place, folder, {"--barrier", rule, "job.lua"});
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(std::stoi(run.out) >= 10);
  }
}

// With as many workers as the buffer takes, nobody goes on before all have pushed. Who has done nothing yet must not
// wait: he may come when the others have pushed.
TEST_CASE("under rules that are BSP by definition a round's updates come together and in order, when all have pushed") {
  const JobFolder folder;
  folder.write("declared.lua", R"(return require("actor.barrier").rule {
    staleness = 0, run = function(view) return view:passed(view.step) == view.n end,
  })");
  folder.write("job.lua", R"(
local actor = require "actor"
local seen = {}
actor.param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(id) return { { "x", id } } end,
  pull = function(updates)
    local ids = {}
    for i, update in ipairs(updates) do ids[i] = update[4] end
    seen[#seen + 1] = table.concat(ids, " ")
    return { { "seen", seen } }
  end,
  stop = function(ctx) return ctx.step >= 5 end,
}
for _, ids in ipairs(actor.param.get("seen")) do print("round of " .. ids) end
)");
  const std::string rule = GENERATE(as<std::string>(), "bsp", "backup:0", "quorum:1", "partial:1", "declared.lua");
  const Finished run = run_at("threads", folder, {"--barrier", rule, "job.lua"});
  INFO(rule << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK(count_of(run.out, "round of 0 1 2\n") == 5);
  CHECK(count_of(run.out, "round of") == 5);
}

TEST_CASE("the cut of --seconds is at its time: what is under way then is not merged, but counted") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local summary = actor.param.run {
  init = function() return { x = actor.tensor.zeros(1) } end,
  schedule_local = function() return { "x" } end,
  push = function() return { { "x", actor.tensor.ones(1) } } end,
  pull = actor.optim.add(),
}
print(("%s: %d merged, %d in flight, x = %d"):format(summary.reason, summary.updates, summary.in_flight,
  actor.param.get("x"):get(1)))
)");
  const Words flags = {"--barrier", GENERATE(as<std::string>(), "bsp", "asp"), "--seconds", "0.2", "--inject",
                       "delay=1"};
  const Finished run = run_at(GENERATE(as<std::string>(), "threads", "isolate"), folder, with(flags, {"job.lua"}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "seconds: 0 merged, 3 in flight, x = 0\n");
}

TEST_CASE("a rule can wait until the buffered updates are merged") {
  const JobFolder folder;
  std::string job = kCounting;
  job.replace(job.find("pull ="), 6, "merge = param.merge.buffer { k = 3 },\n  pull =");
  folder.write("job.lua", job);
  folder.write("merged.lua", "return function(view) return view.step == 0 or view.buffered == 0 end");
  const Finished run = run_at("threads", folder, {"--barrier", "merged.lua", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(std::stod(line_after(run.out, "spread: ")) == 0);
}

TEST_CASE("a rule's file is found by its full path") {
  const JobFolder folder;
  const TempDir elsewhere;
  const Finished run = run_short(folder, elsewhere.write("mine.lua", "return function() return true end").string());
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(std::stoi(run.out) >= 10);
}

TEST_CASE("a --barrier that is no rule ends with 2 before anything runs") {
  const JobFolder folder;
  const auto [rule, message] = GENERATE(table<std::string, std::string>({
      {"bps", "there is no rule 'bps'; did you mean bsp?"},
      {"nope", "there is no rule 'nope' (known: asp, "},
      {"ssp", "it is written ssp:S"},
      {"ssp:x", "s has to be a whole number of at least 0, not 'x'"},
      {"ssp:-1", "s has to be a whole number of at least 0, not '-1'"},
      {"quorum:2", "fraction has to be a number from 0 to 1, not '2'"},
      {"bsp@sticky", "bsp does not sample"},
      {"delay_bounded:x:one.lua", "seconds has to be"},
      {"sample:2:one.lua@often", "'often' is none of event, sticky, poll:SECONDS"},
      {"pbsp:2@often", "'often' is none of event, sticky, poll:SECONDS"},
  }));
  const Finished run = run_short(folder, rule);
  INFO(run.description);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("actorhost: --barrier '" + rule + "': ") && Contains(message));
  CHECK(count_of(run.err, "\n") == 1);
  CHECK(run.out.empty());
}

TEST_CASE("a --barrier file that is not there ends with 2 and is named") {
  const JobFolder folder;
  const Finished run = run_short(folder, GENERATE(as<std::string>(), "missing.lua", "delay_bounded:1:missing.lua:x"));
  INFO(run.description);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("actorhost: --barrier: cannot read 'missing.lua': No such file or directory"));
  CHECK(run.out.empty());
}

TEST_CASE("a --barrier file that gives no rule ends the run with 1 and says what is wrong") {
  const JobFolder folder;
  folder.write("syntax.lua", "return function(view) retrun true end");
  folder.write("nothing.lua", "local x = 1");
  folder.write("two.lua", "return { one = function() return true end, two = function() return true end }");
  const auto [rule, message] = GENERATE(table<std::string, std::string>({
      {"syntax.lua", "syntax.lua:1: '=' expected near 'true'"},
      {"nothing.lua", "nothing.lua has to return a rule or a table of named rules, not nothing"},
      {"two.lua", "name one of them as two.lua:NAME (one, two)"},
      {"two.lua:three", "two.lua has no rule 'three'"},
  }));
  const Finished run = run_short(folder, rule);
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("barrier '" + rule + "'") && Contains(message));
  CHECK(run.out.empty());
}

TEST_CASE("a rule that does not come back ends the run with what it was shown") {
  const JobFolder folder;
  folder.write("job.lua", kCounting);
  folder.write("compiled.lua",
               "return function(view) local n = 0 while view.step > 2 do n = n + 1 end return true end");
  folder.write("interpreted.lua", "jit.off() return function(view) while view.step > 2 do end return true end");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const std::string rule = GENERATE(as<std::string>(), "compiled.lua", "interpreted.lua");
  const Finished run = run_at(place, folder, {"--rule-timeout", "0.5", "--barrier", rule, "job.lua"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("server 0: barrier rule '" + rule + "'"));
  CHECK_THAT(run.err, Contains("did not return within 0.5 s; it was shown view.id = ") && Contains("view.step = "));
  CHECK_THAT(run.err, !Contains("interrupted") && !Contains("stdlib/"));
}

TEST_CASE("of a rule that was put in while the job runs it is said that it does not come back") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local param = require("actor").param
local function stuck() while true do end end
param.run {
  init = function() return { x = 0 } end,
  schedule_local = function() return { "x" } end,
  push = function(_, entries) return entries end,
  pull = function(entries) return entries end,
  stop = function(ctx)
    if ctx.step == 2 then param.set_barrier(stuck) end
    return ctx.step > 5
  end,
}
)");
  const Finished run = run_at("threads", folder, {"--rule-timeout", "0.5", "--barrier", "bsp", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("barrier rule 'job.lua:3' did not return within 0.5 s") && !Contains("'bsp'"));
}

TEST_CASE("a rule that raises or answers wrongly ends the run with 1, its file and line") {
  const JobFolder folder;
  folder.write("raises.lua", "return function(view)\n  return view.step < view.nonsense\nend");
  folder.write("answers.lua", "return function(view) return 'perhaps' end");
  folder.write("recheck.lua", "return function(view) return false, 'soon' end");
  folder.write("forgets.lua", "return function(view)\n  local pass = view.step < 3\nend");
  folder.write("never.lua", "return function(view) return false end");
  const auto [rule, message] = GENERATE(table<std::string, std::string>({
      {"raises.lua", "raises.lua:2: "},
      {"answers.lua", "returned string 'perhaps', expected true, false"},
      {"forgets.lua",
       "barrier rule 'forgets.lua' (forgets.lua:1): returned nil, expected true, false, or false and the "
       "seconds until it wants to be asked again (is a 'return' missing?)"},
      {"recheck.lua", "returned false, string 'soon', expected true, false"},
      {"never.lua", "its rule would never let anybody pass"},
  }));
  const Finished run = run_short(folder, rule);
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains(message));
  CHECK(count_of(run.err, "stack traceback") <= 1);
  CHECK(count_of(run.err, "server 0: ") == 1);
}
