// From the cluster to the simulator's side: a rule file notes each view that a real run shows it, and its answer. The
// notes are then shown to a fresh evaluator of the same rule in a VM of its own, which has to answer the same.

#include <sstream>

#include <catch2/catch.hpp>

#include "tests/bindings/vm_fixture.hpp"
#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

// Remembers, draws, looks at arrays and asks to be asked again.
constexpr const char* kRule = R"(
return function(view)
  local memory, shared = view.memory, view.shared
  memory.asked = (memory.asked or 0) + 1
  shared.total = (shared.total or 0) + 1
  local slow = 0
  for i = 1, view.n do
    if view.busy[i] and view.alive[i] and view.averages[i] > view.average then slow = slow + 1 end
  end
  if view.step < view:quantile(0.5) + slow % 2 or view.rng:uniform() < 0.2 or memory.asked > 2 then return true end
  return false, 0.002 * (1 + shared.total % 3)
end
)";

// The rule RULE, which writes a line of numbers to PATH for each answer.
constexpr const char* kNoting = R"(
local run = (function() RULE end)()
local file
return function(view)
  file = file or assert(io.open("PATH", "w"))
  local row = { view.now, view.id, view.step, view.waited, view.buffered, view.n }
  for _, name in ipairs { "ids", "steps", "busy", "alive", "pulled", "started", "durations", "averages" } do
    for i = 1, view.n do
      local value = view[name][i]
      row[#row + 1] = type(value) == "boolean" and (value and 1 or 0) or value
    end
  end
  local pass, recheck = run(view)
  row[#row + 1], row[#row + 2] = pass and 1 or 0, recheck or math.huge
  for i = 1, #row do row[i] = ("%.17g"):format(row[i]) end
  file:write(table.concat(row, " "), "\n")
  file:flush()
  return pass, recheck
end
)";

constexpr const char* kJob = R"(
local actor = require "actor"
local summary = actor.param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(id) return { { id, true } } end,
  stop = function(ctx) return ctx.step >= 40 end,
}
print("updates: " .. summary.updates)
)";

// Fills an evaluator's batch with each noted view, by hand, and prints how often the answer is another one.
constexpr const char* kReplay = R"(
local text, path, seed = ...
local ffi = require "ffi"
local barrier = require "actor.barrier"
local evaluator = barrier.evaluator(load(text, "@rule.lua", "t")(), tonumber(seed))
local asking = evaluator.asking
-- Clocks of nobody, so that what is seen is taken from the arrays alone.
local nobody = barrier.progress()
require("actor.ffi")("barrier").progress_begin(nobody.handle, 0, 0, asking)

local types = { "uint32_t", "int32_t", "uint8_t", "uint8_t", "double", "double", "double", "double" }
local fields = { "ids", "steps", "busy", "alive", "pulled", "started", "durations", "averages" }
local askings, passes, different = 0, 0, 0
for line in io.lines(path) do
  local numbers, at = {}, 7
  for word in line:gmatch("%S+") do numbers[#numbers + 1] = tonumber(word) end
  local now, id, step, waited, buffered, n = unpack(numbers, 1, 6)
  local kept = { ffi.new("uint32_t[?]", n), ffi.new("double[?]", n), ffi.new("uint32_t[1]"), ffi.new("ah_decision[1]") }
  for k, field in ipairs(fields) do
    local array = ffi.new(types[k] .. "[?]", n)
    for i = 0, n - 1 do array[i], at = numbers[at], at + 1 end
    asking[field], kept[#kept + 1] = array, array
  end
  local everyone = asking.everyone
  everyone.slots, everyone.n, everyone.lowest, everyone.highest = kept[1], n, math.huge, -math.huge
  for i = 0, n - 1 do
    kept[1][i] = i
    everyone.lowest = math.min(everyone.lowest, asking.steps[i])
    everyone.highest = math.max(everyone.highest, asking.steps[i])
    if asking.ids[i] == id then kept[3][0] = i end
  end
  assert(asking.ids[kept[3][0]] == id and asking.steps[kept[3][0]] == step and at == #numbers - 1)
  for i = 0, n - 1 do kept[2][i] = now - waited end
  kept[4][0].recheck_seconds = math.huge
  asking.asked, asking.asking, asking.decisions = kept[2], kept[3], kept[4]
  asking.now, asking.population, asking.buffered, asking.count, asking.live = now, n, buffered, 1, 1
  evaluator.answer_one()
  askings, passes = askings + 1, passes + kept[4][0].pass
  if kept[4][0].pass ~= numbers[at] or kept[4][0].recheck_seconds ~= numbers[at + 1] then different = different + 1 end
end
print(("%d %d %d"):format(askings, passes, different))
)";

std::string with_text(std::string text, const std::string& place, const std::string& by) {
  return text.replace(text.find(place), place.size(), by);
}

struct Replayed {
  int askings = 0;
  int passes = 0;
  int different = 0;
};

Replayed replay(const std::string& rule, const std::filesystem::path& notes, int seed) {
  VmConfig config;
  config.args = {rule, notes.string(), std::to_string(seed)};
  actorhost::testing::VmFixture lua(std::move(config));
  lua.run(kReplay);
  Replayed out;
  std::istringstream(lua.lines.at(0)) >> out.askings >> out.passes >> out.different;
  return out;
}

}  // namespace

TEST_CASE("the views of a real run get the same answers from a fresh evaluator of the run's rule and seed") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const JobFolder folder;
  const std::filesystem::path notes = folder.path() / "views";
  folder.write("job.lua", kJob);
  folder.write("rule.lua", with_text(with_text(kNoting, "RULE", kRule), "PATH", notes.string()));
  const Finished run = run_at(
      place, folder,
      {"--barrier", "rule.lua", "--seed", "7", "--inject", "straggler=0.34:4x,delay=uniform(0,0.003)", "job.lua"});
  INFO(run.description);
  REQUIRE(run.status == 0);
  const Replayed same = replay(kRule, notes, 7);
  CHECK(same.askings > 150);
  CHECK(same.passes >= 3 * 40);
  CHECK(same.passes < same.askings - 20);
  CHECK(same.different == 0);
  // Not by accident: another seed, or a rule that remembers another way, answers differently.
  CHECK(replay(kRule, notes, 8).different > 5);
  CHECK(replay(with_text(kRule, "shared.total % 3", "shared.total % 4"), notes, 7).different > 5);
}
