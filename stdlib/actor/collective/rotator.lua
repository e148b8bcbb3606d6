--- Rotation of a model: its slices go round the ranks, so that each parameter is worked on by one rank at a time and every
--- rank sees all of them. While a rank computes on one slice the others travel, in the background.
---
---     local rotator = collective.rotator{ table = model, slices = 2 }
---     for epoch = 1, 10 do
---       rotator:round(function(slice) for id, row in slice:pairs() do ... end end)
---     end
local check = require("actor.check")
local clock = require("actor.ffi")("core")
local parcels = require("actor.collective.table_parcels")
local tables = require("actor.collective.table")

---@class actor.Rotator
---@field tables actor.Table[] internal: what it was made of
---@field slices integer
---@field bound number|nil seconds
local Rotator = {}
Rotator.__index = Rotator

local M = {}

local function now() return clock.now(clock.clock) end

---@class actor.RotatorOptions
---@field table? actor.Table cut into slices by its ids, the i-th in order into slice i mod `slices`
---@field tables? actor.Table[] or the slices themselves; `table` or `tables` is there, not both
---@field slices? integer how many, default 2; 1: nothing travels while a rank computes
---@field bound? number seconds that a round may take; the function is told what is left, see `round`
---@field restore? boolean whether a round that fails gives each rank what it had before it; default true, for which each
---round begins with a copy

---A rotator of what the ranks have of a model; each makes one of a table of its own. Costs no communication.
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
    restore = options.restore ~= false, rounds = 0, visits = 0, computed = 0, waited = 0,
  }, Rotator)
end

-- The slices of this rank as tables of their own. What they are made of is empty while they are under way.
local function take_slices(self)
  local slices = {}
  for k = 1, self.slices do
    local source = self.tables[self.cut and 1 or k]
    slices[k] = setmetatable({}, getmetatable(source))
    for key, value in pairs(source) do slices[k][key] = value end
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

local function copies(slices)
  local out = {}
  for k, slice in ipairs(slices) do out[k] = slice:copy() end
  return out
end

-- Sends a slice to the next rank, and gets that of the one before; both in the background.
local function begin_travel(self, call, slice, about)
  local parcel = self.failed and { failed = self.failed } or parcels.pack(slice.parts, slice.weights)
  slice.parts, slice.weights = {}, {}
  return parcels.start(call, function(me, n)
    return about, { [(me + 1) % n + 1] = parcel }, { [(me - 1) % n + 1] = true }
  end)
end

local function finish_travel(self, pending, slice, source)
  local since = now()
  local got, message, code = parcels.finish(pending)
  self.waited = self.waited + now() - since
  if not got then return nil, message, code end
  local parcel = got[source]
  if not parcel then return nil, "rotator: the membership has changed", "peer_lost" end
  if parcel.failed then
    self.failed = self.failed or parcel.failed
  else
    slice.parts, slice.weights = parcels.unpack(parcel)
  end
  return true
end

-- One call of the user's function. What it raises is told to the others in place of the slices.
local function visit(self, fn, slice, about)
  if self.failed then return end
  local since = now()
  local worked, message = pcall(fn, slice, about)
  self.computed, self.visits = self.computed + now() - since, self.visits + 1
  if not worked then self.failed = ("rank %d: %s"):format(about.rank, tostring(message)) end
end

-- All slices once round the ranks. Nil, message, code when a rank is lost.
local function go_round(self, call, fn, slices, me, n)
  local travelling, began = {}, now()
  local failure
  for step = 0, n - 1 do
    for k, slice in ipairs(slices) do
      if travelling[k] and not failure then
        local arrived, message, code = finish_travel(self, travelling[k], slice, (me - 1) % n + 1)
        travelling[k] = nil
        if not arrived then failure = { message, code } end
      end
      if failure then break end
      local deadline = self.bound and began + self.bound * (step * self.slices + k) / (n * self.slices)
      visit(self, fn, slice, {
        slice = k, step = step, rank = me, home = (me - step) % n, round = self.rounds + 1,
        time_left = function() return deadline and math.max(0, deadline - now()) or math.huge end,
      })
      if n > 1 then
        local message, code
        travelling[k], message, code = begin_travel(self, call, slice, ("round %d, step %d, slice %d of %d"):format(
          self.rounds + 1, step, k, self.slices))
        if not travelling[k] then failure = { message, code } end
      end
    end
  end
  for k, slice in ipairs(slices) do
    if travelling[k] then
      local arrived, message, code = finish_travel(self, travelling[k], slice, (me - 1) % n + 1)
      if not arrived and not failure then failure = { message, code } end
    end
  end
  if failure then return nil, failure[1], failure[2] end
  return true
end

---@class actor.RotatorVisit
---@field slice integer which of the slices, from 1
---@field step integer 0 .. n-1: how far it has come
---@field home integer rank whose slice it is
---@field rank integer this one
---@field round integer from 1
---@field time_left fun(): number seconds that this visit has left of the round's bound; infinite without one

---Collective: each slice visits each rank once and comes home, where `fn` may change its partitions in place, set, add and
---remove. The tables are empty while it lasts. When `fn` raises on a rank it raises on all, and as when a rank is lost
---each rank has again what it had before the round (unless restore = false: then what was with it).
---@param fn fun(slice: actor.Table, visit: actor.RotatorVisit)
---@param options? {timeout?: number} seconds that a slice may travel
---@return true|nil
---@return string? message "rotator: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function Rotator:round(fn, options)
  check.arg(fn, "function", "fn", "rotator:round")
  local call = parcels.begin(self.tables[1], "rotator", options)
  for _, tbl in ipairs(self.tables) do
    if tbl.sharing then check.fail("rotator:round: the table is shared since its regroup(); unshare() it first") end
  end
  -- Who is in it, and that all are in the same.
  local agreed, me, n = parcels.exchange(call, function()
    return ("round %d of %d slices %s"):format(self.rounds + 1, self.slices, parcels.about(self.tables[1])), {}, {}
  end)
  if not agreed then return nil, me, n end
  local slices = take_slices(self)
  local before = self.restore and copies(slices) or slices
  self.failed = nil
  local done, message, code = go_round(self, call, fn, slices, me, n)
  if done then
    local worked, raised, concluded
    worked, concluded, message, code = pcall(parcels.conclude, call, self.failed)
    raised = not worked and concluded
    if raised then
      put_back(self, before)
      error(raised, 0)
    end
    done = concluded
  end
  put_back(self, done and slices or before)
  if not done then return nil, message, code end
  self.rounds = self.rounds + 1
  return true
end

---@class actor.RotatorStats
---@field rounds integer that were finished
---@field visits integer calls of the function here
---@field computed number seconds in them
---@field waited number seconds of waiting for slices

---@return actor.RotatorStats
function Rotator:stats()
  return { rounds = self.rounds, visits = self.visits, computed = self.computed, waited = self.waited }
end

return M
