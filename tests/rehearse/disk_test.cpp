// Simulated disks: after a crash, the resumed run finds the newest checkpoint. ACTORHOST_TEST_SEEDS=100 sets the number
// of seeds, ACTORHOST_TEST_SEED the first.

#include "host/base/random.hpp"
#include "tests/rehearse/rehearsals.hpp"

namespace {

/// Saves after each step. The last line of the file "saved" is the step of the newest checkpoint.
const char* const kSaves = R"(
  local actor = require "actor"
  local tensor = actor.tensor
  local keeper = actor.checkpoint.new { steps = 1, ranks = ... }
  local state = keeper:load() or { step = 0, x = tensor.zeros(5000) }
  if actor.rank == 0 then print("starts at " .. state.step) end
  while state.step < 25 do
    local sum, _, code = actor.collective.allreduce(tensor.ones(5000))
    if code then os.exit(3) end
    state.x, state.step = state.x + sum, state.step + 1
    if keeper:save(state) then
      local file = assert(io.open("saved", "w"))
      file:write("saved at ", state.step, " updates\n")
      file:close()
    end
  end
  assert(state.x:min() == 75 and state.x:max() == 75, tostring(state.x))
)";

/// Three workers of a parameter server count to 60, with a checkpoint after each of their steps.
const char* const kTrains = R"(
  local actor = require "actor"
  actor.param.run {
    init = function(from)
      print("starts at " .. from.updates)
      return { x = actor.tensor.zeros(5000) }
    end,
    schedule_local = function() return { "x" } end,
    push = function()
      actor.sleep(0.01)
      return { { "x", actor.tensor.ones(5000) } }
    end,
    pull = actor.optim.add(),
    barrier = "bsp",
    checkpoint = { steps = 1 },
    stop = function(ctx) return ctx.step >= 20 end,
  }
  local x = actor.param.get "x"
  assert(x:min() == 60 and x:max() == 60, tostring(x))
)";

/// Three workers train with an optimiser that has all its kinds of state, and print a hash of the values. Argument: the
/// optimiser.
const char* const kOptimises = R"(
  local actor = require "actor"
  local optim, param, tensor = actor.optim, actor.param, actor.tensor
  local wave = optim.decay.cosine { every = 3, floor = 0.1 }
  local options = { lr = 0.1, decay = optim.decay.warm_up { steps = 3, start = 0.2, next = wave } }
  local own = { sgd = { momentum = 0.9, weight_decay = 0.01 }, rmsprop = { momentum = 0.9 }, adagrad = { initial = 0.1 } }
  for name, value in pairs(own[...] or {}) do options[name] = value end
  param.run { -- a resumed job does not repeat it
    init = function() return { count = tensor.zeros(1) } end,
    schedule_local = function() return {} end,
    push = function() return { { "count", tensor.ones(1) } } end,
    pull = optim.add(),
    barrier = "bsp",
    checkpoint = { steps = 1 },
    stop = function(ctx) return ctx.step >= 2 end,
  }
  param.run {
    init = function() return { small = tensor.ones(5), large = tensor.normal(40003, { seed = 1 }) } end,
    schedule_local = function() return { "small", "large" } end,
    push = function(ctx, entries)
      actor.sleep(0.01)
      local out = {}
      for i, entry in ipairs(entries) do out[i] = { entry[1], (entry[2] * 3 + (ctx.id + ctx.step)):sin() } end
      return out
    end,
    pull = optim[...](... == "add" and {} or options),
    barrier = "bsp",
    checkpoint = { steps = 1 },
    stop = function(ctx) return ctx.step >= 20 end,
  }
  assert(param.get "count"[1] == 6)
  if actor.rank == 0 then print(actor.hash { param.get "small", param.get "large" }) end
)";

/// Writes a checkpoint of rows, or reads the checkpoint of an earlier run.
const char* const kRows = R"(
  local actor = require "actor"
  local mr = actor.mapreduce
  local read = io.open "rows/_SUCCESS" ~= nil
  local rows = mr.range(1, 20000):map(function(i)
    if i % 1000 == 0 then actor.sleep(0.01) end
    return i * 3
  end):checkpoint("rows", { resume = true, overwrite = not read })
  assert(rows:count() == 20000 and rows:sum() == 3 * 20000 * 20001 / 2, rows:sum())
)";

/// The number in the last match of the pattern; 0 without a match.
uint64_t last_number(const std::string& text, const char* pattern) {
  const std::regex number(pattern);
  uint64_t last = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at) last = std::stoull((*at)[1]);
  return last;
}

/// The faults of the `number`-th of 50 runs: host 0 crashes at another moment in each.
std::string crash(uint64_t number) {
  const double at = 0.01 + 0.25 * static_cast<double>(number * 17 % 50) / 50;
  return "return function(world) world:at(" + std::to_string(at) + ", 'crash', 0) end";
}

}  // namespace

TEST_CASE("a run that resumes after a crash finds the newest checkpoint", "[deep]") {
  const auto& [name, text, arguments, writes, reads] =
      GENERATE(table<std::string, const char*, Words, std::string, std::string>({
          {"saves.lua", kSaves, {"first"}, "--checkpoint", "--resume"},
          {"saves.lua", kSaves, {"all"}, "--checkpoint", "--resume"},
          {"trains.lua", kTrains, {}, "--checkpoint", "--resume"},
          {"rows.lua", kRows, {}, "", ""},
      }));
  Rehearsals rehearsals;
  const Words job = with({rehearsals.write(name, text)}, arguments);
  const auto flags = [&](const std::string& flag) { return flag.empty() ? job : with({flag, "own"}, job); };
  const uint64_t first = number_of("ACTORHOST_TEST_SEED", 1);
  const uint64_t count = number_of("ACTORHOST_TEST_SEEDS", 8);
  size_t crashes = 0;
  size_t saved_crashes = 0;
  for (uint64_t order = first; order < first + count; ++order) {
    const std::string faults = rehearsals.write("faults.lua", crash(order));
    const Run crashed = rehearsals.run({name, with({"--faults", faults}, flags(writes))}, order);
    INFO("ACTORHOST_TEST_SEED=" << order << "\n" << crashed.ended.description);
    CHECK((crashed.ended.status == 0 || crashed.ended.status == 3));
    if (crashed.ended.status == 0) continue;
    ++crashes;
    // The saving job writes the step of its newest checkpoint to a file, the server writes it to the log.
    const std::filesystem::path saved = rehearsals.work() / "saved";
    const bool exists = std::filesystem::exists(saved);
    const uint64_t newest = last_number(exists ? read_text(saved) : crashed.ended.err, " at ([0-9]+) updates");
    if (newest > 0) ++saved_crashes;
    const Run resumed = rehearsals.run_again({name, flags(newest > 0 ? reads : writes)}, order);
    INFO(resumed.ended.description);
    CHECK(resumed.ended.status == 0);
    CHECK(last_number(resumed.ended.out, "starts at ([0-9]+)") >= newest);
  }
  CHECK(crashes > 0);
  CHECK((saved_crashes > 0 || reads.empty()));  // rows are saved in one step, without a report
}

TEST_CASE("a resumed optimiser ends with the bits of a run without a crash, also on other servers", "[deep]") {
  const std::string optimiser = GENERATE("add", "sgd", "adagrad", "adam", "rmsprop", "adamw");
  Rehearsals rehearsals;
  const Words job = {rehearsals.write("optimises.lua", kOptimises), optimiser};
  const Run whole = rehearsals.run({optimiser, job}, 1);
  const uint64_t first = number_of("ACTORHOST_TEST_SEED", 1);
  const uint64_t count = number_of("ACTORHOST_TEST_SEEDS", 3);
  size_t crashes = 0;
  for (uint64_t order = first; order < first + count; ++order) {
    const std::string faults = rehearsals.write("faults.lua", crash(order));
    const auto servers = [&](uint64_t more) { return std::to_string(1 + (order + more) % 3); };
    const Words saves = {"--servers", servers(0), "--checkpoint", "own", "--faults", faults};
    const Run crashed = rehearsals.run({optimiser, with(saves, job)}, order);
    INFO("ACTORHOST_TEST_SEED=" << order << "\n" << whole.ended.description << crashed.ended.description);
    if (crashed.ended.err.find("checkpoint own/") == std::string::npos) continue;
    ++crashes;
    const Run resumed =
        rehearsals.run_again({optimiser, with({"--servers", servers(1), "--resume", "own"}, job)}, order);
    INFO(resumed.ended.description);
    CHECK(resumed.ended.status == 0);
    CHECK(resumed.ended.out == whole.ended.out);
  }
  CHECK(crashes > 0);
}

TEST_CASE("a server that crashes and resumes merges each batch once, under other rules and with other hosts",
          "[deep]") {
  const Words job =
      with({(source_dir() / "tests/integration/jobs/resume.lua").string()},
           GENERATE(Words{}, Words{"--pull", "lua"}, Words{"--merge", "buffer"}, Words{"--merge", "drop"}));
  const Words rules = {"bsp", "ssp:2", "asp", "pbsp:1", "pssp:1:2"};
  Rehearsals rehearsals;
  const uint64_t first = number_of("ACTORHOST_TEST_SEED", 1);
  const uint64_t count = number_of("ACTORHOST_TEST_SEEDS", 3);
  size_t resumptions = 0;
  for (uint64_t order = first; order < first + count; ++order) {
    Rng rng(order);
    bool saved = false;
    std::string log;
    Run run;
    for (int attempt = 0; attempt < 4; ++attempt) {
      Words words = {"--servers",    std::to_string(1 + rng.below(3)),
                     "--barrier",    rules[rng.below(rules.size())],
                     "--checkpoint", "own"};
      if (saved) words = with(words, {"--resume", "own"});
      if (attempt < 3) words = with(words, {"--faults", rehearsals.write("faults.lua", crash(rng.below(50)))});
      const Job one{"resume", with(words, job), std::to_string(2 + rng.below(3))};
      run = attempt == 0 ? rehearsals.run(one, order) : rehearsals.run_again(one, order);
      log += run.ended.description;
      resumptions += saved ? 1 : 0;
      if (run.ended.status != 3) break;
      saved = saved || run.ended.err.find("checkpoint own/") != std::string::npos;
    }
    INFO("ACTORHOST_TEST_SEED=" << order << "\n" << log);
    CHECK(run.ended.status == 0);
  }
  CHECK(resumptions > 0);
}

TEST_CASE("a disk that is full or fails ends a checkpoint with its cause, and the next checkpoint is complete") {
  const auto& [fault, message] = GENERATE(table<std::string, std::string>({
      {"'disk-full', 0, 0.03", "No space left on device"},
      {"'disk-error', 0", "Input/output error"},
  }));
  Rehearsals rehearsals;
  const std::string job = rehearsals.write("trains.lua", kTrains);
  const std::string faults = "return function(world) world:at(0.1, " + fault + ") end";
  const Run run =
      rehearsals.run({"trains", {"--checkpoint", "own", "--faults", rehearsals.write("faults.lua", faults), job}}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.status == 4);
  CHECK(run.ended.err.find("cannot write a checkpoint: ") != std::string::npos);
  CHECK(run.ended.err.find(message) != std::string::npos);
  const Run resumed = rehearsals.run_again({"trains", {"--resume", "own", job}}, 1);
  INFO(resumed.ended.description);
  CHECK(resumed.ended.status == 0);
}
