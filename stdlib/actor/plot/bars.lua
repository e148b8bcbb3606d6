--- Bars over categories, for one or several series side by side, with error bars. A marker at the foot of each bar
--- distinguishes series without colour.
local axes = require("actor.plot.axis")
local check = require("actor.check")
local frame = require("actor.plot.frame")
local legend = require("actor.plot.legend")
local line = require("actor.plot.line")
local marks = require("actor.plot.marks")
local series = require("actor.plot.series")
local text = require("actor.plot.text")
local theme = require("actor.plot.theme")
local util = require("actor.util")

local max, min = math.max, math.min
local px = marks.px

local M = {}

local chart_options = util.merged(line.options, { categories = "table", values = "boolean|string?" })
local series_options = { name = "string?", y = "table", low = "table?", high = "table?", looks = "table?" }
local reference_options = { name = "string?", y = "table", series = "string?" }

-- --- the axis of categories ---

-- An axis with a tick for each category, in the middle of equal slots. Labels wrap if each word fits its slot;
-- otherwise they are turned.
local function category_axis(categories, width)
  local slot, ticks, turned, tallest, longest = width / max(1, #categories), {}, false, 1, 0
  for _, name in ipairs(categories) do
    for word in name:gmatch("%S+") do turned = turned or text.width(word, 12) > slot - 6 end
    turned = turned or #text.wrap(name, 12, slot - 6) > 3
  end
  for i, name in ipairs(categories) do
    local tick = { at = (i - 0.5) / #categories, label = name, turned = turned }
    if turned then
      tick.label = text.wrap(name, 12, 170, 1)[1] or ""
      longest = max(longest, text.width(tick.label, 12))
    else
      tick.lines = text.wrap(name, 12, slot - 6)
      tallest = max(tallest, #tick.lines)
    end
    ticks[i] = tick
  end
  -- cos and sin of the labels' angle of 40 degrees.
  return {
    ticks = ticks, minor = {}, factor = "", band = true, reach = turned and longest * 0.77 - slot / 2 or nil,
    label_height = turned and 23 + longest * 0.65 or 11 + 14 * tallest,
  }
end

-- --- drawing ---

-- A value as text for the top of its bar: three digits.
local function short(value, format)
  if type(format) == "string" then return format:format(value) end
  local digits, exponent = ("%.3g"):format(value):match("^(.-)e(.+)$")
  if digits then return digits:gsub("^%-", "−") .. "·" .. axes.power_text(10, tonumber(exponent)) end
  return (("%.3g"):format(value):gsub("^%-", "−"))
end

---@param taken number[] heights of the references on this bar, in pixels: its value is placed above them
local function draw_bar(look, p, x, width, area, y_axis, base, o, taken)
  local top, colour = area.height * (1 - max(-0.5, min(1.5, y_axis.place(p.y)))), theme.classes(look)
  local upper, height = min(top, base), math.abs(base - top)
  local parts = {
    ('<rect class="bar" x="%s" y="%s" width="%s" height="%s"/>'):format(px(x), px(upper), px(width), px(height)),
  }
  local middle, room = x + width / 2, height
  local errors, label = nil, nil
  if p.low then
    local low, high = area.height * (1 - y_axis.place(p.low)), area.height * (1 - y_axis.place(p.high))
    errors = marks.error_bar(middle, low, high, min(5, width / 3))
    room = p.y >= 0 and base - max(low, top) or min(high, top) - base
    upper = min(upper, high)
  end
  if o.marked and width >= 9 and room >= 16 then
    local foot = p.y >= 0 and base - 9 or base + 9
    parts[#parts + 1] = '<g class="inset">' .. marks.marker(look, middle, foot, 3.2) .. "</g>"
  end
  if o.values then
    local words = short(p.y, o.values)
    table.sort(taken, function(a, b) return a > b end)
    for _, y in ipairs(taken) do
      if y < upper + 8 and y > upper - 22 then upper = y - 7 end
    end
    if text.width(words, 11) <= width + o.gap then
      label = marks.text(middle, p.y >= 0 and upper - 4 or max(top, base) + 13, words, "note", "middle")
    end
  end
  return marks.group(colour, parts), errors, label
end

local function draw_all(o, all, references, area, y_axis)
  local slot = area.width / #o.categories
  local group = slot * (#all > 1 and 0.8 or 0.62)
  local width = min(group / max(1, #all), 90)
  o.gap = max(0, (slot - width * #all) / #all)
  local zero = y_axis.place(0)
  local base = area.height * (1 - max(0, min(1, zero or 0)))
  local under, over, at = {}, {}, {}
  for i, s in ipairs(all) do
    for c, p in ipairs(s.points) do
      local x = slot * (c - 0.5) + width * (i - 1 - #all / 2)
      at[i] = at[i] or {}
      at[i][c] = x + width / 2
      if p then
        local taken = {}
        for _, r in ipairs(references) do
          local ay = r.of == i and r.points[c] and y_axis.place(r.points[c].y)
          taken[#taken + 1] = ay and area.height * (1 - ay) or nil
        end
        local bar, errors, label = draw_bar(s.looks and s.looks[c] or i, p, x + width * 0.04, width * 0.92, area, y_axis, base, o, taken)
        under[#under + 1] = bar
        over[#over + 1] = errors
        over[#over + 1] = label
      end
    end
  end
  for i, r in ipairs(references) do
    for c, p in ipairs(r.points) do
      local ay = p and y_axis.place(p.y)
      if ay and ay >= 0 and ay <= 1 then
        local x = r.of and at[r.of][c] or slot * (c - 0.5)
        over[#over + 1] = marks.reference(i, x, area.height * (1 - ay))
      end
    end
  end
  return marks.layers(area, under, over)
end

local function entries_of(all, references, marked)
  local entries = {}
  for i, s in ipairs(all) do
    if s.name then
      entries[#entries + 1] = { name = s.name, key = function(x, y)
        local parts = { ('<rect class="bar" x="%s" y="%s" width="16" height="14"/>'):format(px(x + 5), px(y - 7)) }
        if marked then parts[2] = '<g class="inset">' .. marks.marker(i, x + 13, y, 3.2) .. "</g>" end
        return marks.group(theme.classes(i), parts)
      end }
    end
  end
  for i, r in ipairs(references) do
    entries[#entries + 1] = { name = r.name or "reference", key = function(x, y)
      return marks.reference(i, x + legend.key_width / 2, y)
    end }
  end
  return entries
end

-- --- reading ---

local function read_series(list, kinds, o, name, fn)
  local out = {}
  for i, s in ipairs(list or {}) do
    local label = ("%s[%d]"):format(name, i)
    check.arg(s, "table", label, fn)
    check.options(s, kinds, fn)
    series.numbers(s.y, label .. ".y", fn)
    if #s.y ~= #o.categories then
      check.fail("bad argument '%s.y' to %s: expected %d numbers, one for each category, got %d", label, fn,
        #o.categories, #s.y)
    end
    out[i] = series.points({ name = s.name, y = s.y, low = s.low, high = s.high }, label, fn, nil, o.y.log)
    out[i].looks = s.looks
    for c, look in ipairs(s.looks or {}) do check.integer(look, ("%s.looks[%d]"):format(label, c), fn, 1) end
  end
  return out
end

local function find_series(all, name, fn)
  if not name then return #all == 1 and 1 or nil end
  for i, s in ipairs(all) do
    if s.name == name then return i end
  end
  check.fail("bad argument 'references' to %s: there is no series '%s'", fn, name)
end

local function describe(o, all)
  local parts = { ("Bar chart of %d categories and %d series."):format(#o.categories, #all) }
  for i, s in ipairs(all) do
    local values = {}
    for c, p in ipairs(s.points) do
      values[c] = ("%s %s"):format(o.categories[c], p and ("%.6g"):format(p.y) or "none")
    end
    parts[#parts + 1] = ("%s: %s."):format(s.name or "series " .. i, table.concat(values, ", "))
  end
  return table.concat(parts, " ")
end

---See plot.bars.
function M.bars(o)
  local fn = "plot.bars"
  o = line.common(o, chart_options, fn)
  for i, name in ipairs(o.categories) do check.arg(name, "string", ("categories[%d]"):format(i), fn) end
  local all = read_series(o.series, series_options, o, "series", fn)
  local references = read_series(o.references, reference_options, o, "references", fn)
  for i, r in ipairs(references) do r.of = find_series(all, o.references[i].series, fn) end
  o.notes = util.joined(o.notes, series.notes(all, "bar"))
  o.marked = #all > 1
  local low, high = series.range(util.joined(all, references), { "y", "low", "high" })
  local y_options = setmetatable({ zero = not o.y.log }, { __index = o.y })
  if o.y.log and low and not o.y.min then low = low / 2 end -- keeps the lowest bar visible
  return frame.render(o, {
    x_band = true,
    x = function(_, width) return category_axis(o.categories, width) end,
    y = function(count) return axes.of(y_options, low, high, count) end,
    x_options = o.x, y_options = o.y, entries = entries_of(all, references, o.marked), notes = o.notes,
    empty = low == nil or #o.categories == 0, describe = function() return describe(o, all) end,
    draw = function(area, _, y_axis) return draw_all(o, all, references, area, y_axis) end,
  })
end

return M
