--- Callbacks for changes of the run: `actor.on_membership` and `actor.on_error`. They run on the node's own thread,
--- between and inside engine calls, never in the middle of other Lua code.
local check = require("actor.check")
local node = require("actor.c.node")
local rehearsal = require("actor.rehearsal")
local rounds = require("actor.console.rounds")

local M = {}

local membership_callbacks, error_callbacks = {}, {}

---@class actor.MembershipChange
---@field epoch integer number of the new membership
---@field joined integer[] ids of new workers
---@field lost integer[] ids of failed or departed workers

---Calls `fn` at each membership change that this node applies; the node's rank and size change only then.
---```lua
---actor.on_membership(function(change)
---  for _, id in ipairs(change.lost) do print(("worker %d is lost, %d workers remain"):format(id, actor.size)) end
---end)
---```
---@param fn fun(change: actor.MembershipChange)
function M.on_membership(fn)
  check.arg(fn, "function", "fn", "actor.on_membership")
  membership_callbacks[#membership_callbacks + 1] = fn
end

---Calls `fn` with the message when the run fails, here or on another node, before this node's script ends. A stopping
---node has one second to end; `fn` runs within the remaining time.
---```lua
---actor.on_error(function(message) actor.log.info("the run ends: %s", message) end)
---```
---@param fn fun(message: string)
function M.on_error(fn)
  check.arg(fn, "function", "fn", "actor.on_error")
  error_callbacks[#error_callbacks + 1] = fn
end

---Applies a new membership and calls the callbacks. Engine calls do this.
---@return actor.MembershipChange|nil
function M.deliver()
  local change = node.refresh()
  if change then
    for _, fn in ipairs(membership_callbacks) do fn(change) end
  end
  if rehearsal.active then rehearsal.run_checks() end
  return change
end

---Raises on a server: `fn` is for workers.
---@param fn string
function M.check_worker(fn)
  if node.role == "server" then
    check.fail("%s is for workers and this is a parameter server; guard with actor.role", fn)
  end
end

---As `deliver`, but only if the script has an on_membership callback; otherwise its ranks stay unchanged.
function M.deliver_if_subscribed()
  if #membership_callbacks > 0 then M.deliver() end
end

local run -- the current run of this worker: {name =, place =, restarts =}

---Whether this worker is in a run named `name`.
---@param name string "peer.run"
---@return boolean
function M.in_run(name)
  return run ~= nil and run.name == name and run.restarts == rounds.restarts()
end

local function ended(...)
  run = nil
  return ...
end

---Enters the action `name`, a run whose callbacks cannot begin another run.
---@param name string "param.run"
---@return integer index, replayed and value as `enter_action`
---@return boolean replayed
---@return string value
function M.enter_run(name)
  if run and M.in_run(run.name) then
    check.fail("%s cannot be called in a callback of %s (%s): call it before or after that run", name, run.name, run.place)
  end
  return M.enter_action(name)
end

---Calls `fn(...)` as the run `name` that this worker has entered. An error in it ends the run on all nodes, even if the
---script catches the error.
---@param name string
---@param fn function
---@return any ... its results
function M.call_as_run(name, fn, ...)
  run = { name = name, place = node.position(), restarts = rounds.restarts() }
  return ended(node.call_for_all(fn, ...))
end

---Enters the next numbered action. Returns its number, whether it is already complete and, if so, its recorded value.
---@param kind string "param.run"
---@return integer index
---@return boolean replayed
---@return string value
function M.enter_action(kind)
  M.deliver()
  return node.enter_action(kind)
end

---For the host: calls the on_error callbacks.
---@param message string
function M.failed(message)
  for _, fn in ipairs(error_callbacks) do fn(message) end
end

return M
