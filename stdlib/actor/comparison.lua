--- Compares alternatives, such as barrier rules, by runs of each with the same seeds. Computes means with 95 %
--- intervals, differences seed by seed, verdicts on claims, and figures with bands.
---
---     local runs = comparison.runs({ "bsp", "ssp:4", "asp" }, 1, 3, train)   -- { steps = 310, losses = { 2, 1 } }, ...
---     local found = comparison.new(runs)
---     local steps = { text = "steps in 40 s", of = function(run) return run.steps end }
---     local losses = { text = "loss", of = function(run, at)
---       if at then return run.losses[at] end
---       return run.losses
---     end }
---     print(found:table { steps, losses })
---     local claims = found:claims { { "bsp is the slowest", steps, more = { "ssp", "asp" }, less = { "bsp" } } }
---     print(table.concat(claims, "\n"))
---     local svg = found:lines { points = { 1, 2 }, measure = losses, y = { label = "loss" } }
local check = require("actor.check")
local plot = require("actor.plot")
local summary = require("actor.sim.summary")

---@class actor.comparison
local M = {}

---Computes the mean of some numbers, and the interval that contains the true mean with probability `confidence`.
M.mean = summary.mean

---@class actor.comparison.Run one run of an alternative, with the further fields that the measures read
---@field name string of the alternative: "ssp:4"
---@field seed integer

---@class actor.comparison.Measure
---@field text string for people: "steps of a worker in 40 s"
---@field of fun(run: actor.comparison.Run, at?: number): number|number[] value of the whole run, or at a point of a figure;
---  several numbers, such as one per rank, count by their mean

---Calls `run` for each name with the first seed, then for each name with the next seed, and so on, so that changes of
---the machine's load affect all names alike. On a cluster every node makes the call.
---@param names string[]
---@param first integer the first seed
---@param count integer number of seeds
---@param run fun(name: string, seed: integer, number: integer): table? number: index of the call, from 1
---@return actor.comparison.Run[] the tables from `run`, with `name` and `seed` added; a nil, as on servers, is left out
function M.runs(names, first, count, run)
  local fn = "comparison.runs"
  check.arg(names, "table", "names", fn)
  check.integer(first, "first", fn)
  check.integer(count, "count", fn, 1)
  check.arg(run, "function", "run", fn)
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

---@class actor.Comparison
---@field private all actor.comparison.Run[]
---@field private names string[] in the order of their first runs
---@field private seeds integer[] in order
---@field private runs table<string, table<integer, actor.comparison.Run>> by name and seed
local Comparison = {}
Comparison.__index = Comparison
setmetatable(Comparison, check.strict("comparison:"))

---Takes all runs. Raises unless each alternative has exactly one run with each seed.
---@param runs actor.comparison.Run[]
---@return actor.Comparison
function M.new(runs)
  local fn = "comparison.new"
  check.arg(runs, "table", "runs", fn)
  local self = setmetatable({ all = runs, names = {}, seeds = {}, runs = {} }, Comparison)
  local of_seed = {}
  for i, run in ipairs(runs) do
    check.arg(run, "table", ("runs[%d]"):format(i), fn)
    check.arg(run.name, "string", ("runs[%d].name"):format(i), fn)
    check.integer(run.seed, ("runs[%d].seed"):format(i), fn)
    if not self.runs[run.name] then self.runs[run.name], self.names[#self.names + 1] = {}, run.name end
    local own = self.runs[run.name]
    if own[run.seed] then check.fail("%s: there are two runs of %s with seed %d", fn, run.name, run.seed) end
    if not of_seed[run.seed] then of_seed[run.seed], self.seeds[#self.seeds + 1] = true, run.seed end
    own[run.seed] = run
  end
  if #runs == 0 then check.fail("%s: there are no runs", fn) end
  table.sort(self.seeds)
  for _, name in ipairs(self.names) do
    for _, seed in ipairs(self.seeds) do
      if not self.runs[name][seed] then check.fail("%s: %s has no run with seed %d, which others have", fn, name, seed) end
    end
  end
  return self
end

-- One number per run, in the order of seeds. For a run with several numbers `choose` is their "mean", "least" or
-- "most".
local function values_of(self, name, measure, choose, at)
  check.options(measure, { text = "string", of = "function" }, "a measure")
  local values = {}
  for i, seed in ipairs(self.seeds) do
    local value = measure.of(self.runs[name][seed], at)
    if type(value) == "table" then value = #value > 0 and M.mean(value)[choose] or nil end
    if type(value) ~= "number" then
      check.fail("%s: expected a number or several of the run of %s with seed %d%s, got %s", measure.text, name, seed,
        at and (" at %g"):format(at) or "", type(value))
    end
    values[i] = value
  end
  return values
end

local function mean_of(...) return M.mean(values_of(...)) end

local function described(m) return ("%.2f [%.2f, %.2f]"):format(m.mean, m.low, m.high) end

---Writes a table: a line for each alternative, a column for each measure, cells such as "16.61 [12.53, 20.70]".
---@param measures actor.comparison.Measure[]
---@return string
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

---@class actor.comparison.Difference : actor.sim.Mean
---@field verdict "holds"|"does not hold"|"undecided"|"holds in this run"|"does not hold in this run" whether the difference is above
---  0: by the interval, or for a single seed by its value

---Computes by how much `more` exceeds `less`, seed by seed: an effect of the seed on both cancels out.
---@param measure actor.comparison.Measure
---@param more string name of an alternative
---@param less string
---@return actor.comparison.Difference
function Comparison:difference(measure, more, less)
  for _, name in ipairs { more, less } do check.one_of(name, self.names, "name", "comparison:difference") end
  local values, others = values_of(self, more, measure, "mean"), values_of(self, less, measure, "mean")
  for i, other in ipairs(others) do values[i] = values[i] - other end
  local m = M.mean(values)
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

---Judges claims that some alternatives have more of a measure than others, pair by pair. A name without parameters
---matches every name that begins with it and a colon. Names without runs are left out.
---@param claims {[1]: string, [2]: actor.comparison.Measure, more: string[], less: string[]}[] text, measure, alternatives
---@return string[] lines: one for each claim that has pairs and, indented, one for each pair
function Comparison:claims(claims)
  local lines = {}
  for _, claim in ipairs(claims) do
    local measure, title = claim[2], ("%s (%s):"):format(claim[1], claim[2].text)
    for _, more in ipairs(of_kinds(self, claim.more)) do
      for _, less in ipairs(of_kinds(self, claim.less)) do
        local m = self:difference(measure, more, less)
        lines[#lines + 1], title = title, nil
        lines[#lines + 1] = ("    %s above %s by %s: %s"):format(more, less, described(m), m.verdict)
      end
    end
  end
  return lines
end

---Collects the rows under `field` of all runs, in the given order, for a folder's `csv`.
---@param field string an array of rows in each run, or an array of such arrays
---@return table[] copies of the rows, with those fields of the run that the row lacks
function Comparison:rows(field)
  local rows = {}
  local function add(run, list)
    for _, row in ipairs(list) do
      if type(row[1]) == "table" or next(row) == nil then
        add(run, row)
      else
        local copy = {}
        for _, from in ipairs { run, row } do
          for name, value in pairs(from) do copy[name] = value end
        end
        rows[#rows + 1] = copy
      end
    end
  end
  for _, run in ipairs(self.all) do add(run, run[field]) end
  return rows
end

---@class actor.comparison.LineOptions : actor.plot.Options
---@field measure actor.comparison.Measure called at each point
---@field points number[] places on the x axis
---@field band? "interval"|"range" default "interval", of 95 % over the seeds; "range": from the mean of each run's
---  least number to the mean of its greatest

---Draws the mean over the seeds as a line for each alternative. A note explains the intervals; a single seed has none.
---@param options actor.comparison.LineOptions
---@return string svg
function Comparison:lines(options)
  check.arg(options, "table", "options", "comparison:lines")
  local measure, points, band = options.measure, options.points, options.band or "interval"
  check.arg(points, "table", "points", "comparison:lines")
  check.one_of(band, { "interval", "range" }, "band", "comparison:lines")
  local chart = {}
  for name, value in pairs(options) do chart[name] = value end
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
