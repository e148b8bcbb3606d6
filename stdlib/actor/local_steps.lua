--- `param.local_steps` and `peer.local_steps`: in a round each worker trains its own copy of a model for some steps,
--- and pushes the difference of the values from begin to end. The server merges the mean of the differences of a round,
--- and the outer optimiser makes a step with it. Under a barrier rule without common rounds, and among peers, each
--- difference is a step of its own, divided by the number of workers; a merge rule gets it undivided. With the defaults
--- this is federated averaging (McMahan et al., AISTATS 2017); with an outer optimiser with Nesterov momentum it is
--- DiLoCo (Douillard et al., arXiv 2023). A difference is positive where a value fell, as a gradient is.
local barrier = require("actor.barrier")
local check = require("actor.check")
local node = require("actor.c.node")
local not_finite = require("actor.nn.not_finite")
local optim = require("actor.optim")
local util = require("actor.util")

---@class actor.LocalSteps: actor.param.CommonOptions
---@field net actor.nn.Network or another table with `params` and `grads` by the same names and `load(self, values)`
---@field batch fun(id: integer): ... runs on a worker: returns its next batch, as the arguments of the loss: inputs, labels
---@field steps integer local steps of a round
---@field by_speed? boolean a worker makes `steps` times its speed / the highest speed of a worker, but at least one step, so that all rounds take about equally long (DyLU: Liu et al., Asynchronous local-SGD training for language modeling, arXiv 2024)
---@field inner actor.Optimiser of the local steps; its state stays with the worker
---@field outer? actor.Optimiser of the rounds, default sgd { lr = 1 }; peers: without momentum, because each worker's difference is a step of its own
---@field weight? number|fun(ctx: actor.Context): number factor of this worker's difference, default 1: for a mean by examples its share of all examples times the number of workers
---@field adjust? fun(net: table, start: table<string, actor.Tensor>, ctx: actor.Context) changes net.grads before each local step; `start` has the values at the begin of the round
---@field prox? number adds prox * (value - start) to the gradients (FedProx: Li et al., MLSys 2020)
---@field fragments? integer the parameters in key order are dealt out to so many fragments. A round sends one fragment, after steps / fragments local steps (streaming DiLoCo: Douillard et al., arXiv 2025)
---@field overlap? integer less than `fragments`, default 0: the rounds that a worker trains on while a fragment travels. It receives a fragment so many rounds later, under the rule ssp:OVERLAP, so it rarely waits. Among peers the fragment may include newer differences of fast workers
---@field mix? number 0 .. 1: the share of the worker's own values that stays when it receives a fragment. Default 0, and 0.5 with `overlap`: the share 0 would lose the steps made meanwhile
---@field loss? fun(net: actor.nn.Network, ...: any): any leaves the gradients in `net.grads`; default `net:loss(...)`
---@field on_nan? "error"|"skip" when a loss is NaN or infinite: raise an error (the default), or push differences of 0

local own_fields = {
  net = "table", batch = "function", steps = "number", by_speed = "boolean?", inner = "table", outer = "table?",
  weight = "number|function?", adjust = "function?", prox = "number?", fragments = "number?", overlap = "number?",
  mix = "number?", loss = "function?", on_nan = "string?",
}
local run_fields = { "barrier", "stop", "merge", "checkpoint", "lost", "check_finite", "shared", "seconds", "filter" }
local made_here = { "init", "schedule", "schedule_local", "push", "pull" }
local speed_key = "\0local_steps.speed"

local function check_options(options, fn, is_peer)
  check.arg(options, "table", "options", fn)
  for _, name in ipairs(made_here) do
    if options[name] ~= nil then check.fail("%s makes '%s' itself; the outer optimiser is `outer`", fn, name) end
  end
  local fields = util.merged(own_fields)
  for _, name in ipairs(run_fields) do fields[name] = "any?" end -- the run checks them
  check.options(options, fields, fn)
  local net = options.net
  if type(net.params) ~= "table" or type(net.grads) ~= "table" or not net.load then
    check.wrong("net", fn, "a model with params, grads and load, such as nn.sequential's", net)
  end
  check.integer(options.steps, "steps", fn, 1, 2 ^ 31)
  check.integer(options.fragments or 1, "fragments", fn, 1, #util.sorted_keys(net.params))
  check.integer(options.overlap or 0, "overlap", fn, 0, 2 ^ 31)
  if (options.overlap or 0) > 0 and options.overlap >= (options.fragments or 1) then
    check.fail("%s: with overlap = %d a worker trains on for so many rounds, so fragments must be at least %d; it is %d", fn,
      options.overlap, options.overlap + 1, options.fragments or 1)
  end
  check.number(options.mix or 0, "mix", fn, 0, 1)
  check.number(options.prox or 0, "prox", fn, 0)
  for _, name in ipairs { "inner", "outer" } do
    if options[name] and not optim.is_optimiser(options[name]) then check.wrong(name, fn, "an optimiser of actor.optim", options[name]) end
  end
  if is_peer and options.outer and (options.outer.momentum or 0) > 0 then
    check.fail("%s: each peer's difference is a step of the outer optimiser, so it has no momentum here; param.local_steps has the mean of a round",
      fn)
  end
end

---@class actor.LocalSteps.Worker a worker's part of a run
---@field start table<string, actor.Tensor> the values that its differences begin with
local Worker = {}
Worker.__index = Worker

-- The names of the parameters that a round sends.
function Worker:fragment(round) return self.fragments[round % #self.fragments + 1] end

-- The names that a worker receives before a round: the fragment of the round before, or of `overlap` rounds before that
-- round. First all names.
function Worker:wanted(round)
  if next(self.start) == nil then
    self.first = round
    return self.names
  end
  local sent = round - 1 - self.overlap
  return sent >= self.first and self:fragment(sent) or {}
end

function Worker:receive(entries)
  local params, mix = self.options.net.params, self.options.mix or self.overlap > 0 and 0.5 or 0
  for _, entry in ipairs(entries) do
    local name, value = entry[1], entry[2]
    if self.start[name] and mix > 0 then
      params[name]:mul_(mix):axpy_(1 - mix, value)
    else
      params[name]:copy_(value)
    end
    self.start[name] = value
  end
end

-- The number of local steps of this round.
function Worker:count()
  local steps = self.options.steps
  if self.options.by_speed and self.fastest and self.speed then
    steps = math.max(1, math.floor(steps * math.min(1, self.speed / self.fastest.speed)))
  end
  return math.max(1, math.floor(steps / #self.fragments))
end

-- Measures this worker's speed, and publishes it if it is the highest speed of the last 20 rounds.
function Worker:measure(steps, seconds, ctx)
  self.speed = steps / math.max(seconds, 1e-9)
  local known = self.engine.get(speed_key)
  if not known or known.id == ctx.id or known.speed < self.speed or known.round < ctx.step - 20 then
    known = { speed = self.speed, id = ctx.id, round = ctx.step }
    self.engine.set(speed_key, known)
  end
  self.fastest = known
end

-- One local step. Returns false after a loss that is not finite.
function Worker:train(ctx)
  local options, net = self.options, self.options.net
  local value = self.loss(net, options.batch(ctx.id))
  if type(value) == "number" and value - value ~= 0 then
    if self.on_nan == "error" then not_finite.raise(self.fn, net, value, ("round %d"):format(ctx.step)) end
    return false
  end
  for _, name in ipairs(options.prox and self.names or {}) do
    net.grads[name]:axpy_(options.prox, net.params[name] - self.start[name])
  end
  if options.adjust then options.adjust(net, self.start, ctx) end
  options.inner:step(net.params, net.grads)
  return true
end

function Worker:push(ctx, entries)
  self:receive(entries)
  local now = require("actor").now
  local steps, began, fine = self:count(), now(), true
  for _ = 1, steps do fine = fine and self:train(ctx) end
  if self.options.by_speed then self:measure(steps, now() - began, ctx) end
  local weight = self.options.weight or 1
  if type(weight) == "function" then weight = weight(ctx) end
  if type(weight) ~= "number" or weight - weight ~= 0 then
    check.fail("%s: the weight of a difference has to be a finite number, got %s", self.fn, tostring(weight))
  end
  if self.adds then weight = weight / ctx.size end
  local params, updates = self.options.net.params, {}
  for _, name in ipairs(fine and {} or self.names) do params[name]:copy_(self.start[name]) end
  for i, name in ipairs(self:fragment(ctx.step)) do
    updates[i] = { name, (self.start[name] - params[name]):mul_(weight) }
  end
  return updates
end

---@param engine table actor.param or actor.peer
---@param options actor.LocalSteps
---@param fn string "param.local_steps"
---@return table summary
return function(engine, options, fn)
  local is_peer = fn:find("^peer") ~= nil
  check_options(options, fn, is_peer)
  local names, fragments = util.sorted_keys(options.net.params), {}
  for i, name in ipairs(names) do
    local f = (i - 1) % (options.fragments or 1) + 1
    fragments[f] = fragments[f] or {}
    table.insert(fragments[f], name)
  end
  local worker = setmetatable({
    options = options, engine = engine, fn = fn, names = names, fragments = fragments, start = {},
    overlap = options.overlap or 0,
    loss = options.loss or function(net, ...) return net:loss(...) end,
    on_nan = not_finite.check(options.on_nan, fn, false),
  }, Worker)

  local run = util.merged(options)
  for name in pairs(own_fields) do run[name] = nil end
  run.pull = options.outer or optim.sgd { lr = 1 }
  local overlap = worker.overlap
  run.barrier = run.barrier or overlap > 0 and "ssp:" .. overlap or "bsp"
  local rule = barrier.from(node.flags().barrier or run.barrier)
  local merge = node.flags().merge or run.merge
  if not is_peer and merge == nil and rule.staleness == overlap then
    run.merge = overlap > 0 and "step_mean" or "mean"
  end
  worker.adds = is_peer or (merge or run.merge) == nil
  function run.init() return options.net.params end
  function run.schedule_local(ctx) return worker:wanted(ctx.step) end
  function run.push(ctx, entries) return worker:push(ctx, entries) end

  local summary = engine.run(run)
  if options.by_speed and node.rank == 0 then engine.set(speed_key, nil) end
  local values, found = {}, engine.get(names)
  for i, name in ipairs(names) do values[name] = found[i] end
  options.net:load(values)
  return summary
end
