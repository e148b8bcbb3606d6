--- Workers as peers. The overlay is a ring without a centre: each node knows a few other nodes, draws uniform samples
--- of all nodes, and estimates their number (host/overlay/README.md). The engine has no servers: the workers hold the
--- keys. A worker becomes a peer with its first call. `--replicas R` sets the number of copies of each key (default 3):
--- a key survives R - 1 simultaneous failures, and a push costs one transfer per copy.
---
---     local seen = actor.peer.sample(10)          -- some of the workers, itself perhaps among them
---     local n, error = actor.peer.size_estimate()
---     actor.peer.run {
---       init = function() return { w = tensor.zeros { 10 } } end,
---       schedule_local = function(ctx) return { "w" } end,
---       push = function(ctx, entries) ... return { { "w", gradient } } end,
---       pull = optim.sgd { lr = 0.1 },
---       barrier = barrier.pssp(10, 4),
---       stop = function(ctx) return ctx.step >= 1000 end,
---     }
---
--- From the first call on, the run survives the failure of its coordinator: a majority elects a new coordinator,
--- normally the lowest live process. Calls that need process 0 itself (actor.param, actor.mapreduce and other actions)
--- then raise an error.
local callbacks = require("actor.callbacks")
local check = require("actor.check")
local events = require("actor.events")
local barrier = require("actor.barrier")
local specs = require("actor.policy.spec")
local engine = require("actor.peer.run")
local c = require("actor.c.peer")
local native = require("actor.ffi")("peer")

---@class actor.peer
local M = {}

---@class actor.Peer
---@field id integer the worker's permanent id
---@field rank integer|nil its rank; nil once the worker has departed or failed

---@class actor.peer.State: actor.Peer
---@field step integer|nil completed steps in its current or last run; nil before its first run
---@field busy boolean|nil whether it is in a step

local function enter(fn)
  events.check_worker(fn)
  events.deliver()
end

---Draws `beta` distinct live peers; every set of that size is equally likely. The caller may be among them. Each
---returned peer has replied. (The sampling primitive of PSP: Wang, Catterall and Mortier, "Probabilistic synchronous
---parallel", 2017. host/overlay/uniform_sampler.hpp explains how the ring yields uniform samples.)
---```lua
---local some = actor.peer.sample(2) -- states of up to two peers
---print(#some >= 1)  --> true
---```
---@param beta integer sample size; above the number of peers it means all
---@param options? {timeout?: number} seconds after which the call returns the replies so far; default 2. The first call also waits until this worker has become a peer, at most 20 s
---@return actor.peer.State[]|nil peers fewer than `beta` if fewer exist, or fewer have replied in time
---@return string? message "peer.sample: no other worker has replied within 20 s; ..."
---@return string? code "timeout"
function M.sample(beta, options)
  local fn = "peer.sample"
  check.integer(beta, "beta", fn, 0)
  local timeout = check.timeout(options, fn) or 2
  enter(fn)
  return c.sample(beta, timeout)
end

---Estimates the number of peers from the density of ids on the ring, around this peer and around its recent lookups.
---Exact for up to 32 other peers.
---```lua
---local estimate = actor.peer.size_estimate()
---print(estimate >= 1)  --> true
---```
---@return number|nil nodes includes this peer
---@return number|string error standard error, in nodes; or a message
---@return string? code "timeout"
function M.size_estimate()
  enter("peer.size_estimate")
  return c.size_estimate()
end

---Returns the nearest peers on both sides of the ring, up to 16 each, nearest first. In a small ring a peer may be on
---both.
---```lua
---local sides = actor.peer.neighbours()
---print(#sides.before == #sides.after)  --> true
---```
---@return {before: actor.Peer[], after: actor.Peer[]}|nil neighbours
---@return string? message
---@return string? code "timeout"
function M.neighbours()
  enter("peer.neighbours")
  return c.neighbours()
end

---Leaves the overlay. The neighbours learn of it immediately and take over its keys; the keys of the last peer are
---lost. A later call of another function joins again, after the handover of the keys.
---```lua
---local function finish(work) -- of one worker, while the others continue
---  work()
---  actor.peer.leave()
---end
---```
function M.leave()
  enter("peer.leave")
  if engine.running() then check.fail("peer.leave: this worker takes part in a peer.run; let its stop() return true") end
  c.leave()
end

-- ---- the engine ----

---Runs the peer-to-peer engine until every worker's `stop` has returned true. Every worker makes the call. The
---callbacks and their arguments are those of `param.run` with schedule_local; an option that peers cannot honour is an
---error. Each worker takes its own steps: stop? - barrier - `schedule_local` - fetch these keys from their owners -
---`push` - send the updates to the owners, which merge them. An error in a callback ends the run on all nodes, even if
---the script catches the error. Every ctx (actor.peer.Context) has id, step, rank, size, owns(key), updates, seconds
---and workers.
---```lua
---local peer = actor.peer
---local summary = peer.run {
---  init = function() return { w = actor.tensor.zeros(2) } end,
---  schedule_local = function() return { "w" } end,
---  push = function(ctx, entries) return { { "w", entries[1][2] - 1 } } end,
---  pull = actor.optim.sgd { lr = 0.1 },
---  barrier = "pssp:2:4@sticky",
---  stop = function(ctx) return ctx.step >= 200 end,
---}
---print(("%.2f"):format(peer.get("w"):mean()))  --> 1.00
---```
---@param run actor.peer.Run
---@return actor.peer.Summary
function M.run(run) return engine.run(run) end

---Trains one model in rounds of local steps, as `param.local_steps` does: a worker makes several steps with its own
---copy of `net`, and pushes the difference. The differences add up, each divided by the number of workers.
---```lua
---local net = actor.nn.sequential { actor.nn.linear(2, 2, { seed = 1 }) }
---local set = actor.data.blobs { n = 200, classes = 2, seed = 1 }
---actor.peer.local_steps {
---  net = net, steps = 5, inner = actor.optim.sgd { lr = 0.1 }, batch = function() return set.x, set.labels end,
---  stop = function(ctx) return ctx.step >= 20 end,
---}
---print(net:accuracy(set.x, set.labels) > 0.9)  --> true
---```
---@param options actor.LocalSteps
---@return actor.peer.Summary
function M.local_steps(options) return require("actor.local_steps")(M, options, "peer.local_steps") end

-- Tensors that `get` has returned without a copy. An entry lasts while other code uses the tensor, or until a
-- collection.
local handles = setmetatable({}, { __mode = "v" })

---Fetches the value of `key` and the step of its last writer from the worker that owns the key; nil and a message for
---an unknown key. For an array of keys, returns an array of values and an array of steps, with nil for unknown keys.
---Works before, during and after `run`. In and after a `shared` run, the tensor of a key that this worker leads is not
---a copy: do not write to it.
---```lua
---if actor.rank == 0 then
---  actor.peer.set("rate", 0.5)
---  print((actor.peer.get("rate")))  --> 0.5
---end
---```
---@param key actor.param.Key|actor.param.Key[]
---@return any value
---@return integer|table<integer, integer>|string step or a message: "peer.get: there is no key "w"", or that no owner has replied for a minute
---@return string? code "timeout" if no owner has replied
function M.get(key)
  local seen = handles[key]
  if seen and native.is_current(native.node, seen.version) ~= 0 then return seen.value, seen.step end
  enter("peer.get")
  local value, step, more = c.get(key)
  if type(more) == "string" then return value, step, more end
  if more then handles[key] = { value = value, step = step, version = more } end
  return value, step
end

---Sets the value of `key` at its owner. Returns once the owner has stored it.
---```lua
---if actor.rank == 0 then
---  actor.peer.set("shape", { 2, 3 })
---  print(actor.peer.get("shape")[2])  --> 3
---end
---```
---@param key actor.param.Key
---@param value any nil removes the key
function M.set(key, value)
  enter("peer.set")
  c.set({ { key, value } }, "peer.set")
end

---Changes the barrier rule of this worker in the current run, from its next decision on. For callbacks.
---```lua
---actor.peer.run {
---  schedule_local = function() return {} end,
---  push = function(ctx) return { { ctx.id, ctx.step } } end,
---  barrier = "bsp",
---  stop = function(ctx)
---    if ctx.step == 5 then actor.peer.set_barrier("asp") end
---    return ctx.step >= 10
---  end,
---}
---```
---@param rule string|function|table
function M.set_barrier(rule)
  if not engine.running() then check.fail("peer.set_barrier works while peer.run runs: call it in a callback") end
  engine.set_rule(rule)
end

---For the host: replaces this worker's rule during the run. Raises for an invalid rule, without changing anything.
---@param what "barrier"|"merge"
---@param spec string a rule by its text or, if the run had it, by the name of a function; "" for a file
---@param text string the source of the rule's file, or ""
---@param name string FILE.lua or FILE.lua:NAME
---@return string before
function M.swap(what, spec, text, name)
  if not engine.running() then error("no peer.run is in progress", 0) end
  if what == "merge" then error("each peer applies the merge rule to its own pushes: it cannot be replaced during the run", 0) end
  local sent, load = specs.sent(spec, text, name)
  return engine.set_rule(text == "" and engine.function_of(sent) or sent, { load = load }, sent)
end

-- ---- the original names ----

local register, register_barrier, gathered = callbacks.registry("peer")

---Sets the `schedule` of the run that `peer.start` begins (the original name; see `peer.run`).
---```lua
---actor.peer.register_schedule(function(ctx) return { "w" } end)
---```
M.register_schedule = register("schedule") ---@type fun(fn: function)
---Sets the `push` of the run that `peer.start` begins.
---```lua
---actor.peer.register_push(function(ctx, entries) return { { "w", 1 } } end)
---```
M.register_push = register("push") ---@type fun(fn: function)
---Sets the `pull` of the run that `peer.start` begins.
---```lua
---actor.peer.register_pull(function(ctx, updates) return { { updates[1][1], updates[1][2] } } end)
---```
M.register_pull = register("pull") ---@type fun(fn: function)
---Sets the `stop` of the run that `peer.start` begins.
---```lua
---actor.peer.register_stop(function(ctx) return ctx.step >= 10 end)
---```
M.register_stop = register("stop") ---@type fun(fn: function)

---Sets the `barrier` of the run that `peer.start` begins. Raises when there is no such rule.
---```lua
---actor.peer.register_barrier("pbsp:4")
---```
---@param rule string|function|table
function M.register_barrier(rule) register_barrier(rule) end

---Runs the engine with the functions from the register_ calls; see `peer.run`.
---```lua
---local peer = actor.peer
---peer.register_schedule(function() return {} end)
---peer.register_push(function(ctx) return { { ctx.id, ctx.step } } end)
---peer.register_stop(function(ctx) return ctx.step >= 3 end)
---print(peer.start("asp").steps)  --> 3
---```
---@param rule? string|function|table a barrier rule, instead of register_barrier's
---@return actor.peer.Summary
function M.start(rule, ...) return M.run(gathered(rule, ...)) end

return M
