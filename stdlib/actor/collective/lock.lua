--- Locks: exclusive access to named things. Requests are granted in order of arrival. All keys of one call are granted
--- together, so nodes cannot deadlock. The locks of a lost node are released.
---
---     collective.lock({ "weights", 7 }, function() ... end, { timeout = 5 })
local check = require("actor.check")
local events = require("actor.events")
local c = require("actor.c.lock")

local M = {}

local FN = "collective.lock"

local function check_key(key, name)
  if type(key) == "number" then return check.integer(key, name, FN) end
  if type(key) ~= "string" then check.wrong(name, FN, "a string or an integer", key) end
end

---@alias actor.LockKey string|integer

local function list_of(keys)
  if type(keys) ~= "table" then
    if type(keys) ~= "number" and type(keys) ~= "string" then
      check.wrong("keys", FN, "a string, an integer or an array of them", keys)
    end
    keys = { keys }
  end
  if #keys == 0 then check.fail("bad argument 'keys' to %s: expected at least one key", FN) end
  for i = 1, #keys do check_key(keys[i], #keys == 1 and "keys" or ("keys[%d]"):format(i)) end
  return keys
end

---Calls `fn` while this node holds all of `keys`, which no other node of the run can hold at the same time. Returns the
---result of `fn`. When `fn` raises, the lock is released and the error is raised again. A lock within a lock is an
---error, since two nodes could then deadlock: name all keys in one call. `fn` must not yield out of the lock.
---```lua
---local result = actor.collective.lock("w", function()
---  return "no other node runs this part now"
---end)
---print(result)  --> no other node runs this part now
---```
---@generic T
---@param keys actor.LockKey|actor.LockKey[] compared by value: 1 and "1" are different keys
---@param fn fun(): T
---@param options? {timeout?: number} seconds to wait; 0: take the lock only if it is free now
---@return T|nil result
---@return string? message "lock: \"w\" not granted within 0.5 s (held by rank 2 at job.lua:12)"
---@return string? code "timeout"
function M.lock(keys, fn, options)
  check.arg(fn, "function", "fn", FN)
  local timeout = check.timeout(options, FN)
  events.check_worker(FN)
  local handle, message, code = c.acquire(list_of(keys), timeout)
  if not handle then return nil, message, code end
  return c.under(handle, fn)
end

return M
