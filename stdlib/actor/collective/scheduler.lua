--- Schedulers distribute items of work over the ranks. A dynamic scheduler has a queue: a free rank takes the next
--- item. A static scheduler deals the items out in turn, so each rank always gets the same items.
---
--- The queue is the number of the next item, stored in the first rank's process and taken under a lock
--- (table_sharing.lua). The process serves the queue while that rank computes, so the first rank works like the others.
--- Taking an item costs one or two round trips, and no message for ranks of that process. Items are not sent: every
--- rank has all of them.
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local c = require("actor.c.collective")
local l = require("actor.c.lock")
local parcels = require("actor.collective.table_parcels")
local sharing = require("actor.collective.table_sharing")

---@class actor.Scheduler
local Scheduler = check.class("scheduler:")

local M = {}

---@class actor.SchedulerOptions
---@field dynamic? any[] items of a dynamic scheduler; the same on every rank
---@field static? any[] items of a static scheduler; give `dynamic` or `static`, not both
---@field chunk? integer dynamic: number of items that a rank takes at a time, default 1
---@field group? actor.Collectives default: all workers
---@field timeout? number seconds that a rank waits for the others in collective calls

-- Makes a new queue of these indices on the first rank, and sends its number to all ranks. Or nil, message, code.
local function open_queue(self, indices)
  self.indices, self.at, self.last = indices, 0, 0
  local call = parcels.begin(self, "scheduler", { timeout = self.timeout })
  local old = self.queue
  local number
  local got, me, n = parcels.exchange(call, function(me, n)
    if me == 0 and not number then
      number = sharing.draw_number()
      l.shared_publish(number, 0, 1)
    end
    local first = { number = number, id = node.id }
    return ("of %d items, %s by %d"):format(#indices, self.static and "static" or "dynamic", self.chunk),
      me == 0 and parcels.everywhere(n, first) or {}, { true }
  end)
  if old and old.mine then sharing.withdraw(old) end
  if not got then
    if number then sharing.withdraw { number = number } end
    return nil, me, n
  end
  self.place, self.places = me, n
  self.queue = { number = got[1].number, owner = got[1].id, rank = sharing.ranks()[got[1].id], mine = me == 0 }
  return true
end

---Makes a scheduler. For a dynamic scheduler every worker makes the call together.
---```lua
---local tried = actor.collective.scheduler { dynamic = { 0.1, 0.01, 0.001 } }
---for item in tried:items() do
---  -- each rank takes the next item when it is free
---end
---```
---@param options actor.SchedulerOptions
---@return actor.Scheduler|nil
---@return string? message "scheduler: rank 2 lost"
---@return string? code
function M.new(options)
  local fn = "collective.scheduler"
  check.options(options, {
    dynamic = "table?", static = "table?", chunk = "number?", group = "table?", timeout = "number?",
  }, fn)
  if (options.dynamic == nil) == (options.static == nil) then check.fail("%s takes either dynamic or static", fn) end
  if options.chunk ~= nil then check.integer(options.chunk, "chunk", fn, 1) end
  if options.timeout ~= nil then check.number(options.timeout, "timeout", fn, 0) end
  if options.group and type(options.group.number) ~= "number" then
    check.wrong("group", fn, "a group of collective.group", options.group)
  end
  local self = setmetatable({
    list = options.dynamic or options.static, static = options.static ~= nil, chunk = options.chunk or 1,
    group = options.group, timeout = options.timeout,
  }, Scheduler)
  local opened, message, code = self:restart()
  if not opened then return nil, message, code end
  return self
end

---Starts again from the first item. For a dynamic scheduler every worker makes the call together.
---```lua
---local scheduler = actor.collective.scheduler { static = { "a", "b" } }
---for _ in scheduler:items() do end
---scheduler:restart()
---print(scheduler:next())  --> a 1
---```
---@return actor.Scheduler|nil self
---@return string? message
---@return string? code
function Scheduler:restart()
  local indices = {}
  for i = 1, #self.list do indices[i] = i end
  local opened, message, code = self:open(indices)
  if not opened then return nil, message, code end
  return self
end

---Internal: starts with these items.
function Scheduler:open(indices)
  if not self.static then return open_queue(self, indices) end
  self.indices, self.at = indices, 0
  self.place, self.places = c.members(self.group and self.group.number or 0)
  if not self.place then check.fail("scheduler: this worker is not in the group") end
  return true
end

-- Takes the next chunk of the queue. Returns true, or nil, message, code.
local function take(self)
  local queue = self.queue
  events.deliver()
  local rank = sharing.ranks()[queue.owner]
  if not rank then return nil, ("scheduler: rank %d lost"):format(queue.rank), "peer_lost" end
  local handle, values, code = l.shared_lock(queue.number, { 0 }, { rank }, self.timeout)
  if not handle then return nil, values, code end
  local first = values[1]
  local after = math.min(first + self.chunk, #self.indices + 1)
  l.shared_release(handle, after > first and { after } or nil)
  self.at, self.last = first - 1, after - 1
  return true
end

---Takes the next item for this rank.
---```lua
---local scheduler = actor.collective.scheduler { static = { "a", "b" } }
---print(scheduler:next())  --> a 1
---```
---@return any|nil item nil at the end
---@return integer|string? index the item's place in the list, from 1; or the message when the queue is lost
---@return string? code "peer_lost" or "timeout"
function Scheduler:next()
  local at
  if self.static then
    at = self.at == 0 and self.place + 1 or self.at + self.places
    self.at = at
  else
    if self.at == self.last then
      local taken, message, code = take(self)
      if not taken then return nil, message, code end
      if self.at == self.last then return nil end
    end
    self.at = self.at + 1
    at = self.at
  end
  local index = self.indices[at]
  if index == nil then return nil end
  return self.list[index], index
end

---Iterates over this rank's items: `for item, index in scheduler:items() do`. Raises when the queue is lost. A dynamic
---scheduler returns the remaining items, so call `restart` before another pass.
---```lua
---local count = 0
---for item in actor.collective.scheduler({ dynamic = { "a", "b", "c" } }):items() do count = count + 1 end
---print(actor.collective.allreduce(actor.tensor.full({ 1 }, count)):item())  --> 3
---```
---@return fun(): any, integer
function Scheduler:items()
  if self.static then self.at = 0 end
  return function()
    local item, index, code = self:next()
    if code then check.fail("%s", index) end
    return item, index
  end
end

-- Works on this rank's items. Returns true and the error of `fn`, if any; or nil, message, code on a timeout.
local function work(self, fn, done)
  while true do
    local item, index, code = self:next()
    if item == nil then
      if code == "timeout" then return nil, index, code end
      return true
    end
    local worked, result = pcall(fn, item, index)
    if not worked then return true, ("item %d: %s"):format(index, tostring(result)) end
    done[index] = { result }
  end
end

-- Sends all ranks' results to every rank.
local function gather(self, done, failed)
  local call = parcels.begin(self, "scheduler", { timeout = self.timeout })
  local parcel = { indices = {}, values = {}, failed = failed }
  for index, box in pairs(done) do
    local i = #parcel.indices + 1
    parcel.indices[i], parcel.values[i] = index, box[1]
  end
  local got, me, n = parcels.exchange(call, function(_, n)
    return ("results of %d items"):format(#self.list), parcels.everywhere(n, parcel), parcels.everywhere(n, true)
  end)
  if not got then return nil, me, n end
  for place = 1, n do
    if got[place].failed then check.fail("scheduler:run: rank %d: %s", place - 1, got[place].failed) end
  end
  local all = {}
  for place = 1, n do
    for i, index in ipairs(got[place].indices) do all[index] = { got[place].values[i] } end
  end
  return all
end

-- Works until no item is left, and exchanges the results with the other ranks. A lost rank is not a failure here.
local function round(self, fn, done)
  local worked, failed, code = work(self, fn, done)
  if not worked then return nil, failed, code end
  while true do
    local all, message, why = gather(self, done, failed)
    if all or why == "timeout" then return all, message, why end
  end
end

---Calls `fn` for every item, each on one of the ranks, and returns all results on every rank, in the order of the
---items. Every worker makes the call. The other ranks repeat the items of a lost rank. If `fn` raises on a rank, all
---ranks raise.
---```lua
---local results = actor.collective.scheduler({ dynamic = { 1, 2, 3 } }):run(function(item) return item * item end)
---print(results[1], results[2], results[3])  --> 1 4 9
---```
---@param fn fun(item: any, index: integer): any returns a result that can travel
---@return any[]|nil results with a field n
---@return string? message
---@return string? code "timeout"
function Scheduler:run(fn)
  check.arg(fn, "function", "fn", "scheduler:run")
  local done, todo = {}, {}
  for i = 1, #self.list do todo[i] = i end
  while #todo > 0 do
    local opened, message, code = self:open(todo)
    if code == "timeout" then return nil, message, code end
    if opened then
      done, message, code = round(self, fn, done)
      if not done then return nil, message, code end
      todo = {}
      for i = 1, #self.list do
        if not done[i] then todo[#todo + 1] = i end
      end
    end
  end
  local results = { n = #self.list }
  for i = 1, #self.list do results[i] = done[i][1] end
  return results
end

return M
