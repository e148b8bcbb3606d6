--- Rotation of a model: its slices travel round the ranks, so that one rank at a time works on each parameter and every
--- rank processes all of them. While a rank computes on one slice, the other slices travel in the background.
---
---     local rotator = collective.rotator{ table = model, slices = 2 }
---     for epoch = 1, 10 do
---       rotator:round(function(slice) for id, row in slice:pairs() do ... end end)
---     end
local check = require("actor.check")
local clock = require("actor.ffi")("core")
local c = require("actor.c.collective")
local calls = require("actor.collective.call")
local parcels = require("actor.collective.table_parcels")
local slices_flat = require("actor.collective.rotator_slice")
local tables = require("actor.collective.table")
local tensor = require("actor.tensor")
local util = require("actor.util")

---@class actor.Rotator
---@field tables actor.Table[] internal: the rotated tables
---@field slices integer
---@field bound number|nil seconds
local Rotator = check.class("rotator:")

local M = {}

local function now() return clock.now(clock.clock) end

---@class actor.RotatorOptions
---@field table? actor.Table the model: cut into slices by its ids, the i-th in order into slice i mod `slices`
---@field tables? actor.Table[] the slices themselves, instead of `table`
---@field slices? integer how many, default 2; with 1 nothing travels while a rank computes
---@field bound? number seconds that the work of a round may take. Each visit has a share of this time: a loop over
---`slice:pairs()` ends when it is up, and this rank's next visit of that slice continues there. A started item is
---finished; loops over other things ask `visit.time_left()`
---@field restore? boolean whether a failed round restores the contents of each rank from before the round; default
---true, which costs a copy before and after each round. With false the tables have other tensors after a round, and the
---tensors from before it are empty

---Makes a rotator of a model: each rank calls it with the table that has its own part. Costs no communication.
---```lua
---local part = actor.collective.table { combiner = "sum" }
---for id = 1, 4 do
---  if id % actor.size == actor.rank then part:set(id, actor.tensor.zeros(2)) end
---end
---local rotator = actor.collective.rotator { table = part }
---rotator:round(function(slice) -- each slice of the model visits each rank
---  for _, value in slice:pairs() do value:add_(1) end
---end)
---for _, value in part:pairs() do print(value:get(1) == actor.size) break end  --> true
---```
---@param options actor.RotatorOptions
---@return actor.Rotator
function M.new(options)
  local fn = "collective.rotator"
  check.options(options, {
    table = "table?", tables = "table?", slices = "number?", bound = "number?", restore = "boolean?",
  }, fn)
  if (options.table == nil) == (options.tables == nil) then check.fail("%s takes either table or tables", fn) end
  if options.tables and options.slices then check.fail("%s: tables are the slices; leave out slices", fn) end
  if options.bound ~= nil then check.number(options.bound, "bound", fn, 0) end
  local list = options.tables or { options.table }
  if #list == 0 then check.fail("bad argument 'tables' to %s: expected at least one table", fn) end
  for i, tbl in ipairs(list) do
    if not tables.is_table(tbl) then
      check.wrong(options.tables and ("tables[%d]"):format(i) or "table", fn, "a table of collective.table", tbl)
    end
    if (tbl.group and tbl.group.number) ~= (list[1].group and list[1].group.number) then
      check.fail("bad argument 'tables' to %s: they belong to different groups", fn)
    end
  end
  local slices = options.tables and #list or options.slices or 2
  check.integer(slices, "slices", fn, 1)
  return setmetatable({
    tables = list, slices = slices, cut = options.table ~= nil, bound = options.bound,
    restore = options.restore ~= false, cut_off = {}, left = {}, rounds = 0, visits = 0, computed = 0, waited = 0,
  }, Rotator)
end

-- This rank's slices as separate tables. Their source tables are empty while the slices travel.
local function take_slices(self)
  local slices = {}
  for k = 1, self.slices do
    local source = self.tables[self.cut and 1 or k]
    slices[k] = setmetatable(util.merged(source), getmetatable(source))
    if self.cut then slices[k].parts, slices[k].weights = {}, {} end
  end
  if self.cut then
    local source = self.tables[1]
    for i, id in ipairs(source:ids()) do
      local slice = slices[(i - 1) % self.slices + 1]
      slice.parts[id], slice.weights[id] = source.parts[id], source.weights[id]
    end
  end
  for _, tbl in ipairs(self.tables) do tbl.parts, tbl.weights = {}, {} end
  return slices
end

local function put_back(self, slices)
  for k, slice in ipairs(slices) do
    local into = self.tables[self.cut and 1 or k]
    for id, value in pairs(slice.parts) do into.parts[id], into.weights[id] = value, slice.weights[id] end
  end
end

-- Lays each slice that can travel as one tensor into one tensor. Returns the source partitions by slice, and the
-- partitions to restore on this rank when a round fails.
local function prepare(self, slices, n)
  local sources, before = {}, {}
  for k, slice in ipairs(slices) do
    sources[k], before[k] = slice.parts, slice
    local shallow_copy = setmetatable(util.merged(slice), getmetatable(slice))
    local flat = n > 1 and slices_flat.lay_flat(slice, self.left[k])
    if self.restore then before[k] = flat and shallow_copy or shallow_copy:copy() end
  end
  self.left = {}
  return sources, before
end

-- Copies returned slices into their source tensors; without `restore` they stay as they are.
local function arrive(self, slices, sources)
  for k, slice in ipairs(slices) do
    if self.restore then
      slices_flat.settle(slice, sources[k])
    elseif slice.flat then
      self.left[k] = { flat = slice.flat, given = slice.given }
    end
  end
end

-- A failed round continues to its end without the user's function, since all ranks must start the same calls. It does
-- not wait long for pending calls. A later wait may return an error that names the lost rank; this error replaces an
-- error that only reports a changed membership.
local fewer = "rotator: the membership has changed"

local function fail(round, message, code)
  local better = round.failure and round.failure[1] == fewer and code == "peer_lost"
  if not round.failure or better then round.failure, round.call.timeout = { message, code }, 0.1 end
end

-- Calls `fn`, and records a lack of memory on this rank: the other ranks get it like any error in `fn`.
local function within_memory(round, fn, ...)
  local worked, result, message, code = pcall(fn, ...)
  if worked then return true, result, message, code end
  if not calls.lacks_memory(result) then error(result, 0) end
  round.failed = round.failed or ("rank %d: not enough memory"):format(round.me)
  return false
end

-- Sends a slice to the next rank and receives one from the previous rank, both in the background.
local function begin_travel(round, slice, about)
  local parcel, changed
  local function start()
    parcel = round.failed and { failed = round.failed } or slices_flat.close(slice)
      or parcels.pack(slice.parts, slice.weights)
    return parcels.start(round.call, function(me, n)
      changed = n ~= round.n
      if n == 1 then return about, {}, {} end
      return about, { [(me + 1) % n + 1] = parcel }, { [(me - 1) % n + 1] = true }
    end)
  end
  local worked, pending, message, code = within_memory(round, start)
  if not worked then pending, message, code = start() end -- sends the failure in place of the slice
  slices_flat.leave(slice)
  if not pending then
    fail(round, message, code)
  elseif changed then
    fail(round, fewer, "peer_lost")
  end
  return pending
end

local function finish_travel(round, pending, slice)
  local since = now()
  local worked, got, message, code = within_memory(round, parcels.finish, pending)
  round.waited = round.waited + now() - since
  if not worked then return end
  if not got then return fail(round, message, code) end
  local parcel = got[(round.me - 1) % round.n + 1]
  if round.failure or not parcel then return end
  if tensor.is_tensor(parcel) then
    slices_flat.open(slice, parcel)
  elseif parcel.failed then
    round.failed = round.failed or parcel.failed
  else
    slice.parts, slice.weights = parcels.unpack(parcel)
  end
end

-- Iterates over a slice in a visit with a bound: from the place where this rank's last visit stopped until the time is
-- up.
local function bounded(self, about)
  local key = about.home * self.slices + about.slice
  return function(ids)
    local first, done = 1, 0
    while first < #ids and ids[first] < (self.cut_off[key] or -math.huge) do first = first + 1 end
    return function()
      if done == #ids then return nil end
      local id = ids[(first + done - 1) % #ids + 1]
      if about.time_left() == 0 then
        self.cut_off[key] = id
        return nil
      end
      done = done + 1
      return id
    end
  end
end

-- Calls the user's function once. Its error is sent to the other ranks in place of the slices.
local function visit(self, round, fn, slice, about)
  if round.failed or round.failure then return end
  local since = now()
  slice.bounded = self.bound and bounded(self, about) or nil
  local worked, message = pcall(fn, slice, about)
  slice.bounded = nil
  round.computed, round.visits = round.computed + now() - since, round.visits + 1
  if not worked then round.failed = ("rank %d: %s"):format(round.me, tostring(message)) end
end

-- Describes the visit of slice k on this rank after `step` steps, counted over all rounds.
local function visit_of(self, round, step, k)
  local share = (step * self.slices + k) / (round.n * self.slices)
  local deadline = self.bound and round.began + self.bound * share
  return {
    slice = k, step = step % round.n, rank = round.me, home = (round.me - step) % round.n,
    round = self.rounds + 1 + math.floor(step / round.n),
    time_left = function() return deadline and math.max(0, deadline - now()) or math.huge end,
  }
end

-- Sends all slices round the ranks, `times` times.
local function go_round(self, round, fn, slices, times)
  local travelling = {}
  for step = 0, times * round.n - 1 do
    for k, slice in ipairs(slices) do
      if travelling[k] then finish_travel(round, travelling[k], slice) end
      visit(self, round, fn, slice, visit_of(self, round, step, k))
      travelling[k] = round.n > 1 and begin_travel(round, slice,
        ("round %d, step %d, slice %d of %d"):format(self.rounds + 1, step, k, self.slices)) or nil
    end
  end
  for k, slice in ipairs(slices) do
    if travelling[k] then finish_travel(round, travelling[k], slice) end
  end
end

-- Returns the outcome of a round, the same on all ranks, like parcels.verdict.
local function verdict(round, call)
  if not round.failure then return parcels.verdict(call, round.failed) end
  local message, code = round.failure[1], round.failure[2]
  if code == "peer_lost" then
    -- The barrier reports the loss to the blocking calls too, and its message names the lost rank.
    local _, lost, why = c.barrier(call)
    if why == "peer_lost" then message = lost end
  end
  return nil, message, code
end

---@class actor.RotatorVisit
---@field slice integer number of the slice, from 1
---@field step integer 0 .. n-1: number of earlier visits of the slice in this round
---@field home integer rank whose slice it is
---@field rank integer this worker's rank
---@field round integer from 1
---@field time_left fun(): number seconds left for this visit; infinite without a bound

---Sends each slice to each rank once and back to its home rank, and calls `fn` at each visit. Every worker makes the
---call. `fn` may change partitions in place, set, add and remove them. A tensor is empty after its visit, since it has
---moved on: `clone` values that you need later. During the call the tables are empty; afterwards (unless restore =
---false) they have the same tensors again, with new contents.
---
---With `rounds` the slices make several rounds in one call, which saves the wait for the last slices between two
---rounds; a failure then fails all these rounds. When `fn` raises on a rank, or a rank is lost, the call raises or
---fails on all ranks, and each rank has its contents from before the call (with restore = false: the slices present on
---it at that time).
---```lua
---local part = actor.collective.table { combiner = "sum" }
---part:set(actor.rank + 1, actor.tensor.zeros(1))
---actor.collective.rotator({ table = part }):round(function(slice, visit)
---  for _, value in slice:pairs() do value:add_(1) end
---end)
---print(part:get(actor.rank + 1):item() == actor.size)  --> true
---```
---@param fn fun(slice: actor.Table, visit: actor.RotatorVisit)
---@param options? {timeout?: number, rounds?: integer} seconds that a slice may travel; number of rounds, default 1
---@return true|nil
---@return string? message "rotator: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function Rotator:round(fn, options)
  check.arg(fn, "function", "fn", "rotator:round")
  local call = parcels.begin(self.tables[1], "rotator", options, { rounds = "number?" })
  local times = options and options.rounds or 1
  check.integer(times, "rounds", "rotator:round", 1)
  for _, tbl in ipairs(self.tables) do
    if tbl.sharing then check.fail("rotator:round: the table is shared since its regroup(); unshare() it first") end
  end
  -- Agrees with the other ranks on the members, and checks that all are in the same call.
  local agreed, me, n = parcels.exchange(call, function()
    local until_round = times > 1 and (" to %d"):format(self.rounds + times) or ""
    return ("round %d%s of %d slices %s"):format(self.rounds + 1, until_round, self.slices, parcels.about(self.tables[1])),
      {}, {}
  end)
  if not agreed then return calls.failed(me, n) end
  local slices = take_slices(self)
  local sources, before = prepare(self, slices, n)
  local round = { call = util.merged(call), me = me, n = n, began = now(), visits = 0, computed = 0, waited = 0 }
  go_round(self, round, fn, slices, times)
  for _, figure in ipairs { "visits", "computed", "waited" } do self[figure] = self[figure] + round[figure] end
  local worked, fine, message, code = pcall(verdict, round, call)
  if worked and fine then arrive(self, slices, sources) end
  put_back(self, worked and fine and slices or before)
  if not worked then error(fine, 0) end
  if fine == nil then return calls.failed(message, code) end
  if not fine then check.fail("rotator:round: %s", code) end
  self.rounds = self.rounds + times
  return true
end

---@class actor.RotatorStats
---@field rounds integer finished rounds
---@field visits integer calls of the function here
---@field computed number seconds in these calls
---@field waited number seconds of waiting for slices

---Returns the statistics of this rank over all rounds so far.
---```lua
---local part = actor.collective.table { combiner = "sum" }
---part:set(actor.rank, actor.tensor.zeros(1))
---local rotator = actor.collective.rotator { table = part }
---rotator:round(function() end)
---print(rotator:stats().rounds)  --> 1
---```
---@return actor.RotatorStats
function Rotator:stats()
  return { rounds = self.rounds, visits = self.visits, computed = self.computed, waited = self.waited }
end

return M
