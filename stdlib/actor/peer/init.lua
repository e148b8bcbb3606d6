--- Workers as peers: an overlay without a centre, whose nodes know a few others, draw uniform samples of all, and
--- estimate how many there are (host/overlay/README.md); and an engine without servers, whose keys lie with the workers.
--- A worker becomes a peer with its first call. `--replicas R` says how many copies of each key there are (3): a key
--- outlives R - 1 deaths at once, and a push costs as many transfers as there are copies.
---
---     local seen = actor.peer.sample(10)          -- some of the workers, itself perhaps among them
---     local n, error = actor.peer.size_estimate()
---     actor.peer.run {
---       init = function() return { w = tensor.zeros { 10 } } end,
---       schedule = function(ctx) return { "w" } end,
---       push = function(ctx, entries) ... return { { "w", gradient } } end,
---       pull = optim.sgd { lr = 0.1 },
---       barrier = barrier.pssp(10, 4),
---       stop = function(ctx) return ctx.step >= 1000 end,
---     }
---
--- From the first call on, the run goes on when its rendezvous host is lost: the lowest host that lives takes its place.
--- What needs the rendezvous host itself (actor.param, actor.mapreduce and other actions) then raises an error.
local callbacks = require("actor.callbacks")
local check = require("actor.check")
local events = require("actor.events")
local node = require("actor.c.node")
local barrier = require("actor.barrier")
local engine = require("actor.peer.run")
local c = require("actor.c.peer")
local led = require("actor.ffi")("peer")

---@class actor.peer
local M = {}

---@class actor.Peer
---@field id integer the worker's permanent id
---@field rank integer|nil its rank; nil when it is gone meanwhile

---@class actor.peer.State: actor.Peer
---@field step integer|nil its completed steps in the run that it is in, or was in last; nil before the first
---@field busy boolean|nil whether it is in a step

local function enter(fn)
  if node.role == "server" then
    check.fail("%s is for workers and this is a parameter server; guard with actor.role", fn)
  end
  events.deliver()
end

---Draws different peers that live, each set of `beta` equally likely; the asking one may be among them. Each has
---answered. (The sampling primitive of PSP: Wang, Catterall and Mortier, "Probabilistic synchronous parallel", 2017; how
---the ring gives uniform samples: host/overlay/uniform_sampler.hpp.)
---@param beta integer how many; more than there are means all
---@param options? {timeout?: number} seconds until what has answered has to do; 2 by default. The first call waits until this worker has become a peer, too, for at most 20 s
---@return actor.peer.State[]|nil peers fewer than `beta` where there are no more, or no more have answered in time
---@return string? message "peer.sample: no other worker has replied within 20 s; ..."
---@return string? code "timeout"
function M.sample(beta, options)
  local fn = "peer.sample"
  check.integer(beta, "beta", fn, 0)
  local timeout = 2
  if options ~= nil then
    check.options(options, { timeout = "number?" }, fn)
    if options.timeout ~= nil then
      check.number(options.timeout, "timeout", fn, 0)
      timeout = options.timeout
    end
  end
  enter(fn)
  return c.sample(beta, timeout)
end

---How many peers there are, from the density of their ids on the ring around this one and around those that it has
---lately looked up. Exact up to 32 others.
---@return number|nil nodes this one counts
---@return number|string error standard error, in nodes; or a message
---@return string? code "timeout"
function M.size_estimate()
  enter("peer.size_estimate")
  return c.size_estimate()
end

---The nearest peers on both sides of the ring, up to 16 each, nearest first. In a small ring one may be on both.
---@return {before: actor.Peer[], after: actor.Peer[]}|nil neighbours
---@return string? message
---@return string? code "timeout"
function M.neighbours()
  enter("peer.neighbours")
  return c.neighbours()
end

---Leaves the overlay; the neighbours learn it at once and take over its keys. Those of the last peer are gone. A later
---call of another function enters anew, when the keys are handed over.
function M.leave()
  enter("peer.leave")
  if engine.running() then check.fail("peer.leave: this worker takes part in a peer.run; let its stop() return true") end
  c.leave()
end

-- ---- the engine ----

---Runs the peer-to-peer engine until every worker's `stop` has said so. Every worker makes the call. Each takes its own
---steps: stop? - barrier - `schedule` - the values of these keys from their owners - `push` - its updates to the owners,
---who merge them. An error in a callback ends the run on all nodes, even if the script catches it.
---@param run actor.peer.Run
---@return actor.peer.Summary
function M.run(run)
  return engine.run(run)
end

-- Tensors that `get` gave without a copy, while others use them or until the next collection.
local handles = setmetatable({}, { __mode = "v" })

---Fetches the value of `key` from the worker that owns it, and the step of its last writer; nil and a message that says
---so when there is no such key. For an array of keys it gives an array of values and one of steps, with nil for keys
---that are not there. Works before, during and after `run`. In and after a run that is `shared`, a tensor of a key that
---this worker leads is no copy: do not write to it.
---@param key actor.param.Key|actor.param.Key[]
---@return any value
---@return integer|table<integer, integer>|string step or a message: "peer.get: there is no key "w"", or that for a minute nobody has answered
---@return string? code "timeout" then
function M.get(key)
  local seen = handles[key]
  if seen and led.still(led.node, seen.led) ~= 0 then return seen.value, seen.step end
  enter("peer.get")
  local value, step, more = c.get(key)
  if type(more) == "string" then return value, step, more end
  if more then handles[key] = { value = value, step = step, led = more } end
  return value, step
end

---Sets the value of `key` at its owner, and waits until it is there.
---@param key actor.param.Key
---@param value any nil removes the key
function M.set(key, value)
  enter("peer.set")
  c.set({ { key, value } }, "peer.set")
end

---Changes the barrier rule of this worker in the current run, from its next decision on. For callbacks.
---@param rule string|function|table
function M.set_barrier(rule)
  if not engine.running() then check.fail("peer.set_barrier works while peer.run runs: call it in a callback") end
  engine.put_in_charge(rule)
end

---For the host: swaps this worker's rule while the run goes on. What cannot be a rule raises, and changes nothing.
---@param spec string a rule by its text; with `text` that may be "rule.lua:name", or ""
---@param text string the source of the rule file, or ""
---@param name string what that is called
---@return string before
function M.swap_barrier(spec, text, name)
  if not engine.running() then error("no peer.run is going on", 0) end
  return engine.put_in_charge(spec ~= "" and spec or "rule.lua", {
    load = function(path)
      if text == "" then return barrier.loader(path) end
      return text, name ~= "" and name or "@" .. path
    end,
  }, spec ~= "" and spec or name)
end

-- ---- the original names ----

local register, register_barrier, gathered = callbacks.registry("peer")

---Sets the `schedule` of the run that `peer.start` begins (the original name; see `peer.run`).
M.register_schedule = register("schedule") ---@type fun(fn: function)
---Sets the `push` of the run that `peer.start` begins.
M.register_push = register("push") ---@type fun(fn: function)
---Sets the `pull` of the run that `peer.start` begins.
M.register_pull = register("pull") ---@type fun(fn: function)
---Sets the `stop` of the run that `peer.start` begins.
M.register_stop = register("stop") ---@type fun(fn: function)

---Sets the `barrier` of the run that `peer.start` begins. Raises when there is no such rule.
---@param rule string|function|table
function M.register_barrier(rule)
  register_barrier(rule)
end

---Runs the engine with the functions that the register_ functions were given; see `peer.run`.
---@param rule? string|function|table a barrier rule, instead of register_barrier's
---@return actor.peer.Summary
function M.start(rule, ...)
  return M.run(gathered(rule, ...))
end

return M
