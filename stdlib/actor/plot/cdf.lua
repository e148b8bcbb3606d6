--- Draws charts of cumulative distributions. A series is given by its samples, or by values with counts.
local check = require("actor.check")
local line = require("actor.plot.line")
local series = require("actor.plot.series")

local M = {}

local series_options = { name = "string?", samples = "table?", values = "table?", counts = "table?", look = "number?" }

-- The values of a series as {value, count} pairs in ascending order. Counts the values without a place on the axis as
-- out.infinite and out.negative.
local function histogram(s, label, fn, log, out)
  if (s.samples == nil) == (s.values == nil) then
    check.fail("bad argument '%s' to %s: expected either samples or values (with counts)", label, fn)
  end
  local values = series.numbers(s.samples or s.values, label .. (s.samples and ".samples" or ".values"), fn)
  local counts = s.values and s.counts
  if counts then series.numbers(counts, label .. ".counts", fn, #values) end
  local pairs_of = {}
  for i = 1, #values do
    local count = counts and counts[i] or 1
    if not (series.finite(count) and count >= 0) then
      check.wrong(("%s.counts[%d]"):format(label, i), fn, "a finite number of at least 0", count)
    end
    if not series.finite(values[i]) then
      out.infinite = out.infinite + count
    elseif log and values[i] <= 0 then
      out.negative = out.negative + count
    elseif count > 0 then
      pairs_of[#pairs_of + 1] = { value = values[i], count = count }
    end
  end
  table.sort(pairs_of, function(a, b) return a.value < b.value end)
  return pairs_of
end

-- The points of the curve: at each value the share of samples at or below it. The curve begins at the first value with
-- the share 0.
local function points_of(pairs_of)
  local total, sum, points = 0, 0, {}
  for _, p in ipairs(pairs_of) do total = total + p.count end
  for i, p in ipairs(pairs_of) do
    sum = sum + p.count
    if i == 1 then points[1] = { x = p.value, y = 0 } end
    local same = points[#points].x == p.value and #points > 1
    points[same and #points or #points + 1] = { x = p.value, y = i == #pairs_of and 1 or sum / total }
  end
  return points
end

-- The points where the curve crosses the quartiles. Only these points get markers: markers at all steps would hide the
-- curve.
local function quartiles(points)
  local out, i = {}, 1
  for _, share in ipairs({ 0.25, 0.5, 0.75 }) do
    while points[i] and points[i].y < share do i = i + 1 end
    if points[i] then out[#out + 1] = { x = points[i].x, y = share } end
  end
  return out
end

-- Extends all curves to the range of x of all series: a curve is 0 before its first value and 1 after its last value.
local function extend(all)
  local low, high = series.range(all, { "x" })
  for _, s in ipairs(all) do
    local points = s.points
    if #points > 0 then
      if points[1].x > low then table.insert(points, 1, { x = low, y = 0 }) end
      if points[#points].x < high then points[#points + 1] = { x = high, y = 1 } end
    end
  end
end

---See plot.cdf.
function M.cdf(o)
  local fn = "plot.cdf"
  o = line.common(o, line.options, fn)
  o.y = setmetatable({ label = o.y.label or "cumulative share", min = o.y.min or 0, max = o.y.max or 1 }, { __index = o.y })
  local all = {}
  for i, s in ipairs(o.series or {}) do
    local label = ("series[%d]"):format(i)
    check.arg(s, "table", label, fn)
    check.options(s, series_options, fn)
    local out = { name = s.name, style = "step", infinite = 0, negative = 0, look = line.look(s, i, label, fn) }
    out.points = points_of(histogram(s, label, fn, o.x.log, out))
    out.marks = quartiles(out.points)
    all[i] = out
  end
  for _, note in ipairs(series.notes(all, "value")) do o.notes[#o.notes + 1] = note end
  extend(all)
  local references = {}
  for i, s in ipairs(o.references or {}) do
    references[i] = series.points(s, ("references[%d]"):format(i), fn, o.x.log, o.y.log)
  end
  return line.draw(o, all, references, o.notes, "Cumulative distribution")
end

return M
