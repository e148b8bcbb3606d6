--- The shapes that represent data: lines, bands, error bars, markers. Coordinates are pixels with two decimals, so that
--- equal data gives equal bytes.
local text = require("actor.plot.text")

local max, min, floor, cos, sin, pi = math.max, math.min, math.floor, math.cos, math.sin, math.pi

local M = {}

local far = 20000 -- pixels: farther points are invisible, and renderers handle large numbers badly

---@param value number
---@return string
local function px(value)
  local out = ("%.2f"):format(max(-far, min(far, value))):gsub("%.?0+$", "")
  return out == "-0" and "0" or out
end

M.px = px

local function polygon(x, y, radius, corners, turn)
  local out = {}
  for i = 0, corners - 1 do
    local angle = turn + 2 * pi * i / corners
    out[i + 1] = px(x + radius * sin(angle)) .. " " .. px(y - radius * cos(angle))
  end
  return "M" .. table.concat(out, "L") .. "Z"
end

local function crossed(x, y, r)
  local left, right, top, bottom = px(x - r), px(x + r), px(y - r), px(y + r)
  return ("M%s %sL%s %sM%s %sL%s %s"):format(left, top, right, bottom, left, bottom, right, top)
end

-- The shapes, theme.markers in number.
local shapes = {
  function(x, y, r) return ('<circle cx="%s" cy="%s" r="%s"'):format(px(x), px(y), px(r)) end,
  function(x, y, r) return ('<path d="%s"'):format(polygon(x, y, r * 1.25, 4, pi / 4)) end,
  function(x, y, r) return ('<path d="%s"'):format(polygon(x, y + r * 0.2, r * 1.35, 3, 0)) end,
  function(x, y, r) return ('<path d="%s"'):format(polygon(x, y, r * 1.35, 4, 0)) end,
  function(x, y, r) return ('<path d="%s"'):format(polygon(x, y - r * 0.2, r * 1.35, 3, pi)) end,
  function(x, y, r) return ('<path d="%s"'):format(crossed(x, y, r * 0.85)) end,
}
local reference_shapes = { 4, 2, 3, 5, 1, 6 }

---The marker of the i-th series.
---@param i integer
---@param x number
---@param y number
---@param radius? number default 4
---@return string
function M.marker(i, x, y, radius)
  local shape = (i - 1) % #shapes + 1
  return shapes[shape](x, y, radius or 4) .. (shape == 6 and ' class="cross"/>' or ' class="mark"/>')
end

---The marker of the i-th set of references: hollow and larger.
function M.reference(i, x, y, radius)
  return shapes[reference_shapes[(i - 1) % #reference_shapes + 1]](x, y, radius or 6) .. ' class="ref"/>'
end

-- --- lines ---

-- Points of one run as path text. `step`: a value holds until the next point.
local function run_path(points, first, last, step)
  local out = { "M" .. px(points[first].x) .. " " .. px(points[first].y) }
  for i = first + 1, last do
    if step then
      out[#out + 1] = "H" .. px(points[i].x) .. "V" .. px(points[i].y)
    else
      out[#out + 1] = "L" .. px(points[i].x) .. " " .. px(points[i].y)
    end
  end
  return table.concat(out)
end

---The path through `points` ({x, y} in pixels, false for a gap); nil if no two neighbours exist.
---@param points ({x: number, y: number}|false)[]
---@param class string
---@param step? boolean
---@return string?
function M.line(points, class, step)
  local parts, first = {}, nil
  for i = 1, #points + 1 do
    if points[i] then
      first = first or i
    elseif first then
      if i - first > 1 then parts[#parts + 1] = run_path(points, first, i - 1, step) end
      first = nil
    end
  end
  if #parts == 0 then return nil end
  return ('<path class="line%s" d="%s"/>'):format(class, table.concat(parts))
end

---The area between `low` and `high` of each point that has both.
---@param points ({x: number, low?: number, high?: number}|false)[]
---@param step? boolean
---@return string?
function M.band(points, step)
  local parts, upper, lower = {}, {}, {}
  local function close()
    if #upper > 1 then
      local back = {}
      for i = #lower, 1, -1 do back[#back + 1] = lower[i] end
      local forth = run_path(upper, 1, #upper, step)
      local other = {}
      for i, p in ipairs(back) do
        -- On the way back a step changes to the earlier value before it moves to that point.
        other[i] = (step and i > 1) and ("V%sH%s"):format(px(p.y), px(p.x)) or ("L%s %s"):format(px(p.x), px(p.y))
      end
      parts[#parts + 1] = forth .. table.concat(other) .. "Z"
    end
    upper, lower = {}, {}
  end
  for i = 1, #points do
    local p = points[i]
    if p and p.low and p.high then
      upper[#upper + 1], lower[#lower + 1] = { x = p.x, y = p.high }, { x = p.x, y = p.low }
    else
      close()
    end
  end
  close()
  if #parts == 0 then return nil end
  return ('<path class="band" d="%s"/>'):format(table.concat(parts))
end

---A bar from low to high with caps.
---@return string
function M.error_bar(x, low, high, cap)
  return ('<path class="err" d="M%s %sV%sM%s %sH%sM%s %sH%s"/>'):format(px(x), px(low), px(high), px(x - cap), px(low),
    px(x + cap), px(x - cap), px(high), px(x + cap))
end

-- --- fewer points ---

-- Adds the points of points[first .. last], one column of pixels, that shape the line: first, last, lowest and highest.
local function keep_extremes(points, first, last, out)
  local low, high = first, first
  for i = first, last do
    if points[i].y < points[low].y then low = i end
    if points[i].y > points[high].y then high = i end
  end
  local extremes = { first, min(low, high), max(low, high), last }
  for k, i in ipairs(extremes) do
    if k == 1 or i > extremes[k - 1] then out[#out + 1] = points[i] end
  end
end

---Removes invisible points from long series: a line of a million points retains a few thousand.
---@param points ({x: number, y: number}|false)[]
---@return ({x: number, y: number}|false)[]
function M.thinned(points)
  if #points < 2000 then return points end
  local out, first = {}, nil
  for i = 1, #points + 1 do
    local p = points[i]
    if first and not (p and floor(p.x * 2) == floor(points[first].x * 2)) then
      keep_extremes(points, first, i - 1, out)
      first = nil
    end
    if p then first = first or i elseif p == false and out[#out] then out[#out + 1] = false end
  end
  return out
end

---Chooses the points with a marker: all if they are far apart, otherwise some, at different places for each series.
---@param points ({x: number, y: number, inside: boolean}|false)[]
---@param series integer
---@param width number of the plot, pixels
---@param all? boolean
---@return {x: number, y: number}[]
function M.marked(points, series, width, all)
  local there, alone = {}, {}
  for i, p in ipairs(points) do
    if p and p.inside then
      there[#there + 1] = p
      if not points[i - 1] and not points[i + 1] then alone[#alone + 1] = p end
    end
  end
  if all or #there <= max(2, width / 18) then return there end
  local out, apart = alone, width / 7
  local next_x = -math.huge
  local left = there[1].x
  for _, p in ipairs(there) do left = min(left, p.x) end
  next_x = left + apart * (0.15 + 0.61803 * series % 1)
  for _, p in ipairs(there) do
    if p.x >= next_x then
      out[#out + 1] = p
      next_x = next_x + apart * max(1, floor((p.x - next_x) / apart) + 1)
    end
  end
  return out
end

---@param class string
---@param parts string[]
---@return string
function M.group(class, parts)
  return ('<g class="%s">\n%s\n</g>'):format(class, table.concat(parts, "\n"))
end

---The parts of a plot in its area. A nested svg clips `under` at the plot's edge. It extends two pixels beyond the axes
---so that a line on the edge keeps its width. `over`, such as markers, is not clipped.
---@param area actor.plot.Area
---@param under string[]
---@param over string[]
---@return string[]
function M.layers(area, under, over)
  local parts = {}
  if #under > 0 then
    parts[1] = ('<svg x="%s" y="%s" width="%s" height="%s">\n<g transform="translate(2 2)">\n%s\n</g>\n</svg>'):format(
      px(area.x - 2), px(area.y - 2), px(area.width + 4), px(area.height + 4), table.concat(under, "\n"))
  end
  if #over > 0 then
    parts[#parts + 1] = ('<g transform="translate(%s %s)">\n%s\n</g>'):format(px(area.x), px(area.y),
      table.concat(over, "\n"))
  end
  return parts
end

---@param x number
---@param y number of the baseline
---@param words string
---@param class? string
---@param anchor? "start"|"middle"|"end"
---@param extra? string further attributes
---@return string
function M.text(x, y, words, class, anchor, extra)
  return ('<text x="%s" y="%s"%s%s%s>%s</text>'):format(px(x), px(y), class and ' class="' .. class .. '"' or "",
    anchor and anchor ~= "start" and ' text-anchor="' .. anchor .. '"' or "", extra or "", text.escape(words))
end

return M
