-- Compares alternatives, such as barrier rules, by runs of each with the same seeds: means with 95 % intervals,
-- differences seed by seed, verdicts on claims, figures with bands. All verdicts together are right with 95 %: each of
-- N tested pairs has an interval of 1 - 0.05 / N (Bonferroni).
--     local runs = comparison.runs({ "bsp", "ssp:4", "asp" }, 1, 3, train)   -- { steps = 310, losses = { 2, 1 } }, ...
--     local found = comparison.new(runs)
--     local steps = { text = "steps in 40 s", of = function(run) return run.steps end }
--     local losses = { text = "loss", of = function(run, at)
--       if at then return run.losses[at] end
--       return run.losses                                                     -- several numbers count by their mean
--     end }
--     print(found:table { steps, losses })
--     print(table.concat(found:claims { { "bsp is slowest", steps, more = { "ssp", "asp" }, less = { "bsp" } } }, "\n"))
--     local svg = found:lines { points = { 1, 2 }, measure = losses, y = { label = "loss" } }
local plot = require "actor.plot"
local util = require "actor.util"
local mean = require("actor.sim.summary").mean

local M = {}

-- Calls `run(name, seed, number)` for each name with the first seed, then for each name with the next seed, and so on,
-- so that changes of the machine's load affect all names alike. A run that returns nil, as on servers, is left out.
function M.runs(names, first, count, run)
  local runs, number = {}, 0
  for seed = first, first + count - 1 do
    for _, name in ipairs(names) do
      number = number + 1
      local out = run(name, seed, number)
      if out then out.name, out.seed, runs[#runs + 1] = name, seed, out end
    end
  end
  return runs
end

local Comparison = {}
Comparison.__index = Comparison

-- Takes all runs: each name has one run with each seed.
function M.new(runs)
  local self = setmetatable({ all = runs, names = {}, seeds = {}, runs = {} }, Comparison)
  for _, run in ipairs(runs) do
    if not self.runs[run.name] then self.runs[run.name], self.names[#self.names + 1] = {}, run.name end
    self.runs[run.name][run.seed] = run
  end
  for seed in pairs(self.runs[self.names[1]]) do self.seeds[#self.seeds + 1] = seed end
  table.sort(self.seeds)
  return self
end

-- One number per run, in the order of seeds. For a run with several numbers `choose` is their "mean", "least" or
-- "most".
local function values_of(self, name, measure, choose, at)
  local values = {}
  for i, seed in ipairs(self.seeds) do
    local value = measure.of(self.runs[name][seed], at)
    values[i] = type(value) == "table" and mean(value)[choose] or value
  end
  return values
end

local function mean_of(...) return mean(values_of(...)) end

local function described(m)
  return m.n == 1 and ("%.2f"):format(m.mean) or ("%.2f [%.2f, %.2f]"):format(m.mean, m.low, m.high)
end

-- A line for each alternative, a column for each measure, cells such as "16.61 [12.53, 20.70]". One seed has no
-- interval.
function Comparison:table(measures)
  local columns = { { "", unpack(self.names) } }
  for _, measure in ipairs(measures) do
    local cells = { measure.text }
    for _, name in ipairs(self.names) do cells[#cells + 1] = described(mean_of(self, name, measure, "mean")) end
    columns[#columns + 1] = cells
  end
  local lines = {}
  for _, cells in ipairs(columns) do
    local width = 0
    for _, cell in ipairs(cells) do width = math.max(width, #cell + 3) end
    for i, cell in ipairs(cells) do lines[i] = (lines[i] or "") .. cell .. (" "):rep(width - #cell) end
  end
  for i, line in ipairs(lines) do lines[i] = line:gsub(" +$", "") end
  return table.concat(lines, "\n")
end

-- By how much `more` exceeds `less`, seed by seed: an effect of the seed on both cancels out. The verdict says whether
-- the difference is above 0: by the interval of `confidence` (0.95), or for a single seed by its value.
function Comparison:difference(measure, more, less, confidence)
  local values, others = values_of(self, more, measure, "mean"), values_of(self, less, measure, "mean")
  for i, other in ipairs(others) do values[i] = values[i] - other end
  local m = mean(values, confidence)
  m.verdict = m.low > 0 and "holds" or m.high < 0 and "does not hold" or "undecided"
  if m.n == 1 then m.verdict = m.mean > 0 and "holds in this run" or "does not hold in this run" end
  return m
end

-- The alternatives that match `kinds`: "ssp" matches every ssp:N.
local function of_kinds(self, kinds)
  local found = {}
  for _, kind in ipairs(kinds) do
    for _, name in ipairs(self.names) do
      if name == kind or name:sub(1, #kind + 1) == kind .. ":" then found[#found + 1] = name end
    end
  end
  return found
end

-- Judges claims { text, measure, more =, less = } pair by pair. A name without parameters matches every name that
-- begins with it and a colon; names without runs are left out. Returns a line for each claim that has pairs, one for
-- each pair, and first a line about the number of pairs.
function Comparison:claims(claims)
  local lines, pairs_of, count = {}, {}, 0
  for i, claim in ipairs(claims) do
    pairs_of[i] = {}
    for _, more in ipairs(of_kinds(self, claim.more)) do
      for _, less in ipairs(of_kinds(self, claim.less)) do table.insert(pairs_of[i], { more, less }) end
    end
    count = count + #pairs_of[i]
  end
  if count == 0 then return lines end
  local confidence = 1 - 0.05 / count
  if #self.seeds > 1 then
    lines[1] = ("claims: %d pairs are tested, each with an interval of %.4g %%, so that all together have 95 %%"):format(count,
      100 * confidence)
  end
  for i, claim in ipairs(claims) do
    local measure = claim[2]
    if #pairs_of[i] > 0 then lines[#lines + 1] = ("%s (%s):"):format(claim[1], measure.text) end
    for _, pair in ipairs(pairs_of[i]) do
      local m = self:difference(measure, pair[1], pair[2], confidence)
      lines[#lines + 1] = ("    %s above %s by %s: %s"):format(pair[1], pair[2], described(m), m.verdict)
    end
  end
  return lines
end

-- The rows under `field` of all runs, in the given order, with those fields of the run that the row lacks. The field is
-- an array of rows, or an array of such arrays.
function Comparison:rows(field)
  local rows = {}
  local function add(run, list)
    for _, row in ipairs(list) do
      if type(row[1]) == "table" or next(row) == nil then
        add(run, row)
      else
        rows[#rows + 1] = util.merged(run, row)
      end
    end
  end
  for _, run in ipairs(self.all) do add(run, run[field]) end
  return rows
end

-- The mean over the seeds as a line for each alternative; `options` are those of plot.line, and the places `points` at
-- which `measure` is called. `band`: "interval" of 95 % over the seeds (a single seed has none), or "range" from the
-- mean of each run's least number to the mean of its greatest.
function Comparison:lines(options)
  local measure, points, band = options.measure, options.points, options.band or "interval"
  local chart = util.merged(options)
  chart.measure, chart.points, chart.band, chart.series, chart.notes = nil, nil, nil, {}, { unpack(options.notes or {}) }
  local banded = band == "range" or #self.seeds > 1
  if banded and band == "interval" then table.insert(chart.notes, 1, "bands: 95 % intervals over the seeds") end
  for i, name in ipairs(self.names) do
    local one = { name = name, x = points, y = {}, low = {}, high = {} }
    for k, at in ipairs(points) do
      local m = mean_of(self, name, measure, "mean", at)
      one.y[k], one.low[k], one.high[k] = m.mean, m.low, m.high
      if band == "range" then
        one.low[k] = mean_of(self, name, measure, "least", at).mean
        one.high[k] = mean_of(self, name, measure, "most", at).mean
      end
    end
    if not banded then one.low, one.high = nil, nil end
    chart.series[i] = one
  end
  return plot.line(chart)
end

return M
