--- Means over the repeats of a sweep, with confidence intervals after Student.
local c = require("actor.c.sim")
local util = require("actor.util")

local M = {}

---@class actor.sim.Mean
---@field mean number
---@field low number lower end of the interval; equals `mean` for a single value
---@field high number
---@field sd number of the values, with divisor n - 1
---@field least number
---@field most number
---@field n integer

---Computes the mean of some numbers, and the interval that contains the true mean with probability `confidence`.
---```lua
---print(actor.sim.summary.mean({ 1, 2, 3 }).mean)  --> 2
---```
---@param values number[]
---@param confidence? number default 0.95
---@return actor.sim.Mean
function M.mean(values, confidence)
  local n, sum = #values, 0
  local least, most = math.huge, -math.huge
  for i = 1, n do
    sum = sum + values[i]
    least, most = math.min(least, values[i]), math.max(most, values[i])
  end
  local mean = sum / n
  local squares = 0
  for i = 1, n do squares = squares + (values[i] - mean) ^ 2 end
  if n < 2 then return { mean = mean, low = mean, high = mean, sd = 0, least = least, most = most, n = n } end
  local sd = math.sqrt(squares / (n - 1))
  local half = c.student_t(0.5 + (confidence or 0.95) / 2, n - 1) * sd / math.sqrt(n)
  return { mean = mean, low = mean - half, high = mean + half, sd = sd, least = least, most = most, n = n }
end

-- The rule and the varied options of a row or a group: "pbsp:10, nodes = 20".
local function name_of(of)
  local parts = { of.barrier }
  for name, value in util.pairs(of.varied or {}) do parts[#parts + 1] = ("%s = %s"):format(name, tostring(value)) end
  return table.concat(parts, ", ")
end

-- "; the last node disappeared at 3.1 s". Rows of an earlier sweep's table lack this time.
local function when(rows)
  local first, last = math.huge, -math.huge
  for _, row in ipairs(rows) do
    if row.emptied then first, last = math.min(first, row.emptied), math.max(last, row.emptied) end
  end
  if first > last then return "" end
  return ("; the last node disappeared at %.6g%s s"):format(first, last > first and (" to %.6g"):format(last) or "")
end

---Makes notes about groups with misleading figures: if no node is live at the end, steps are 0.
---@param groups {barrier: string, varied: table, rows: table[]}[] of M.groups
---@return string[] a line for each such group
function M.remarks(groups)
  local out = {}
  for _, group in ipairs(groups) do
    local empty = {}
    for _, row in ipairs(group.rows) do
      if row.alive == 0 then empty[#empty + 1] = row end
    end
    if #empty > 0 then
      local runs = #group.rows == 1 and "the run" or ("%d of %d runs"):format(#empty, #group.rows)
      out[#out + 1] = ("%s: no node was left at the end of %s, where the steps are 0%s"):format(name_of(group), runs, when(empty))
    end
  end
  return out
end

---Groups the rows of each barrier at each point, in order of first rows. A group has `barrier`, `varied`, `rows`, and
---in `stats` an actor.sim.Mean for each number of the rows, by its name.
---```lua
---local base = { nodes = 20, time = 20, seed = 1 }
---local rows = actor.sim.sweep.run { barriers = { "bsp", "asp" }, base = base, repeats = 3 }
---local groups = actor.sim.summary.groups(rows)
---print(groups[1].stats.mean_step.mean < groups[2].stats.mean_step.mean)  --> true
---```
---@param rows table[]
---@param confidence? number
---@return {barrier: string, varied: table, rows: table[], stats: table<string, actor.sim.Mean>}[]
function M.groups(rows, confidence)
  local groups, known = {}, {}
  for _, row in ipairs(rows) do
    local key = name_of(row)
    local group = known[key]
    if not group then
      group = { barrier = row.barrier, varied = row.varied or {}, rows = {}, stats = {} }
      known[key], groups[#groups + 1] = group, group
    end
    group.rows[#group.rows + 1] = row
  end
  for _, group in ipairs(groups) do
    for name, value in pairs(group.rows[1]) do
      if type(value) == "number" then
        local values = {}
        for i, row in ipairs(group.rows) do values[i] = row[name] end
        group.stats[name] = M.mean(values, confidence)
      end
    end
  end
  return groups
end

return M
