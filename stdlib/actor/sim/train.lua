--- Trains a model in a simulation, to show how a barrier rule changes the loss over time. The model has no influence on
--- the barrier, so the simulation runs first, and then the replay of its trace trains the model. At the event `release`
--- the barrier has admitted a node: the replay computes the node's update from the current parameters at once, so it
--- copies no parameters. At `apply` it merges this update. It drops the update of a departed node. So updates have the
--- order and the staleness of the simulation.
---
---     local result = sim.train.run({ barrier = "asp", nodes = 100, time = 60 }, sim.train.models.linear())
---     print(result.training.time[51], result.training.loss[51])
---
--- The random numbers of a gradient depend only on seed, node and step, so a node has the same data under every rule.
local attacks = require("actor.attack")
local check = require("actor.check")
local barrier = require("actor.barrier")
local merge = require("actor.merge")
local values = require("actor.merge.values")
local spelling = require("actor.c.names")
local rng = require("actor.rng")
local sim = require("actor.sim")
local util = require("actor.util")

local M = {}

---@class actor.sim.Model a trainable model; the modules `linear`, `factorisation` and `mnist` of sim/models make models
---@field init fun(rng: actor.Rng, setup: actor.sim.Setup): any the parameters at the start
---@field gradient fun(params: any, id: integer, step: integer, rng: actor.Rng): any the update of node `id` after `step` completed steps; nil: no update. Must not retain or change `params`
---@field apply fun(params: any, update: any, scale: number) applies `scale` times the update to the parameters, in place
---@field loss fun(params: any): number
---@field accuracy? fun(params: any): number 0 .. 1
---@field rate? number|fun(updates: integer, nodes: integer): number the factor of each update, default 1

---@class actor.sim.Setup
---@field nodes integer number of nodes at the start
---@field seed integer
---@field time number simulated seconds of the whole run

---@class actor.sim.Plan
---@field merge? string|actor.merge.Rule|function a merge rule (actor.merge); default: `all`
---@field attack? string some nodes are attackers (actor.attack): "sign:2"
---@field bsp? boolean the barrier rule of the trace is BSP, so the merge rule decides when a barrier opens; `run` sets it
---@field points? integer number of evaluations of loss and accuracy after the start; default 50
---@field rate? number|fun(updates: integer, nodes: integer): number replaces the model's rate

---@class actor.sim.Training
---@field time number[] simulated seconds
---@field updates integer[] number of merged updates at that time
---@field loss number[]
---@field accuracy? number[]
---@field dropped integer updates dropped by the merge rule

local default_points = 50

-- --- the replay; merges like the parameter server (host/engine/param/push_merger.cpp) ---

local State = {}
State.__index = State

function State:rate()
  local rate = self.rate_of
  if type(rate) == "function" then return rate(self.updates, self.setup.nodes) end
  return rate
end

-- Makes one update of the merged pushes.
function State:merge(merged, dropped, trim)
  self.dropped = self.dropped + #dropped
  if #merged == 0 then return end
  local rate = self:rate()
  if trim then
    local updates = {}
    for i, push in ipairs(merged) do updates[i] = push.update end
    self.model.apply(self.params, values.trimmed_mean(updates, trim), rate)
  else
    for _, push in ipairs(merged) do
      if push.update ~= nil then self.model.apply(self.params, push.update, push.weight * rate) end
    end
  end
  self.updates, self.version = self.updates + #merged, self.version + 1
end

function State:decide(push)
  local view = self.merges.view
  view.now, view.version, view.workers = self.now, self.version, self.workers
  push.behind = self.newest - push.step
  self:merge(self.merges:take(push))
end

-- Decides about the staged pushes, in the order of the server's barrier.
function State:flush()
  local staged = self.staged
  if #staged == 0 then return end
  self.staged = {}
  table.sort(staged, function(a, b)
    if a.step ~= b.step then return a.step < b.step end
    return a.worker < b.worker
  end)
  local first = 1
  for i, push in ipairs(staged) do
    if push.step ~= staged[first].step then first = i end
    local last = first
    while staged[last + 1] and staged[last + 1].step == push.step do last = last + 1 end
    push.peers, push.left = last - first + 1, last - i
    self:decide(push)
  end
end

-- Under a BSP rule pushes are staged until a node begins a later step; by then all pushes of the step have arrived.
function State:take(update, id, step)
  self.newest = math.max(self.newest, step)
  local push = { worker = id, step = step, version = self.begun[id], update = update, peers = 1, left = 0 }
  if not self.stages then return self:decide(push) end
  if self.merges.rule.bsp and (step < self.staged_step or (#self.staged > 0 and step > self.staged_step)) then
    check.fail("merge rule '%s' merges step by step, so it needs a barrier rule that is BSP (bsp, backup:0, quorum:1); "
      .. "an update of step %d came among those of step %d", self.merges.rule.name, step, self.staged_step)
  end
  self.staged_step = math.max(self.staged_step, step)
  self.staged[#self.staged + 1] = push
end

---Returns the random number generator of one step of a node.
---@param seed integer
---@param id integer
---@param step integer number of completed steps
---@return actor.Rng
function M.rng_of(seed, id, step) return rng(seed, (id + 1) * 2 ^ 24 + step) end

-- The steps whose pushes have not arrived, by worker.
function State:pending_steps()
  local steps = {}
  for id in util.pairs(self.pending) do
    steps[#steps + 1] = { worker = id, step = self.step_of[id], version = self.begun[id] }
  end
  return steps
end

-- The steps that every worker has completed; after their end, a large number.
function State:slowest()
  local least = math.huge
  for _, done in pairs(self.done) do least = math.min(least, done) end
  return least
end

function State:gradient(id, step)
  local random = M.rng_of(self.setup.seed, id, step)
  if not self.attack then return self.model.gradient(self.params, id, step, random) end
  return self.attack:compute(id, self.model.gradient, self.params, id, step, random)
end

local on = {} -- handlers by event; the events start and finish need none

function on.join(self, id, step)
  self.done[id], self.workers = step, self.workers + 1
end

function on.leave(self, id)
  self.done[id], self.pending[id], self.workers = nil, nil, self.workers - 1
end

function on.release(self, id, step)
  if step > self.staged_step then self:flush() end
  self.begun[id], self.step_of[id] = self.version, step
  self.pending[id] = self:gradient(id, step)
end

function on.apply(self, id, step)
  local update = self.pending[id]
  self.pending[id], self.done[id] = nil, step
  if update ~= nil then self:take(update, id, step - 1) end
end

function State:record_point(time)
  local out, model = self.training, self.model
  local n = #out.time + 1
  out.time[n], out.updates[n], out.loss[n] = time, self.updates, model.loss(self.params)
  if model.accuracy then out.accuracy[n] = model.accuracy(self.params) end
end

-- Replays the events of a trace, and records the points.
function State:walk(trace, points)
  local event, time, id, step = trace.event, trace.time, trace.id, trace.step
  local ended, point = self.setup.time, 0
  for i = 1, #event do
    -- As in the simulator's `progress`: a point shows the state before the events of its time.
    while point < points and ended * point / points <= time[i] do
      self:record_point(ended * point / points)
      point = point + 1
    end
    self.now = time[i]
    local react = on[event[i]]
    if react then react(self, id[i], step[i]) end
  end
  for late = point, points - 1 do self:record_point(ended * late / points) end
  self:flush()
  self:merge(self.merges:finish())
  self:record_point(ended)
end

local plan_kinds = {
  merge = "string|function|table?", attack = "string?", bsp = "boolean?", points = "number?", rate = "number|function?",
}

local function check_plan(plan)
  local fn = "sim.train.run"
  check.options(plan, plan_kinds, fn)
  check.integer(plan.points or default_points, "points", fn, 1, 1e6)
end

local model_kinds = {
  init = "function", gradient = "function", apply = "function", loss = "function", accuracy = "function?",
  rate = "number|function?",
}

---Trains a model by the events of a trace of sim.run.
---@param trace {time: number[], id: integer[], step: integer[], event: string[]}
---@param model actor.sim.Model
---@param setup actor.sim.Setup
---@param plan? actor.sim.Plan
---@return actor.sim.Training
---@return any params at the end
function M.replay(trace, model, setup, plan)
  plan = plan or {}
  check_plan(plan)
  check.options(model, model_kinds, "sim.train.run")
  local training = { time = {}, updates = {}, loss = {}, accuracy = model.accuracy and {} or nil }
  local state = setmetatable({
    model = model, setup = setup, rate_of = plan.rate or model.rate or 1,
    training = training, updates = 0, dropped = 0, newest = 0, version = 0, staged = {}, staged_step = 0, pending = {},
    begun = {}, step_of = {}, done = {}, now = 0, workers = 0,
  }, State)
  state.attack = plan.attack and attacks.from(plan.attack):begin(setup.nodes, setup.seed)
  state.merges = merge.evaluator(plan.merge or "all", merge.source(function() return state:pending_steps() end,
    function(key) return state.params[key] end, function() return state:slowest() end), state.attack)
  local rule = state.merges.rule
  state.stages = rule.bsp or plan.bsp and (rule.native ~= "all" or state.attack ~= nil)
  state.params = model.init(rng(setup.seed), setup)
  state:walk(trace, plan.points or default_points)
  training.dropped = state.dropped
  return training, state.params
end

---Simulates a run and trains a model in it.
---```lua
---local train = actor.sim.train
---local result = train.run({ barrier = "asp", nodes = 20, time = 20, seed = 1 }, train.models.linear())
---local loss = result.training.loss
---print(loss[#loss] < loss[1])  --> true
---```
---@param options actor.sim.Options
---@param model actor.sim.Model
---@param plan? actor.sim.Plan
---@return actor.sim.Result result with `training`, an actor.sim.Training, and `params`, the parameters at the end
function M.run(options, model, plan)
  check_plan(plan or {})
  check.options(model, model_kinds, "sim.train.run")
  local result = sim.run(util.merged(options, { trace = true }))
  local setup = { nodes = result.nodes, seed = options.seed or 0, time = result.ended }
  local rule = barrier.from(options.barrier, { resample = options.resample, load = options.load })
  result.training, result.params = M.replay(result.trace, model, setup,
    util.merged(plan or {}, { bsp = rule.staleness == 0 }))
  if not options.trace then result.trace = nil end
  return result
end

---Finds where a curve reaches a target, by interpolation between two points.
---@param values number[] NaN: a diverged model
---@param target number
---@param above? boolean the curve reaches the target from below, as an accuracy does
---@return integer? k the first point at the target or beyond; nil if there is none
---@return number share of the way from the point before it; 1 for the first point
function M.reach(values, target, above)
  for k, value in ipairs(values) do
    if above and value >= target or not above and value <= target then
      local before = values[k - 1]
      return k, before and before ~= value and (target - before) / (value - before) or 1
    end
  end
  return nil, 1
end

-- --- from text: "mnist", "linear rate=0.01 merge=drop:4 dims=30" ---

local names = { "linear", "factorisation", "mnist" }

---The models by name. M.models.NAME(options) makes a model.
---@type table<string, fun(options?: table): actor.sim.Model>
M.models = setmetatable({}, {
  __index = function(models, name)
    local made = require("actor.sim.models." .. name)
    rawset(models, name, made)
    return made
  end,
})

---Makes a decreasing rate, for `rate` of a plan: rate / sqrt(1 + updates / every).
---@param rate number
---@param every number
---@return fun(updates: integer): number
function M.falling(rate, every)
  return function(updates)
    return rate / math.sqrt(1 + updates / every)
  end
end

local function named_values(words)
  local values = {}
  for i = 2, #words do
    local name, text = words[i]:match("^([%w_]+)=(.+)$")
    if not name then return nil, ("'%s' is not NAME=VALUE"):format(words[i]) end
    if values[name] then return nil, ("%s is given twice"):format(name) end
    values[name] = tonumber(text) or text
  end
  return values
end

-- Makes a plan of rate, decay, points, merge and attack, and removes them from `values`. The model's options remain.
local function plan_of(values)
  local plan = { points = values.points }
  local rate, decay = values.rate, values.decay
  for _, name in ipairs { "rate", "decay", "points" } do
    local value = values[name]
    if value and not (type(value) == "number" and value > 0) then
      return nil, ("%s wants a number above 0, got '%s'"):format(name, value)
    end
  end
  if plan.points and plan.points % 1 ~= 0 then return nil, "points wants a whole number" end
  if decay and not rate then return nil, "decay wants a rate beside it" end
  plan.rate = decay and M.falling(rate, decay) or rate
  if values.merge then
    local fine, rule = pcall(merge.from, tostring(values.merge))
    if not fine then return nil, (tostring(rule):gsub("^[^:]+:%d+: ", "")) end
    plan.merge = rule
  end
  if values.attack then
    local fine, message = pcall(attacks.from, values.attack)
    if not fine then return nil, (tostring(message):gsub("^[^:]+:%d+: ", "")) end
    plan.attack = values.attack
  end
  values.rate, values.decay, values.points, values.merge, values.attack = nil, nil, nil, nil, nil
  return plan
end

-- The function of a model file, which makes a model from options; nil and a message if the file has none.
local function maker_in(path)
  local source, why = util.read(path)
  if not source then return nil, why end
  local chunk, wrong = load(source, "@" .. path, "t")
  if not chunk then return nil, wrong end
  local fine, make = pcall(chunk)
  if not fine then return nil, tostring(make) end
  if type(make) ~= "function" then
    return nil, ("%s returns %s; a model file returns a function that makes an actor.sim.Model"):format(path, type(make))
  end
  return make
end

local function from_name(words)
  local name = words[1] or ""
  local known, make, wrong = table.concat(names, ", "), nil, nil
  if name:find("%.lua$") then
    make, wrong = maker_in(name)
    if not make then return nil, wrong end
  elseif known:find("%f[%a]" .. name:gsub("%W", "%%%0") .. "%f[%A]") then
    make = M.models[name]
  else
    return nil, ("there is no model '%s' (give %s, or model.lua)%s"):format(name, known, spelling.suggestion(name, names))
  end
  local values, plan
  values, wrong = named_values(words)
  if not values then return nil, wrong end
  plan, wrong = plan_of(values)
  if not plan then return nil, wrong end
  local fine, message = pcall(make, values) -- checks the options, and loads nothing
  if not fine then return nil, (tostring(message):gsub("^[^:]+:%d+: ", "")) end
  return function() return make(values) end, plan
end

---Parses a training text: a model's name or file, the model's options and the fields of a plan. Returns nil and a
---message for an invalid text.
---@param text string
---@return (fun(): actor.sim.Model)? make makes a new model for each run
---@return actor.sim.Plan|string plan
function M.from(text)
  local words = {}
  for word in text:gmatch("%S+") do words[#words + 1] = word end
  local make, plan = from_name(words)
  if not make then return nil, ("--train %s: %s"):format(text, plan) end
  return make, plan
end

---Simulates a run and trains the model of a training text.
---@param options actor.sim.Options
---@param text string
---@return actor.sim.Result
function M.execute(options, text)
  local make, plan = M.from(text)
  if not make then check.fail("%s", plan) end
  return M.run(options, make(), plan)
end

return M
