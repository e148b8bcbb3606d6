--- What engines share about the callbacks of their runs: names in errors, checks of what they return, `--inject`.
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

---What callback `what` returned has to be a `kind`.
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

---Calls `push(who, entries)` as `--inject` wants it: with a delay before, and slower, by sleeping.
---@param injection fun(): number, number the next delay in seconds, and the factor
---@param push function
---@param who any
---@param entries table
---@return any updates
function M.slowed(injection, push, who, entries)
  local now = require("actor").now
  local began = now()
  local delay, factor = injection()
  if delay > 0 then node.sleep(delay) end
  local updates = push(who, entries)
  if factor > 1 then node.sleep((factor - 1) * (now() - began)) end
  return updates
end

return M
