--- Lays out the figure around the data: title, axes, grid, legend, notes. A chart passes its axes as functions of the
--- number of ticks, since that number depends on the available room, and a function that draws into the plot area.
local legend = require("actor.plot.legend")
local marks = require("actor.plot.marks")
local text = require("actor.plot.text")
local theme = require("actor.plot.theme")

local max, min, floor = math.max, math.min, math.floor
local px = marks.px

local M = {}

local pad = 16
-- The plot area's minimum height, in pixels and as a share of the figure's. The figure grows if its texts leave less.
local least_height, least_share = 120, 0.45

---Pixels around the plot area that markers on its edge may cover: free of text and of legend keys.
M.clear = 12

---@class actor.plot.Area pixels
---@field x number
---@field y number
---@field width number
---@field height number

-- The words of an axis: label, factor and unit.
local function axis_words(o, axis)
  local unit = axis.factor
  if o.unit then unit = unit == "" and o.unit or unit .. " " .. o.unit end
  local label = o.label or ""
  if unit == "" then return label end
  return label == "" and unit or ("%s (%s)"):format(label, unit)
end

-- --- parts, each drawn downwards from a y ---

local function heading(o, width, out)
  local y, room = 12, width - 2 * pad
  local function lines(words, class, size, height, most)
    for _, line in ipairs(text.wrap(words or "", size, room, most)) do
      y = y + height
      out[#out + 1] = marks.text(pad, y - 4, line, class)
    end
  end
  lines(o.title, "title", 16.5, 21, 3)
  lines(o.subtitle, "sub", 12.5, 17, 5)
  return y
end

local function widest_label(axis)
  local widest = 0
  for _, tick in ipairs(axis.ticks) do widest = max(widest, text.width(tick.label, 12)) end
  return widest
end

-- Whether neighbouring labels of a horizontal axis keep their distance.
local function labels_fit(axis, width)
  local taken = -math.huge
  for _, tick in ipairs(axis.ticks) do
    local half = text.width(tick.label, 12) / 2
    if tick.at * width - half < taken + 8 then return false end
    taken = tick.at * width + half
  end
  return true
end

-- The x axis with as many ticks as fit.
local function fitting_axis(make, width)
  local count = max(1, floor(width / 60))
  local axis = make(count)
  while count > 1 and not labels_fit(axis, width) do
    count = count - 1
    axis = make(count)
  end
  return axis
end

local function draw_grid(area, x_axis, y_axis, out)
  local right, bottom, d = area.x + area.width, area.y + area.height, {}
  for _, tick in ipairs(y_axis.ticks) do
    d[#d + 1] = ("M%s %sH%s"):format(px(area.x), px(bottom - tick.at * area.height), px(right))
  end
  for _, tick in ipairs(x_axis.ticks) do
    local x = px(area.x + tick.at * area.width)
    if not x_axis.band then d[#d + 1] = ("M%s %sV%s"):format(x, px(area.y), px(bottom)) end
  end
  if #d > 0 then out[#out + 1] = ('<path class="grid" d="%s"/>'):format(table.concat(d)) end
end

local function draw_axes(area, x_axis, y_axis, out)
  local bottom = area.y + area.height
  local d = { ("M%s %sV%sH%s"):format(px(area.x), px(area.y), px(bottom), px(area.x + area.width)) }
  for _, tick in ipairs(x_axis.ticks) do
    if not x_axis.band then d[#d + 1] = ("M%s %sv5"):format(px(area.x + tick.at * area.width), px(bottom)) end
  end
  for _, tick in ipairs(y_axis.ticks) do d[#d + 1] = ("M%s %sh-4"):format(px(area.x), px(bottom - tick.at * area.height)) end
  for _, at in ipairs(x_axis.minor) do d[#d + 1] = ("M%s %sv3"):format(px(area.x + at * area.width), px(bottom)) end
  for _, at in ipairs(y_axis.minor) do d[#d + 1] = ("M%s %sh-2"):format(px(area.x), px(bottom - at * area.height)) end
  local zero = y_axis.place(0)
  if zero and zero > 1e-6 and zero < 1 then
    d[#d + 1] = ("M%s %sH%s"):format(px(area.x), px(bottom - zero * area.height), px(area.x + area.width))
  end
  out[#out + 1] = ('<path class="axis" d="%s"/>'):format(table.concat(d))
end

local function draw_tick_labels(area, x_axis, y_axis, out)
  local bottom = area.y + area.height
  for _, tick in ipairs(y_axis.ticks) do
    out[#out + 1] = marks.text(area.x - M.clear, bottom - tick.at * area.height + 4, tick.label, "tick", "end")
  end
  for _, tick in ipairs(x_axis.ticks) do
    local x = area.x + tick.at * area.width
    if tick.turned then
      local y = bottom + 17
      local turn = (' transform="rotate(-40 %s %s)"'):format(px(x + 4), px(y))
      out[#out + 1] = marks.text(x + 4, y, tick.label, "tick", "end", turn)
    else
      for i, line in ipairs(tick.lines or { tick.label }) do
        out[#out + 1] = marks.text(x, bottom + M.clear - 4 + 14 * i, line, "tick", "middle")
      end
    end
  end
end

---Lines of notes under a figure: the user's own and the notes about omitted data.
local function note_lines(notes, width)
  local out = {}
  for _, note in ipairs(notes) do
    for _, line in ipairs(text.wrap(note, 11, width - 2 * pad, 4)) do out[#out + 1] = line end
  end
  return out
end

---@class actor.plot.Chart input of `render`
---@field x fun(count: integer, width: number): actor.plot.Axis
---@field y fun(count: integer): actor.plot.Axis
---@field x_options {label?: string, unit?: string}
---@field y_options {label?: string, unit?: string}
---@field entries actor.plot.Entry[]
---@field notes string[]
---@field empty boolean nothing to show
---@field draw fun(area: actor.plot.Area, x: actor.plot.Axis, y: actor.plot.Axis): string[] may set `end_y` of entries
---@field describe fun(): string

---@param o {title?: string, subtitle?: string, width?: number, height?: number}
---@param chart actor.plot.Chart
---@return string svg
function M.render(o, chart)
  local width, height, out = o.width or 720, o.height or 440, {}
  local y = heading(o, width, out) + 8
  local plan = legend.plan(chart.entries, width, max(least_height, height - y - 70))
  local notes = note_lines(chart.notes, width)

  -- The y axis depends on the height, which depends on the texts above and below.
  local y_words = axis_words(chart.y_options, chart.y(5))
  if y_words ~= "" then y = y + 18 end
  local top = y + 8
  local words_below = axis_words(chart.x_options, chart.x(5, width))
  local function area_for(x_labels)
    local below = x_labels + (words_below ~= "" and 20 or 0) + plan.height + (#notes > 0 and 6 + 15 * #notes or 0) + 12
    return max(least_height, height * least_share, height - top - below), below
  end
  local plot_height = area_for(25)
  local y_axis = chart.y(max(2, floor(plot_height / 45)))
  local left = pad + widest_label(y_axis) + M.clear
  local right = max(plan.width, pad + 8)
  local plot_width = max(60, width - left - right)
  local x_axis = chart.x_band and chart.x(0, plot_width) or fitting_axis(chart.x, plot_width)
  if x_axis.reach then -- turned labels stick out to the left of their bar
    left = max(left, pad / 2 + x_axis.reach)
    plot_width = max(60, width - left - right)
    x_axis = chart.x(0, plot_width)
  end
  if plan.side ~= "right" and #x_axis.ticks > 0 and not x_axis.band then
    local last = x_axis.ticks[#x_axis.ticks]
    local over = left + last.at * plot_width + text.width(last.label, 12) / 2 - (width - 6)
    if over > 0 then plot_width = max(60, plot_width - over) end
  end
  local x_labels = x_axis.label_height or 25
  local below
  plot_height, below = area_for(x_labels)
  local area = { x = left, y = top, width = plot_width, height = plot_height }
  local bottom = top + plot_height
  local total = bottom + below

  -- Words.
  y_words = axis_words(chart.y_options, y_axis)
  words_below = axis_words(chart.x_options, x_axis)
  if y_words ~= "" then
    out[#out + 1] = marks.text(pad, top - 15, text.wrap(y_words, 12, width - 2 * pad, 1)[1] or "", nil)
  end
  draw_grid(area, x_axis, y_axis, out)
  draw_axes(area, x_axis, y_axis, out)
  draw_tick_labels(area, x_axis, y_axis, out)
  if words_below ~= "" then
    local line = text.wrap(words_below, 12, width - 2 * pad, 1)[1] or ""
    local half = text.width(line, 12) / 2
    local centre = max(pad + half, min(width - pad - half, left + plot_width / 2))
    out[#out + 1] = marks.text(centre, bottom + x_labels + 14, line, nil, "middle")
  end
  if chart.empty then
    out[#out + 1] = marks.text(left + plot_width / 2, top + plot_height / 2, "no data", "sub", "middle")
  else
    for _, part in ipairs(chart.draw(area, x_axis, y_axis)) do out[#out + 1] = part end
  end
  local legend_top = bottom + x_labels + (words_below ~= "" and 20 or 0)
  for _, part in ipairs(legend.draw(plan, chart.entries, area, legend_top)) do out[#out + 1] = part end
  for i, line in ipairs(notes) do
    out[#out + 1] = marks.text(pad, total - 12 - 15 * (#notes - i), line, "note")
  end
  return M.document(o, chart, width, total, out)
end

---The whole document. It has no ids, so that a page can contain several figures; no scripts, no external resources.
function M.document(o, chart, width, height, parts)
  local w, h = px(width), px(math.ceil(height))
  local title = o.title and text.escape(o.title) or "chart"
  local head = {
    ('<svg xmlns="http://www.w3.org/2000/svg" class="actor-plot" role="img" width="%s" height="%s" viewBox="0 0 %s %s">')
      :format(w, h, w, h),
    "<title>" .. title .. "</title>",
    "<desc>" .. text.escape(chart.describe()) .. "</desc>",
    "<style>\n" .. theme.css() .. "</style>",
    ('<rect class="bg" width="%s" height="%s"/>'):format(w, h),
  }
  return table.concat(head, "\n") .. "\n" .. table.concat(parts, "\n") .. "\n</svg>\n"
end

return M
