-- Records a training in any model of computation: error by time and epoch, waiting and staleness. Each rank records its
-- own events; the end of the training combines all records.
local actor = require "actor"
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned microseconds);"

local Course = {}
Course.__index = Course

local M = {}

-- entries: trained by this rank; target: the error at which training ends; epochs: the maximum of a rank.
function M.new(options)
  return setmetatable({
    entries = options.entries, target = options.target, epochs = options.epochs,
    squares = 0, busy = 0, debt = 0, made = {}, updates = {},
  }, Course)
end

local function sum(values) return assert(actor.collective.allreduce(actor.tensor(values, { dtype = "float64" }))) end

-- Collective.
function M.root_of_mean(squares, entries)
  local total = sum { squares, entries }
  return math.sqrt(total:get(1) / total:get(2))
end

function Course:start() self.began, self.squares = actor.now(), 0 end

function Course:begin_update() self.at = actor.now() end

-- `version`: number of updates in the trained factors. `slower` multiplies the duration of the update.
function Course:end_update(what, version, squares, slower)
  self.debt = self.debt + (slower - 1) * (actor.now() - self.at)
  if self.debt > 1e-3 then
    ffi.C.usleep(self.debt * 1e6)
    self.debt = 0
  end
  local now = actor.now()
  self.busy, self.squares = self.busy + now - self.at, self.squares + squares
  self.updates[#self.updates + 1] = { what = what, version = version, began = self.at, ended = now }
end

-- Ends an epoch; true when the training is over. The error of an epoch uses the error of each entry just before its
-- update. `total(squares, entries)` returns the root of the mean over the newest errors of all ranks; without it the
-- ranks compute it together, which waits for all.
function Course:epoch_ends(total)
  local at = actor.now() - self.began
  table.insert(self.made, { at = at, turn = total and at or #self.made, squares = self.squares })
  local rmse = (total or M.root_of_mean)(self.squares, self.entries)
  self.squares = 0
  return rmse < self.target or #self.made >= self.epochs
end

-- The error after each n epochs of n ranks, from the newest error of each rank at that time.
local function curve_of(parts)
  local made, newest, entries, seconds = {}, {}, 0, 0
  for rank = 1, parts.n do
    entries = entries + parts[rank].entries
    for _, epoch in ipairs(parts[rank].made) do
      epoch.rank = rank
      made[#made + 1] = epoch
    end
  end
  table.sort(made, function(a, b) return a.turn < b.turn end)
  local curve = {}
  for i, epoch in ipairs(made) do
    newest[epoch.rank], seconds = epoch.squares, math.max(seconds, epoch.at)
    if i % parts.n == 0 then
      local squares, ranks = 0, 0
      for _, some in pairs(newest) do squares, ranks = squares + some, ranks + 1 end
      if ranks == parts.n then
        curve[#curve + 1] = { seconds = seconds, epochs = i / parts.n, rmse = math.sqrt(squares / entries) }
      end
    end
  end
  return curve
end

-- The number of updates that had ended on any rank before an update began, but were not in its input: the mean and the
-- maximum. Uses the clock, so all ranks must be on one machine.
local function staleness_of(parts)
  local ends, all = {}, {}
  for rank = 1, parts.n do
    for _, update in ipairs(parts[rank].updates) do
      all[#all + 1] = update
      ends[update.what] = ends[update.what] or {}
      table.insert(ends[update.what], update.ended)
    end
  end
  for _, list in pairs(ends) do table.sort(list) end
  table.sort(all, function(a, b) return a.began < b.began end)
  local total, most, before = 0, 0, {}
  for _, update in ipairs(all) do
    local list, ended = ends[update.what], before[update.what] or 0
    while ended < #list and list[ended + 1] <= update.began do ended = ended + 1 end
    before[update.what] = ended
    total, most = total + ended - update.version, math.max(most, ended - update.version)
  end
  return total / #all, most
end

-- Collective: {seconds, waited, staleness, most_stale, updates, curve = {{seconds, epochs, rmse}, ...}}. `waited` is
-- the share of the ranks' time without training.
function Course:finish()
  local seconds = actor.now() - self.began
  local parts = assert(actor.collective.allgather({
    entries = self.entries, made = self.made, updates = self.updates, busy = self.busy, seconds = seconds,
  }))
  local busy, all, updates = 0, 0, 0
  for rank = 1, parts.n do
    busy, all, updates = busy + parts[rank].busy, all + parts[rank].seconds, updates + #parts[rank].updates
    seconds = math.max(seconds, parts[rank].seconds)
  end
  local mean, most = staleness_of(parts)
  return {
    seconds = seconds, waited = 1 - busy / all, staleness = mean, most_stale = most, updates = updates, curve = curve_of(parts),
  }
end

return M
