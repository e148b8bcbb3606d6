--- Shared handling of run callbacks: their names in errors, checks of their results, `--inject` delays.
local check = require("actor.check")
local node = require("actor.c.node")

local M = {}

---"schedule (job.lua:12)", for errors about what a callback returned.
---@param what string
---@param fn function
---@return string
function M.named(what, fn)
  local info = debug.getinfo(fn, "S")
  return ("%s (%s:%d)"):format(what, info.short_src, info.linedefined)
end

---Raises unless the result of callback `what` has type `kind`.
---@param value any
---@param kind string
---@param what string
---@param fn function the callback
---@param expected string
function M.check_returned(value, kind, what, fn, expected)
  if type(value) == kind then return end
  check.fail("%s returned %s, expected %s%s", M.named(what, fn), type(value), expected,
    value == nil and " (is a 'return' missing?)" or "")
end

---Calls `push(ctx, entries)` under `--inject`: sleeps before the call, and after it to lengthen the call.
---@param injection fun(): number, number the next delay in seconds, and the factor of slowness
---@param push function
---@param ctx any
---@param entries table
---@return any updates
function M.slowed(injection, push, ctx, entries)
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
---@return fun(name: string): fun(fn: function) register makes `register_NAME`
---@return fun(rule: any) register_barrier
---@return fun(rule: any, ...): table gathered the run that `start` begins; a given rule replaces the registered one
function M.registry(engine)
  local barrier = require("actor.barrier")
  local registered = {}
  local function register(name)
    return function(fn)
      check.arg(fn, "function", "fn", ("%s.register_%s"):format(engine, name))
      registered[name] = fn
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
    local run = {}
    for name, value in pairs(registered) do run[name] = value end
    if rule ~= nil then
      barrier.from(rule)
      run.barrier = rule
    end
    return run
  end
  return register, register_barrier, gathered
end

return M
