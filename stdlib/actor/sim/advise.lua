--- Finds the rules under which a recorded job would learn fastest: replays the workers' times under every barrier rule
--- and merge rule, trains a model in each simulation, and ranks the rules by the time until the loss or the accuracy
--- reaches a target.
---
--- The search has three stages, since there are some thousand pairs of rules: all barrier rules with the recorded merge
--- rule; the best of them with all merge rules; the best pairs again with other seeds. So the predictions of the last
--- stage are not biased by the choice. Seed k begins the replay at another time of the recording, and draws other data.
local candidates = require("actor.sim.candidates")
local check = require("actor.check")
local merge = require("actor.merge")
local barrier = require("actor.barrier")
local replay = require("actor.sim.replay")
local summary = require("actor.sim.summary")
local sweep = require("actor.sim.sweep")
local train = require("actor.sim.train")
local util = require("actor.util")

local M = {}

local first_seeds = 3      -- of the stages that choose
local best_barriers = 4    -- with all merge rules
local finalists = 10       -- beside the recorded rules
local most_steps = 20000   -- of all workers in one simulation
local default_share = 0.1  -- of the loss at the start, left at the default target
local slowest = 3          -- a simulation ends at this multiple of the recorded rules' time
local points = 200         -- evaluations of the model in a simulation

---@class actor.sim.Advice a pair of rules
---@field barrier string
---@field merge string
---@field seconds actor.sim.Mean predicted time to the target; a run that does not reach it counts with the simulated time
---@field reached integer number of runs that reach the target
---@field steps number completed steps of all workers each second
---@field staleness number updates of other workers between a step's pull and its push
---@field factor {mean: number, low: number, high: number} how many times as fast as the recorded rules: the geometric mean
---  over runs with equal seeds; its interval is corrected for the number of pairs
---@field times number[] the time of each run
---@field rows table[] of sim.sweep

---@class actor.sim.AdviceReport
---@field recorded actor.sim.Advice
---@field ranked actor.sim.Advice[] the best first; with the recorded rules
---@field compared integer number of simulated pairs
---@field refused {barrier: string, merge: string, why: string}[] pairs that could not be simulated
---@field target {name: string, value: number} "loss" or "accuracy"
---@field time number simulated seconds of a run
---@field workers integer
---@field step number mean duration of a step in seconds

---@class actor.sim.AdviceOptions
---@field replay string a trace of --record, in the form of sim.run
---@field train? string the model, in the form of sim.train.from; default "linear"
---@field target? {name: string, value: number} default: 90 % of the decrease of the loss under the recorded rules
---@field barrier? string the rule of the recording, if its name is no spec
---@field merge? string
---@field time? number simulated seconds at most; default the recorded seconds
---@field seeds? integer of the last stage, default 10
---@field seed? integer the first seed, default 1
---@field optimisers? boolean compare the merge rules with a momentum of their own too
---@field execute? fun(tasks: actor.sim.Task[], on_row: fun(row: table)) runs the tasks; default: one after the other

-- --- one run ---

-- When the model reaches the target; nil if it does not.
local function reach(training, target)
  local k, share = train.reach(training[target.name], target.value, target.name == "accuracy")
  if not k then return nil end
  local from, to = training.time[math.max(k, 2) - 1], training.time[math.max(k, 2)] -- a time of 0 has no logarithm
  return from + share * (to - from)
end

local Search = {}
Search.__index = Search

local function key_of(pair) return pair.barrier .. " " .. pair.merge end

-- The task of a pair with seed number k of `of`.
function Search:task(pair, k, of)
  return {
    index = 1, barrier = pair.barrier, repeat_ = k, varied = { merge = pair.merge },
    train = ("%s merge=%s points=%d"):format(self.train, pair.merge, points),
    options = {
      barrier = pair.barrier, replay = self.replay, replay_shift = (k - 1) / of, time = self.time, seed = self.seed + k - 1,
    },
  }
end

---Runs one task. A pair of rules that cannot be simulated gives a row with `failed`, the error.
---@param task actor.sim.Task
---@return table row
function M.execute(task)
  local fine, row = pcall(sweep.execute, task)
  if not fine then return { failed = (tostring(row):gsub("^[^:]+:%d+: ", "")) } end
  row.histogram, row.progress = nil, nil
  return row
end

-- Simulates the pairs with `of` seeds each, and returns their rows.
function Search:simulate(pairs_, of)
  local tasks, out = {}, {}
  for _, pair in ipairs(pairs_) do
    for k = 1, of do
      local task = self:task(pair, k, of)
      task.index = #tasks + 1
      tasks[task.index] = task
    end
  end
  self.execute(tasks, function(row) out[#out + 1] = row end)
  self.seed = self.seed + of -- the next stage has other seeds
  return out
end

-- --- results ---

function Search:advice(pair, rows)
  local seconds, reached, steps, staleness = {}, 0, 0, 0
  for k, row in ipairs(rows) do
    local at = reach(row.training, self.target)
    seconds[k], reached = at or self.time, reached + (at and 1 or 0)
    steps, staleness = steps + row.updates / row.time / #rows, staleness + row.staleness_mean / #rows
  end
  return {
    barrier = pair.barrier, merge = pair.merge, seconds = summary.mean(seconds), times = seconds, reached = reached,
    steps = steps, staleness = staleness, rows = rows,
  }
end

-- Whether one result is better than another.
local function better(a, b)
  if a.reached ~= b.reached then return a.reached > b.reached end
  if a.seconds.mean ~= b.seconds.mean then return a.seconds.mean < b.seconds.mean end
  return key_of(a) < key_of(b)
end

-- The results of the pairs, the best first.
function Search:stage(pairs_, of)
  local rows, out = self:simulate(pairs_, of), {}
  for i, pair in ipairs(pairs_) do
    local own, failed = {}, nil
    for k = 1, of do
      own[k] = rows[(i - 1) * of + k]
      failed = failed or own[k].failed
    end
    if failed then
      self.refused[#self.refused + 1] = { barrier = pair.barrier, merge = pair.merge, why = failed }
    else
      out[#out + 1] = self:advice(pair, own)
    end
  end
  table.sort(out, better)
  return out
end

-- How many times as fast as `base` a result is, by runs with equal seeds.
local function factor_of(one, base, confidence)
  local logs = {}
  for k, time in ipairs(one.times) do logs[k] = math.log(base.times[k] / time) end
  local mean = summary.mean(logs, confidence)
  return { mean = math.exp(mean.mean), low = math.exp(mean.low), high = math.exp(mean.high) }
end

-- Whether the rules can run together.
local function fits(pair)
  return not merge.from(pair.merge).bsp or barrier.from(pair.barrier).staleness == 0
end

-- Adds the pair to `list` unless it is known or its rules do not fit together.
local function add(list, known, pair)
  if known[key_of(pair)] or not fits(pair) then return end
  known[key_of(pair)] = true
  list[#list + 1] = pair
end

-- --- the recorded run ---

local function steps_of(run)
  local count, seconds = 0, 0
  for _, worker in ipairs(run.workers) do
    for k, time in ipairs(worker.time) do
      count, seconds = count + 1, seconds + time - worker.released[k]
    end
  end
  return count, seconds / math.max(count, 1)
end

-- The recorded rule as a spec that can be simulated.
local function recorded_rule(given, recorded, library, flag)
  local spec = given or recorded
  if not spec then check.fail("the trace does not say its %s rule: give it with --%s", flag, flag) end
  local fine, why = pcall(library.from, spec)
  if fine then return spec end
  check.fail("the recorded %s rule '%s' is not of the library (%s): give it with --%s, as rule.lua:NAME", flag, spec,
    (tostring(why):gsub("^[^:]+:%d+: ", "")), flag)
end

-- Simulates the recorded rules, and sets the target and the simulated time.
function Search:begin(target)
  self.target = target or { name = "loss", value = -math.huge }
  local rows = self:simulate({ self.recorded }, first_seeds)
  if rows[1].failed then check.fail("the recorded rules cannot be simulated: %s", rows[1].failed) end
  local curve = rows[1].training[self.target.name]
  if not curve then check.fail("--target accuracy: the model '%s' has no accuracy", self.train) end
  local first, last, reached = 0, 0, 0
  for _, row in ipairs(rows) do
    local values = row.training[self.target.name]
    first, last = first + values[1] / #rows, last + values[#values] / #rows
  end
  if not target then
    if not (last < first) then
      check.fail("the model '%s' does not learn under the recorded rules (loss %.4g at the start, %.4g after %.4g s): "
        .. "give --train with another rate=, or a longer recording", self.train, first, last, self.time)
    end
    self.target.value = last + default_share * (first - last)
  end
  for _, row in ipairs(rows) do reached = reached + (reach(row.training, self.target) or self.time) / #rows end
  self.time = math.min(self.most_time, slowest * reached)
end

---Compares the rules for a recorded run. Raises an error for a trace or a model that cannot be used.
---@param options actor.sim.AdviceOptions
---@return actor.sim.AdviceReport
function M.run(options)
  check.options(options, {
    replay = "string", train = "string?", target = "table?", barrier = "string?", merge = "string?", time = "number?",
    seeds = "number?", seed = "number?", optimisers = "boolean?", execute = "function?",
  }, "sim.advise.run")
  local run = replay.load(options.replay)
  local steps, step = steps_of(run)
  local nodes = #replay.nodes(run, 0)
  local recorded = {
    barrier = recorded_rule(options.barrier, replay.barrier(run), barrier, "barrier"),
    merge = recorded_rule(options.merge, replay.merge(run) or "all", merge, "merge"),
  }
  local seconds = replay.seconds(run)
  local search = setmetatable({
    replay = options.replay, train = options.train or "linear", recorded = recorded, seed = options.seed or 1, refused = {},
    time = options.time or math.min(seconds, seconds * most_steps / steps), execute = options.execute or function(tasks, on_row)
      for _, task in ipairs(tasks) do on_row(M.execute(task)) end
    end,
  }, Search)
  search.most_time = options.time or slowest * search.time
  local make, plan = train.from(search.train)
  if not make then check.fail("%s", plan) end
  if plan.merge or plan.points then check.fail("--train: leave out merge= and points=, which advise varies") end
  search:begin(options.target)

  local known, all = {}, {}
  add(all, known, recorded)
  for _, spec in ipairs(candidates.barriers(nodes, step)) do add(all, known, { barrier = spec, merge = recorded.merge }) end
  local ranked = search:stage(all, first_seeds)

  local more, best = {}, {}
  for i = 1, math.min(best_barriers, #ranked) do best[i] = ranked[i].barrier end
  local others = candidates.merges(nodes, { robust = plan.attack ~= nil, optimisers = options.optimisers })
  for _, spec in ipairs(best) do
    for _, other in ipairs(others) do add(more, known, { barrier = spec, merge = other }) end
  end
  for _, one in ipairs(search:stage(more, first_seeds)) do ranked[#ranked + 1] = one end
  table.sort(ranked, better)

  local last, chosen = {}, {}
  add(last, chosen, recorded)
  for _, one in ipairs(ranked) do
    if #last <= finalists then add(last, chosen, { barrier = one.barrier, merge = one.merge }) end
  end
  local final = search:stage(last, options.seeds or 10)
  if final[1].reached == 0 then
    check.fail("under no rule the %s reaches %.4g in %.4g simulated s: give another --target, or more --time",
      search.target.name, search.target.value, search.time)
  end
  local report = {
    ranked = final, compared = #ranked, target = search.target, time = search.time, workers = nodes, step = step,
    refused = search.refused,
  }
  for _, one in ipairs(final) do
    if key_of(one) == key_of(recorded) then report.recorded = one end
  end
  for _, one in ipairs(final) do one.factor = factor_of(one, report.recorded, 1 - 0.05 / math.max(1, #final - 1)) end
  return report
end

return M
