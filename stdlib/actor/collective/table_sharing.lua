--- Tables with access to partitions under locks. After a regroup() of a table with the option `shared`, each rank's
--- part of it is in a store of its process, which serves the other ranks while the rank computes. Each regroup makes a
--- new generation there, under its own number, so a failed regroup leaves the old generation in place.
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local c = require("actor.c.collective")
local l = require("actor.c.lock")
local parcels = require("actor.collective.table_parcels")
local tensor = require("actor.tensor")
local shape_text = require("actor.tensor.base").shape_text

---Internal; the methods of tables are in `methods`.
local M = {}

local counter, in_use = 0, {}

---Draws a number that is unique among the shared tables of the run. The group's first rank does this for all.
---@return integer
function M.draw_number()
  repeat
    counter = (counter + 1) % 65536
    local number = (node.id % 65536) * 65536 + counter
    if not in_use[number] then
      in_use[number] = true
      return number
    end
  until false
end

function M.withdraw(sharing)
  l.shared_withdraw(sharing.number)
  in_use[sharing.number] = nil
end

---Publishes values as a new generation.
---@param values table<integer, any>
---@param got actor.TableParcel[] of all ranks, with the number and their ids
---@return table sharing
function M.publish(values, got)
  local number, owners, ranks = got[1].number, {}, {}
  local rank_of = M.ranks()
  for i = 1, #got do
    owners[i] = got[i].id
    ranks[i] = rank_of[owners[i]]
  end
  for id, value in pairs(values) do l.shared_publish(number, id, value) end
  return {
    number = number, owners = owners, ranks = ranks, changed = {},
    read = function(id) return l.shared_read(number, id) end,
  }
end

---The present ranks, by permanent id.
---@return table<integer, integer>
function M.ranks()
  local ranks = {}
  for i, id in ipairs(node.workers()) do ranks[id] = i - 1 end
  return ranks
end

-- Waits until the writes of this rank under locks have reached their owners. An owner grants a lock only after earlier
-- writes, so this rank takes one lock at each owner.
local function flush(sharing)
  local ranks = M.ranks()
  for place, id in pairs(sharing.changed) do
    local rank = ranks[sharing.owners[place]]
    local handle = rank and l.shared_lock(sharing.number, { id }, { rank })
    if handle then l.shared_release(handle) end
  end
  sharing.changed = {}
end

---Waits until no rank changes the table any more and all changes have arrived. No effect if the table is not shared.
---@param tbl actor.Table
---@param call table
---@return true|nil
---@return string? message
---@return string? code
function M.settle(tbl, call)
  if not tbl.sharing then return true end
  flush(tbl.sharing)
  return c.barrier(call)
end

---This rank's partitions with their newest values.
---@param tbl actor.Table
---@return table<integer, any> values
---@return table<integer, number> weights
function M.newest(tbl)
  if not tbl.sharing then return tbl.parts, tbl.weights end
  local values = {}
  for id in pairs(tbl.parts) do values[id] = tbl.sharing.read(id) end
  return values, tbl.weights
end

---Replaces the contents of the table, and ends its sharing or its old generation.
---@param tbl actor.Table
---@param values table<integer, any>
---@param weights table<integer, number>
---@param sharing? table
function M.replace(tbl, values, weights, sharing)
  if tbl.sharing then M.withdraw(tbl.sharing) end
  if sharing then
    local published = {}
    for id in pairs(values) do published[id] = true end
    values = published
  end
  tbl.parts, tbl.weights, tbl.sharing = values, weights, sharing
end

-- The ids as an array without duplicates.
local function list_of(ids, fn)
  if type(ids) == "number" then ids = { ids } end
  check.arg(ids, "table", "ids", fn)
  if #ids == 0 then check.fail("bad argument 'ids' to %s: expected at least one id", fn) end
  local list, seen = {}, {}
  for i, id in ipairs(ids) do
    check.integer(id, ("ids[%d]"):format(i), fn)
    if not seen[id] then
      seen[id] = true
      list[#list + 1] = id
    end
  end
  return list
end

-- The places of the ids' owners, and their ranks; nil, message, code when an owner is lost.
local function owners_of(tbl, list, fn)
  local sharing = tbl.sharing
  local places, ranks, now = {}, {}, M.ranks()
  for i, id in ipairs(list) do
    local place, wrong = parcels.owner(tbl.partitioner, id, #sharing.owners)
    if not place then check.fail("%s: %s", fn, wrong) end
    places[i] = place + 1
    ranks[i] = now[sharing.owners[place + 1]]
    if not ranks[i] then return nil, ("%s: rank %d lost"):format(fn:match("%a+$"), sharing.ranks[place + 1]), "peer_lost" end
  end
  return places, ranks
end

-- Locks the partitions. Returns a handle, their values by id and the places of their owners; or nil, message, code.
-- With `adding` other ranks may hold them at the same time.
local function acquire(tbl, ids, fn, options, adding)
  local list = list_of(ids, fn)
  local timeout = check.timeout(options, fn)
  local sharing = tbl.sharing
  if not sharing then
    check.fail("%s: the table is not shared; make it with shared = true, and call regroup() on every rank first", fn)
  end
  events.deliver()
  local places, ranks, code = owners_of(tbl, list, fn)
  if not places then return nil, ranks, code end
  local worked, handle, newest
  worked, handle, newest, code = pcall(l.shared_lock, sharing.number, list, ranks, timeout, adding)
  if not worked then
    local rank, id = tostring(handle):match("rank (%d+) has not published id (%-?%d+)")
    if rank then check.fail("%s: rank %s has no partition %s", fn, rank, id) end
    error(handle, 0)
  end
  if not handle then return nil, newest, code end
  local values = {}
  for i, id in ipairs(list) do values[id] = newest[i] end
  return handle, values, { list = list, places = places, fn = fn, sharing = sharing }
end

-- Writes the values back and releases the lock.
local function release(handle, held, values, ...)
  local writes, locked = {}, {}
  for i, id in ipairs(held.list) do
    writes[i], locked[id] = values[id], true
    held.sharing.changed[held.places[i]] = id
  end
  for id in pairs(values) do
    if not locked[id] then
      l.shared_release(handle)
      check.fail("%s: id %s was given a value but was not requested", held.fn, tostring(id))
    end
  end
  l.shared_release(handle, writes)
  return ...
end

-- Turns values into the differences from `before`, and releases the lock with them.
local function release_changes(handle, held, values, before, ...)
  for id, old in pairs(before) do
    local new = values[id]
    if new ~= nil then
      local fits, change = pcall(function() return new - old end)
      if not fits or not tensor.is_tensor(new) or change.dtype ~= old.dtype
        or shape_text(change) ~= shape_text(old) then
        l.shared_release(handle)
        check.fail("table:update: the new value of partition %d differs from the old value in dtype or shape", id)
      end
      values[id] = change
    end
  end
  return release(handle, held, values, ...)
end

local Table = {}
M.methods = Table

---Calls `fn` with the newest values of these partitions, on whatever rank they are, while no other rank holds any of
---them. It is an error within another lock, and `fn` must not call a collective. Changes in place and assignments of
---`fn` are written back before another rank gets the partitions. Returns the results of `fn`. When `fn` raises, nothing
---is written back and the error is raised again.
---```lua
---local t = actor.collective.table { combiner = "sum", shared = true }
---if actor.rank == 0 then t:set(0, 0) end
---t:regroup()
---t:lock(0, function(values) values[0] = values[0] + 1 end) -- on every rank, one after the other
---t:sync()
---if actor.rank == 0 then print(t:get(0) == actor.size) end  --> true
---```
---@param ids integer|integer[] of partitions that were in the table at the last regroup()
---@param fn fun(values: table<integer, any>): ... gets the values by id; a value set to nil stays as it was
---@param options? {timeout?: number} seconds to wait
---@return any|nil result
---@return string? message "lock: rank 2 lost", "lock: id 3 of table 65537 not granted within 0.5 s (held by ...)"
---@return string? code "peer_lost" or "timeout"
function Table:lock(ids, fn, options)
  check.arg(fn, "function", "fn", "table:lock")
  local handle, values, held = acquire(self, ids, "table:lock", options)
  if not handle then return nil, values, held end
  return release(handle, held, values, l.shared_under(handle, fn, values))
end

---Calls `fn` with copies of the newest values of these partitions, which must be tensors, on whatever rank they are.
---After the return of `fn`, its changes are added to the partitions at their owners. Other ranks may do the same at
---that time: no rank waits and no change is lost, but changes computed from the same values add up. When `fn` raises,
---nothing is added. An error within a lock or another update; `fn` must not call a collective.
---```lua
---local t = actor.collective.table { combiner = "sum", shared = true }
---if actor.rank == 0 then t:set(0, actor.tensor.zeros(1)) end
---t:regroup()
---t:update(0, function(values) values[0]:add_(1) end)
---t:sync()
---if actor.rank == 0 then print(t:get(0):item() == actor.size) end  --> true
---```
---@param ids integer|integer[] of partitions that were in the table at the last regroup()
---@param fn fun(values: table<integer, actor.Tensor>): ... gets the values by id; a value set to nil stays as it is
---@param options? {timeout?: number} seconds to wait for the owners' replies
---@return any|nil result the results of `fn`
---@return string? message "update: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function Table:update(ids, fn, options)
  check.arg(fn, "function", "fn", "table:update")
  local handle, values, held = acquire(self, ids, "table:update", options, true)
  if not handle then return nil, values, held end
  local before = {}
  for id, value in pairs(values) do
    if not tensor.is_tensor(value) then
      l.shared_release(handle)
      check.fail("table:update: partition %d is not a tensor, so changes cannot be added; use lock", id)
    end
    before[id] = value:clone()
  end
  return release_changes(handle, held, values, before, l.shared_under(handle, fn, values))
end

---Waits until every rank has made this call and all earlier writes under locks are at their owners, visible to `get`
---and `pairs`. The table stays shared.
---```lua
---local t = actor.collective.table { combiner = "sum", shared = true }
---t:set(actor.rank, "of rank " .. actor.rank)
---t:regroup()
---t:lock(0, function(values) values[0] = "changed" end)
---t:sync()
---if actor.rank == 0 then print(t:get(0)) end  --> changed
---```
---@param options? {timeout?: number} seconds
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:sync(options)
  local call = parcels.begin(self, "sync", options)
  if not self.sharing then check.fail("table:sync: the table is not shared") end
  local settled, message, code = M.settle(self, call)
  if not settled then return nil, message, code end
  return self
end

---Ends the sharing: each rank has exclusive access to its partitions again, with the newest values. Every rank makes
---the call.
---```lua
---local t = actor.collective.table { combiner = "sum", shared = true }
---if actor.rank == 0 then t:set(0, 5) end
---t:regroup()
---t:unshare()
---if actor.rank == 0 then print(t:get(0)) end  --> 5
---```
---@param options? {timeout?: number} seconds
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:unshare(options)
  local call = parcels.begin(self, "unshare", options)
  if not self.sharing then return self end
  local settled, message, code = M.settle(self, call)
  if not settled then return nil, message, code end
  M.replace(self, M.newest(self))
  return self
end

return M
