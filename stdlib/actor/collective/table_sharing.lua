--- Tables whose partitions are used under locks: after a regroup() of a table that was made with `shared` each rank's
--- part of it lies in a store of its process, which serves the other ranks while the rank computes. Each regroup makes a
--- new generation there, under a number of its own, so one that fails leaves the old in place.
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local c = require("actor.c.collective")
local l = require("actor.c.lock")
local parcels = require("actor.collective.table_parcels")

---Internal; the methods of tables are in `methods`.
local M = {}

local counter, in_use = 0, {}

---A number that no other shared table of the run has. The group's first rank draws it for all.
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

local function withdraw(sharing)
  l.shared_withdraw(sharing.number)
  in_use[sharing.number] = nil
end
M.withdraw = withdraw

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

---Ranks by permanent id, as of now.
---@return table<integer, integer>
function M.ranks()
  local ranks = {}
  for i, id in ipairs(node.workers()) do ranks[id] = i - 1 end
  return ranks
end

-- What this rank has written under locks may still be on its way. Who gets a lock on something of that owner now stands
-- behind it.
local function flush(sharing)
  local ranks = M.ranks()
  for place, id in pairs(sharing.changed) do
    local rank = ranks[sharing.owners[place]]
    local handle = rank and l.shared_lock(sharing.number, { id }, { rank })
    if handle then l.shared_release(handle) end
  end
  sharing.changed = {}
end

---Waits until nobody changes the table any more and all changes have arrived; nothing to do for one that is not shared.
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

---Gives the table new contents; the end of its sharing, or of the old generation.
---@param tbl actor.Table
---@param values table<integer, any>
---@param weights table<integer, number>
---@param sharing? table
function M.replace(tbl, values, weights, sharing)
  if tbl.sharing then withdraw(tbl.sharing) end
  if sharing then
    local published = {}
    for id in pairs(values) do published[id] = true end
    values = published
  end
  tbl.parts, tbl.weights, tbl.sharing = values, weights, sharing
end

-- The ids as an array without repetitions.
local function list_of(ids)
  local fn = "table:lock"
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

-- The places of the ids' owners, and their ranks. When one is gone: nil, message, code.
local function owners_of(tbl, list)
  local sharing = tbl.sharing
  local places, ranks, now = {}, {}, M.ranks()
  for i, id in ipairs(list) do
    local place, wrong = parcels.owner(tbl.partitioner, id, #sharing.owners)
    if not place then check.fail("table:lock: %s", wrong) end
    places[i] = place + 1
    ranks[i] = now[sharing.owners[place + 1]]
    if not ranks[i] then return nil, ("lock: rank %d lost"):format(sharing.ranks[place + 1]), "peer_lost" end
  end
  return places, ranks
end

local function acquire(sharing, list, ranks, timeout)
  local worked, handle, values, code = pcall(l.shared_lock, sharing.number, list, ranks, timeout)
  if worked then return handle, values, code end
  local rank, id = tostring(handle):match("rank (%d+) has not published id (%-?%d+)")
  if rank then check.fail("table:lock: rank %s has no partition %s", rank, id) end
  error(handle, 0)
end

-- Writes back and gives back.
local function release(sharing, handle, list, places, values, ...)
  local writes, locked = {}, {}
  for i, id in ipairs(list) do
    writes[i], locked[id] = values[id], true
    sharing.changed[places[i]] = id
  end
  for id in pairs(values) do
    if not locked[id] then
      l.shared_release(handle)
      check.fail("table:lock: id %s was given a value but is not locked", tostring(id))
    end
  end
  l.shared_release(handle, writes)
  return ...
end

local methods = {}
M.methods = methods

---Calls `fn` with the newest values of these partitions, wherever they are, while no other rank has any of them; what
---it changes in place or assigns is written back before the next gets them. Returns what `fn` returns. When `fn` raises
---nothing is written back, and the error goes on. Not within another lock, and no collective within `fn`.
---@param ids integer|integer[] of partitions that their owners have since the last regroup()
---@param fn fun(values: table<integer, any>): ... by id; one that it sets to nil stays as it was
---@param options? {timeout?: number} seconds to wait
---@return any|nil result
---@return string? message "lock: rank 2 lost", "lock: id 3 of table 65537 not granted within 0.5 s (held by ...)"
---@return string? code "peer_lost" or "timeout"
function methods:lock(ids, fn, options)
  local list = list_of(ids)
  check.arg(fn, "function", "fn", "table:lock")
  options = options or {}
  check.options(options, { timeout = "number?" }, "table:lock")
  if options.timeout ~= nil then check.number(options.timeout, "timeout", "table:lock", 0) end
  local sharing = self.sharing
  if not sharing then
    check.fail("table:lock: the table is not shared; make it with shared = true, and call regroup() on every rank first")
  end
  events.deliver()
  local places, ranks, code = owners_of(self, list)
  if not places then return nil, ranks, code end
  local handle, newest
  handle, newest, code = acquire(sharing, list, ranks, options.timeout)
  if not handle then return nil, newest, code end
  local values = {}
  for i, id in ipairs(list) do values[id] = newest[i] end
  return release(sharing, handle, list, places, values, l.shared_under(handle, fn, values))
end

---Collective: comes back when every rank has called it, and then `get` and `pairs` at the owners see all that was
---written under locks before. The table stays shared.
---@param options? {timeout?: number}
---@return actor.Table|nil self
---@return string? message
---@return string? code
function methods:sync(options)
  local call = parcels.begin(self, "sync", options)
  if not self.sharing then check.fail("table:sync: the table is not shared") end
  local settled, message, code = M.settle(self, call)
  if not settled then return nil, message, code end
  return self
end

---Collective: ends the sharing. Each rank has its partitions to itself again, with the newest values.
---@param options? {timeout?: number}
---@return actor.Table|nil self
---@return string? message
---@return string? code
function methods:unshare(options)
  local call = parcels.begin(self, "unshare", options)
  if not self.sharing then return self end
  local settled, message, code = M.settle(self, call)
  if not settled then return nil, message, code end
  M.replace(self, M.newest(self))
  return self
end

return M
