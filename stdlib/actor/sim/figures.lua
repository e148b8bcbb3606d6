--- Plots of a sweep's rows, as SVG text.
local plot = require("actor.plot")
local summary = require("actor.sim.summary")

local M = {}

---The kinds of plots: a number of each row, or a value computed from the whole row.
M.kinds = {
  cdf = { title = "Distribution of steps" },
  progress = { title = "Progress of the nodes" },
  mean = { field = "mean_step", title = "Mean step", label = "mean step" },
  waiting = { field = "waiting_share", title = "Waiting at the barrier", label = "share of time spent waiting", unit = "%", scale = 100 },
  checks = { field = "checks_per_step", title = "Checks of the rule", label = "checks per step" },
  messages = { field = "messages_per_step", title = "Messages", label = "messages per step" },
  staleness = { field = "staleness_mean", title = "Staleness of updates", label = "updates of others since the pull" },
  inconsistency = { field = "progress_mean", title = "Progress inconsistency", label = "steps of others since the pull, mean over nodes" },
  sequence = { field = "sequence_mean", title = "Sequence inconsistency", label = "updates unlike a serial run's, by the nodes" },
  loss = { title = "Loss", curve = "loss" },
  accuracy = { title = "Accuracy", curve = "accuracy" },
}

---Makes the message about an unknown kind of plot.
---@param name string
---@return string
function M.unknown(name)
  return ("there is no plot '%s' (known: %s)"):format(name, table.concat(require("actor.util").sorted_keys(M.kinds), ", "))
end

-- "pbsp:10, nodes = 200": names a group by the values of `names`, without those that the rule's text shows.
local function label_of(group, names)
  local rule, parts = tostring(group.rows[1].series or group.barrier), {}
  for _, name in ipairs(names) do
    local value, count = group.varied[name], 0
    rule, count = rule:gsub("{" .. name .. "}", function() return tostring(value) end)
    if count == 0 and value ~= nil then parts[#parts + 1] = ("%s = %s"):format(name, tostring(value)) end
  end
  table.insert(parts, 1, (rule:gsub("[{}]", "")))
  return table.concat(parts, ", ")
end

local function cdf(groups, options)
  local series = {}
  for i, group in ipairs(groups) do
    local values, counts = {}, {}
    for _, row in ipairs(group.rows) do
      for k, value in ipairs(row.histogram.values) do
        values[#values + 1], counts[#counts + 1] = value, row.histogram.counts[k]
      end
    end
    local name = label_of(group, options.varied)
    series[i] = { name = name, values = values, counts = counts, look = options.looks and options.looks[name] }
  end
  return plot.cdf {
    title = options.title or M.kinds.cdf.title, subtitle = options.subtitle, notes = options.notes,
    x = { label = "steps started by the end", log = options.log_x }, y = { label = "share of the nodes", log = options.log_y },
    series = series,
    references = options.references,
  }
end

local function mean_curve(group, curve)
  local first = group.rows[1][curve.table]
  local x, y = {}, {}
  for k, at in ipairs(first[curve.x]) do
    local sum, n = 0, 0
    for _, row in ipairs(group.rows) do
      local value = row[curve.table][curve.y][k]
      if value then sum, n = sum + value, n + 1 end
    end
    if n > 0 then x[#x + 1], y[#y + 1] = at, sum / n end
  end
  return x, y
end

local function curves(groups, options, curve)
  local series = {}
  for _, group in ipairs(groups) do
    if group.rows[1][curve.table] and group.rows[1][curve.table][curve.y] then
      local x, y = mean_curve(group, curve)
      local name = label_of(group, options.varied)
      series[#series + 1] = { name = name, x = x, y = y, look = options.looks and options.looks[name] }
    end
  end
  if #series == 0 then return nil, ("there is no %s to plot: it comes with --train"):format(curve.y) end
  return plot.line {
    title = options.title or curve.title, subtitle = options.subtitle, notes = options.notes,
    x = { label = curve.axis.label, unit = curve.axis.unit, log = options.log_x }, y = { label = curve.label, log = options.log_y }, series = series,
  }
end

-- The number of a varying value, for an axis: of "0.05:10x" the share, or with "factor" the 10. nil for a value without
-- a number, such as "1+exp(1)".
function M.number_of(value, part)
  if type(value) == "number" then return value end
  local share, factor = tostring(value):match("^([%d.]+):([%d.]+)")
  return tonumber(part == "factor" and factor or share)
end

---Returns the default kind of plot.
---@param varied string[] names of the varied options
---@return string
function M.default_kind(varied) return #varied > 0 and "mean" or "cdf" end

local function no_axis(name, value, kind)
  return ("--plot %s draws against --sweep %s, whose values are no numbers ('%s'): give --plot cdf, which has a line for each")
    :format(kind, name, tostring(value))
end

---Explains why a sweep cannot be drawn; nil if it can. Works before any simulation.
---@param name string of M.kinds
---@param varied string[] names of the varied options, in order
---@param values (string|number)[] of the first varied option
---@return string?
function M.undrawable(name, varied, values)
  local kind = M.kinds[name]
  if not kind then return M.unknown(name) end
  for _, value in ipairs(kind.field and #varied > 0 and values or {}) do
    if not M.number_of(value) then return no_axis(varied[1], value, name) end
  end
end

-- Draws a line for each rule over the first varied option; each further varied option multiplies the lines.
local function against(groups, options, kind)
  local name, others = options.varied[1], {}
  for i = 2, #options.varied do others[#others + 1] = options.varied[i] end
  local series, known = {}, {}
  for _, group in ipairs(groups) do
    local label = label_of(group, others)
    local one = known[label]
    if not one then
      one = { name = label, x = {}, y = {}, low = {}, high = {}, look = options.looks and options.looks[label] }
      known[label], series[#series + 1] = one, one
    end
    local k, mean = #one.x + 1, group.stats[kind.field]
    one.x[k] = M.number_of(group.varied[name], options.x_of)
    local scale = kind.scale or 1
    if options.normalise then scale = 1 / (k == 1 and mean.mean or one.first) end
    one.first = one.first or mean.mean
    one.y[k], one.low[k], one.high[k] = mean.mean * scale, mean.low * scale, mean.high * scale
    one.spread = one.spread or mean.n > 1
    if not one.x[k] then return nil, no_axis(name, group.varied[name], options.kind or "mean") end
  end
  for _, one in ipairs(series) do
    if not one.spread then one.low, one.high = nil, nil end -- a single run has no interval
    one.first, one.spread = nil, nil
  end
  local label = options.normalise and kind.label .. ", relative to the first" or kind.label
  return plot.line {
    title = options.title or ("%s against %s"):format(kind.title, options.x_label or name), subtitle = options.subtitle,
    notes = options.notes,
    x = { label = options.x_label or name, log = options.log_x }, y = { label = label, unit = kind.unit, log = options.log_y },
    series = series, references = options.references,
  }
end

local function bars(groups, options, kind)
  local categories, one, spread = {}, { y = {}, low = {}, high = {}, looks = options.looks and {} }, false
  local scale = kind.scale or 1
  for i, group in ipairs(groups) do
    local mean = group.stats[kind.field]
    categories[i], spread = group.barrier, spread or mean.n > 1
    if one.looks then one.looks[i] = options.looks[group.barrier] or 1 end
    one.y[i], one.low[i], one.high[i] = mean.mean * scale, mean.low * scale, mean.high * scale
  end
  if not spread then one.low, one.high = nil, nil end
  return plot.bars {
    title = options.title or kind.title, subtitle = options.subtitle, notes = options.notes,
    y = { label = kind.label, unit = kind.unit, log = options.log_y }, categories = categories, series = { one }, values = "%.3g",
    references = options.references,
  }
end

---@class actor.sim.FigureOptions
---@field kind? string of M.kinds; default "mean" if an option varies, otherwise "cdf"
---@field varied string[] names of the varied options, in order
---@field title? string
---@field subtitle? string
---@field notes? string[]
---@field references? table in the form of plot.line or plot.bars
---@field confidence? number
---@field x_label? string
---@field x_of? "factor" for stragglers: the axis shows the factor, not the share
---@field normalise? boolean each line relative to its first value
---@field log_x? boolean|number
---@field log_y? boolean
---@field looks? table<string, integer> the look of a rule in every figure, by its name in the legend

---```lua
---local base = { nodes = 20, time = 20, seed = 1 }
---local rows = actor.sim.sweep.run { barriers = { "bsp", "asp" }, base = base, repeats = 2 }
---local svg = actor.sim.figures.draw(rows, { kind = "cdf", varied = {}, title = "Steps" })
---print(svg:sub(1, 4))  --> <svg
---```
---@param rows table[] of actor.sim.sweep
---@param options actor.sim.FigureOptions
---@return string? svg
---@return string? message why the figure cannot be drawn
function M.draw(rows, options)
  local name = options.kind or M.default_kind(options.varied)
  local kind = M.kinds[name]
  if not kind then return nil, M.unknown(name) end
  local groups = summary.groups(rows, options.confidence)
  if name == "cdf" then return cdf(groups, options) end
  if name == "progress" then
    return curves(groups, options, {
      table = "progress", x = "time", y = "mean", title = kind.title, label = "mean of completed steps",
      axis = { label = "simulated time", unit = "s" },
    })
  end
  if kind.curve then
    return curves(groups, options, {
      table = "training", x = options.by_updates and "updates" or "time", y = kind.curve, title = kind.title,
      label = kind.curve, axis = options.by_updates and { label = "updates" } or { label = "simulated time", unit = "s" },
    })
  end
  if #options.varied > 0 then return against(groups, options, kind) end
  return bars(groups, options, kind)
end

return M
