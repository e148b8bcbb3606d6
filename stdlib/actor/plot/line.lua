--- Line, step and point charts.
local axes = require("actor.plot.axis")
local check = require("actor.check")
local frame = require("actor.plot.frame")
local legend = require("actor.plot.legend")
local marks = require("actor.plot.marks")
local series = require("actor.plot.series")
local theme = require("actor.plot.theme")
local util = require("actor.util")

local M = {}

local series_options = {
  name = "string?", x = "table?", y = "table", low = "table?", high = "table?", style = "string?", look = "number?",
}
local reference_options = { name = "string?", x = "table?", y = "table" }
local styles = { "line", "step", "points" }

---The number of a series' colour, marker and dash: its own `look` or its position.
---@return integer
function M.look(s, i, label, fn)
  if s.look then check.integer(s.look, label .. ".look", fn, 1) end
  return s.look or i
end

local function read(list, kinds, o, name, fn)
  local out = {}
  for i, s in ipairs(list or {}) do
    local label = ("%s[%d]"):format(name, i)
    check.arg(s, "table", label, fn)
    check.options(s, kinds, fn)
    if s.style then check.one_of(s.style, styles, label .. ".style", fn) end
    out[i] = series.points(s, label, fn, o.x.log, o.y.log)
    out[i].look = M.look(s, i, label, fn)
  end
  return out
end

-- Points in pixels; `inside` is whether a point is within the axes.
local function placed(list, area, x_axis, y_axis)
  local out = {}
  local function down(value) return value and area.height * (1 - y_axis.place(value)) end
  for i, p in ipairs(list) do
    if p then
      local ax, ay = x_axis.place(p.x), y_axis.place(p.y)
      out[i] = {
        x = ax * area.width, y = (1 - ay) * area.height, low = down(p.low), high = down(p.high),
        inside = ax > -1e-9 and ax < 1 + 1e-9 and ay > -1e-9 and ay < 1 + 1e-9,
      }
    else
      out[i] = false
    end
  end
  return out
end

-- The last point of a line, for the legend: only if it is at the plot's right edge.
local function end_of(points, area)
  local last
  for _, p in ipairs(points) do last = p or last end
  if last and last.inside and last.x >= area.width * 0.96 then return area.y + last.y end
end

local function draw_series(s, points, marked, area, out)
  local colour, dash = theme.classes(s.look)
  local clipped, free = {}, {}
  local thin = marks.thinned(points)
  if s.style == "points" then
    for _, p in ipairs(points) do
      if p and p.low then clipped[#clipped + 1] = marks.error_bar(p.x, p.low, p.high, 4) end
    end
  else
    clipped[#clipped + 1] = marks.band(thin, s.style == "step")
    clipped[#clipped + 1] = marks.line(thin, dash, s.style == "step")
  end
  for _, p in ipairs(marked) do free[#free + 1] = marks.marker(s.look, p.x, p.y) end
  out.under[#out.under + 1] = #clipped > 0 and marks.group(colour, clipped) or nil
  out.over[#out.over + 1] = #free > 0 and marks.group(colour, free) or nil
end

local function series_key(s)
  local colour, dash = theme.classes(s.look)
  return function(x, y)
    local parts = {}
    if s.style ~= "points" then
      if s.banded then
        parts[1] = ('<path class="band" d="M%s %sh%dv10h-%dZ"/>'):format(marks.px(x), marks.px(y - 5), legend.key_width,
          legend.key_width)
      end
      parts[#parts + 1] = ('<path class="line%s" d="M%s %sh%s"/>'):format(dash, marks.px(x), marks.px(y), legend.key_width)
    end
    parts[#parts + 1] = marks.marker(s.look, x + legend.key_width / 2, y)
    return marks.group(colour, parts)
  end
end

local function entries_of(all, references)
  local entries = {}
  for i, s in ipairs(all) do
    for _, p in ipairs(s.points) do s.banded = s.banded or (p and p.low ~= nil) end
    if s.name then entries[#entries + 1] = { name = s.name, key = series_key(s), series = i } end
  end
  for i, s in ipairs(references) do
    entries[#entries + 1] = {
      name = s.name or "reference", loose = true,
      key = function(x, y) return marks.reference(i, x + legend.key_width / 2, y) end,
    }
  end
  return entries
end

local function number(value) return ("%.6g"):format(value) end

local function describe(o, all, kind)
  local parts = { kind .. (" of %d series."):format(#all) }
  for i, s in ipairs(all) do
    local count = 0
    for _, p in ipairs(s.points) do if p then count = count + 1 end end
    local low, high = series.range({ s }, { "y" })
    local left, right = series.range({ s }, { "x" })
    local words = "no data"
    if count > 0 then
      words = ("%d points, x from %s to %s, y from %s to %s"):format(count, number(left), number(right), number(low),
        number(high))
    end
    parts[#parts + 1] = ("%s: %s."):format(s.name or "series " .. i, words)
  end
  if o.x.label or o.y.label then
    parts[#parts + 1] = ("x: %s, y: %s."):format(o.x.label or "x", o.y.label or "y")
  end
  return table.concat(parts, " ")
end

---Draws what `read_options` returned.
function M.draw(o, all, references, notes, kind)
  local everything = util.joined(all, references)
  local x_low, x_high = series.range(everything, { "x" })
  local y_low, y_high = series.range(everything, { "y", "low", "high" })
  -- The axis includes zero if that less than doubles its range.
  local y_options = o.y
  if o.y.zero == nil and y_low and y_low > 0 and y_low < y_high * 0.5 then
    y_options = setmetatable({ zero = true }, { __index = o.y })
  end
  local entries = entries_of(all, references)
  return frame.render(o, {
    x = function(count) return axes.of(o.x, x_low, x_high, count) end,
    y = function(count) return axes.of(y_options, y_low, y_high, count) end,
    x_options = o.x, y_options = o.y, entries = entries, notes = notes, empty = x_low == nil,
    describe = function() return describe(o, all, kind) end,
    draw = function(area, x_axis, y_axis)
      local out, ends = { under = {}, over = {} }, {}
      for i, s in ipairs(all) do
        local points = placed(s.points, area, x_axis, y_axis)
        ends[i] = end_of(points, area)
        local own = s.marks and placed(s.marks, area, x_axis, y_axis)
        draw_series(s, points, marks.marked(own or points, i, area.width, own or s.style == "points"), area, out)
      end
      for i, s in ipairs(references) do
        for _, p in ipairs(placed(s.points, area, x_axis, y_axis)) do
          if p and p.inside then out.over[#out.over + 1] = marks.reference(i, p.x, p.y) end
        end
      end
      for _, entry in ipairs(entries) do entry.end_y = entry.series and ends[entry.series] end
      return marks.layers(area, out.under, out.over)
    end,
  })
end

-- The options of a chart.
M.options = {
  title = "string?", subtitle = "string?", x = "table?", y = "table?", series = "table?", references = "table?",
  notes = "table?", width = "number?", height = "number?",
}

---Checks and copies the options common to all charts; missing options become empty tables.
function M.common(o, kinds, fn)
  check.options(o, kinds, fn)
  local out = util.merged(o)
  out.x, out.y = series.axis(o.x, "x", fn), series.axis(o.y, "y", fn)
  if o.width then check.number(o.width, "width", fn, 200, 10000) end
  if o.height then check.number(o.height, "height", fn, 150, 10000) end
  out.notes = {}
  for i, note in ipairs(o.notes or {}) do
    check.arg(note, "string", ("notes[%d]"):format(i), fn)
    out.notes[i] = note
  end
  return out
end

---See plot.line.
function M.line(o)
  local fn = "plot.line"
  o = M.common(o, M.options, fn)
  local all = read(o.series, series_options, o, "series", fn)
  local references = read(o.references, reference_options, o, "references", fn)
  local notes = util.joined(o.notes, series.notes(all), series.notes(references, "reference"))
  return M.draw(o, all, references, notes, "Line chart")
end

return M
