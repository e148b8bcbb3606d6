--- Shared handling of the callbacks of `param.run` and `peer.run`: their `ctx`, their names in errors, checks of their
--- results, `--inject` delays.
local check = require("actor.check")
local new = require("table.new")
local node = require("actor.c.node")
local owner = require("actor.c.owner")
local util = require("actor.util")

local M = {}

---The first argument of `push`, `pull`, `schedule_local` and `stop`, in `param.run` and `peer.run`. It holds the values
---of one step: a later step has a new one. Reading a field that it lacks is an error.
---@class actor.Context
---@field id integer|nil this worker's permanent id; nil on a server, where `param.run` calls pull and stop
---@field rank integer|nil this worker's rank among the live workers; nil on a server
---@field size integer number of live workers
---@field step integer completed steps: of this worker; in `pull`, of the furthest worker of the batch; in `stop` on a server, of the slowest live worker
---@field owns fun(key: actor.param.Key): boolean whether this worker owns the key, a string or a number (of a row, for instance). Each key has one owner among the live workers, and a worker that joins or departs moves only its own keys. While a change of membership spreads, workers may differ for a step. Always false on a server

local Context = check.strict("ctx.", "id", "rank")

-- The newest known membership, and this node in it.
local epoch, id, rank, size, owns

local function read_membership()
  local workers, own = node.workers(), node.role == "worker" and node.id or nil
  epoch, id, rank, size = node.epoch, own, own and node.rank, #workers
  function owns(key)
    local found = owner.among(key, workers)
    return found ~= nil and found == own
  end
end

---Makes the ctx of one step, with the membership of the last events.deliver().
---@param step integer
---@param ctx table|nil a table with other fields, which becomes the ctx
---@return actor.Context
function M.context(step, ctx)
  if epoch ~= node.epoch then read_membership() end
  ctx = ctx or new(0, 8)
  ctx.step, ctx.id, ctx.rank, ctx.size, ctx.owns = step, id, rank, size, owns
  return setmetatable(ctx, Context)
end

local originals = setmetatable({}, { __mode = "k" }) -- the user's functions behind those with other arguments

---"schedule (job.lua:12)", for errors about what a callback returned.
---@param what string
---@param fn function
---@return string
function M.named(what, fn)
  local info = debug.getinfo(originals[fn] or fn, "S")
  return ("%s (%s:%d)"):format(what, info.short_src, info.linedefined)
end

---Returns the result of callback `what`. Raises unless it has type `kind`.
---@param value any
---@param kind string
---@param what string
---@param fn function the callback
---@param expected string
---@return any value
function M.check_returned(value, kind, what, fn, expected)
  if type(value) == kind then return value end
  check.fail("%s returned %s, expected %s%s", M.named(what, fn), type(value), expected,
    value == nil and " (is a 'return' missing?)" or "")
end

---The `push` of this worker: the run's, or the program's on a host that a program has joined (actor.program).
---@param push function of the run
---@return function push
---@return string name for errors about its results
---@return fun(summary: table)|nil ended to be called with the summary of the run
function M.push_of(push)
  if not require("actor.c.program").works() then return push, M.named("push", push) end
  local own = require("actor.program")
  return own.push, "push (by the program of this host)", own.ended
end

---Calls `push(ctx, entries)`. Under `--inject` it sleeps before the call, and after it to lengthen the call.
---@param injection false|fun(): number, number the next delay in seconds, and the factor of slowness
---@param push function
---@param ctx any
---@param entries table
---@return any updates
function M.slowed(injection, push, ctx, entries)
  if not injection then return push(ctx, entries) end
  local now = require("actor").now
  local began = now()
  local delay, factor = injection()
  if delay > 0 then node.sleep(delay) end
  local updates = push(ctx, entries)
  if factor > 1 then node.sleep((factor - 1) * (now() - began)) end
  return updates
end

---The original names: collects the functions passed to `register_NAME` of an engine, until `start`.
---@param engine string "param"
---@return fun(name: string, adapt?: fun(fn: function): function): fun(fn: function) register makes `register_NAME`; `adapt` makes the run's callback from a function with other arguments
---@return fun(rule: any) register_barrier
---@return fun(rule: any, ...): table gathered the run that `start` begins; a given rule replaces the registered one
function M.registry(engine)
  local barrier = require("actor.barrier")
  local registered = {}
  local function register(name, adapt)
    return function(fn)
      check.arg(fn, "function", "fn", ("%s.register_%s"):format(engine, name))
      local callback = adapt and adapt(fn) or fn
      originals[callback] = fn
      registered[name] = callback
    end
  end
  local function register_barrier(rule)
    barrier.from(rule) -- raises at this call for an invalid rule
    registered.barrier = rule
  end
  local function gathered(rule, ...)
    if select("#", ...) > 0 then
      check.fail("%s.start takes a barrier or nothing, got %d arguments", engine, 1 + select("#", ...))
    end
    local run = util.merged(registered)
    if rule ~= nil then
      barrier.from(rule)
      run.barrier = rule
    end
    return run
  end
  return register, register_barrier, gathered
end

return M
