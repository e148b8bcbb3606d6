--- Events: named values that one node sends to another, to all, or to itself. They wait at the receiver until its
--- script takes them. Events of one sender arrive in order. A sender blocks while its receiver has many events that it
--- has not taken.
---
---     collective.send_event("slice", tensor, { to = 2 })
---     local event = collective.wait_event("slice", { from = 1, timeout = 5 })
local check = require("actor.check")
local node = require("actor.c.node")
local changes = require("actor.events")
local c = require("actor.c.events")

local M = {}

---@class actor.Event
---@field name string
---@field from integer|nil rank of the sender; nil when the sender has failed or ended
---@field id integer the sender's permanent id
---@field value any

local most = 0 -- largest number of workers seen at a time

-- The id of the worker with this rank. Ranks change only in collectives and actions. For a script with an on_membership
-- function, they change only after the call of this function.
local function id_of(rank, name, fn)
  most = math.max(most, node.size)
  if type(rank) ~= "number" or rank < 0 or rank >= most or rank ~= math.floor(rank) then
    check.wrong(name, fn, ("an integer from 0 to %d"):format(node.size - 1), rank)
  end
  local id = c.id_of(rank)
  if id then return id end
  return nil, ("%s: there is no rank %d any more, %d workers are left"):format(fn:match("[^.]+$"), rank, node.size),
    "peer_lost"
end

---Sends an event, and returns once it is on its way; the receiver's script need not wait for it yet.
---```lua
---actor.collective.send_event("progress", { rank = actor.rank, done = 3 }, { to = actor.rank })
---print(actor.collective.wait_event("progress").value.done)  --> 3
---```
---@param name string
---@param value any a value that can travel: a tensor, a plain Lua value, nil; it is copied
---@param options? {to?: integer|"all"|"local", timeout?: number} to: a rank, as of this node's last collective or
---action; "all" (the default): every worker, this worker too; "local": this node's own queue. `timeout`: seconds to
---wait for room
---@return boolean|nil sent true; with "all", failed and ended workers are left out
---@return string? message "send_event: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function M.send_event(name, value, options)
  local fn = "collective.send_event"
  check.arg(name, "string", "name", fn)
  options = check.optional_options(options, { to = "number|string?", timeout = "number?" }, fn)
  local to, timeout = options.to or "all", options.timeout
  if timeout ~= nil then check.number(timeout, "timeout", fn, 0) end
  changes.check_worker(fn)
  if type(to) == "string" and to ~= "all" and to ~= "local" then
    check.wrong("to", fn, "a rank, 'all' or 'local'", to)
  end
  local id, message, code
  if type(to) == "number" then id, message, code = id_of(to, "to", fn) end
  changes.deliver_if_subscribed()
  if to == "local" then
    c.put(name, value)
    return true
  elseif to == "all" then
    return c.send_all(name, value, timeout)
  end
  if not id then return nil, message, code end
  return c.send_to(name, value, id, timeout)
end

---Takes the first queued event with this name; returns nil without such an event. Does not wait.
---```lua
---print(actor.collective.get_event("nothing yet"))  --> nil
---actor.collective.send_event("note", "hello", { to = "local" })
---print(actor.collective.get_event("note").value)  --> hello
---```
---@param name? string nil: an event of any name
---@return actor.Event|nil
function M.get_event(name)
  local fn = "collective.get_event"
  check.optional(name, "string", "name", fn)
  changes.check_worker(fn)
  changes.deliver_if_subscribed()
  return c.get(name)
end

---Waits for the first event with this name, and takes it.
---```lua
---actor.collective.send_event("ready", true, { to = actor.rank })
---local event = actor.collective.wait_event("ready", { timeout = 5 })
---print(event.name, event.value)  --> ready true
---```
---@param name? string nil: an event of any name
---@param options? {from?: integer, timeout?: number} rank of the sender; seconds
---@return actor.Event|nil event
---@return string? message "wait_event: rank 2 lost while waiting for 'slice'"
---@return string? code "timeout"; "peer_lost" when the sender, or without `from` every other worker, has failed or
---ended
function M.wait_event(name, options)
  local fn = "collective.wait_event"
  check.optional(name, "string", "name", fn)
  options = check.optional_options(options, { from = "number?", timeout = "number?" }, fn)
  if options.timeout ~= nil then check.number(options.timeout, "timeout", fn, 0) end
  changes.check_worker(fn)
  local id, message, code
  if options.from ~= nil then id, message, code = id_of(options.from, "from", fn) end
  changes.deliver_if_subscribed()
  if options.from ~= nil and not id then return nil, message, code end
  return c.wait(name, id, options.timeout)
end

return M
