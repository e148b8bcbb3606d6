--- The legend. It is to the right of the plot, with entries beside the line ends if they fit, otherwise as a list. If
--- the entries exceed the height, they form columns below the plot. Names have the text's colour, follow a sample of
--- the line, and wrap. Names are cut after three lines; a tooltip shows the full name.
local marks = require("actor.plot.marks")
local text = require("actor.plot.text")

local max, min, abs, ceil, floor = math.max, math.min, math.abs, math.ceil, math.floor

local M = {}

local size, line_height, spacing, key_width, gap = 12, 14, 4, 26, 7
-- The gap between the plot and the keys beside it: a key directly at a line's end would look like part of the line.
local apart = 22

---@class actor.plot.Entry
---@field name string
---@field key fun(x: number, y: number): string draws the sample, key_width wide, centred at y
---@field end_y? number the y of the line's end, if it ends at the right edge
---@field loose? boolean no line: may be placed anywhere

M.key_width = key_width

local function measure(entries, room)
  local widest = 0
  for _, entry in ipairs(entries) do
    entry.lines = text.wrap(entry.name, size, room, 3)
    entry.height = max(1, #entry.lines) * line_height + spacing
    for _, line in ipairs(entry.lines) do widest = max(widest, text.width(line, size)) end
  end
  return widest
end

---Decides the place of the legend and its size.
---@param entries actor.plot.Entry[]
---@param width number of the figure
---@param height number of the plot
---@return {side: "none"|"right"|"below", width: number, height: number, columns?: integer, column?: number}
function M.plan(entries, width, height)
  if #entries == 0 then return { side = "none", width = 0, height = 0 } end
  local widest, total = measure(entries, width * 0.27), 0
  for _, entry in ipairs(entries) do total = total + entry.height end
  if total <= height then
    return { side = "right", width = apart + key_width + gap + widest + 12, height = 0 }
  end
  local room = width - 32
  local column = min(room, key_width + gap + measure(entries, room - key_width - gap) + 18)
  local columns = max(1, floor(room / column))
  local rows, sum = ceil(#entries / columns), 0
  for row = 1, rows do
    local tallest = 0
    for c = 0, columns - 1 do
      local entry = entries[row + c * rows]
      if entry then tallest = max(tallest, entry.height) end
    end
    sum = sum + tallest
  end
  return { side = "below", width = 0, height = sum + 8, columns = columns, column = column, rows = rows }
end

local function draw_entry(entry, x, y, out)
  out[#out + 1] = entry.key(x, y)
  local first = y + 4 - (#entry.lines - 1) * line_height / 2
  local whole = table.concat(entry.lines, " ")
  for i, line in ipairs(entry.lines) do
    out[#out + 1] = marks.text(x + key_width + gap, first + (i - 1) * line_height, line)
  end
  if whole ~= entry.name and entry.name:find("%S") then
    out[#out] = out[#out]:gsub("</text>$", function() return "<title>" .. text.escape(entry.name) .. "</title></text>" end)
  end
end

-- Moves the centres apart within low .. high, as near to their wanted places as possible. Neighbours that would overlap
-- form a block at the mean of their wanted places.
local function dodge(entries, low, high)
  local order = {}
  for i, entry in ipairs(entries) do order[i] = entry end
  for i, entry in ipairs(order) do entry.index = i end
  table.sort(order, function(a, b)
    if a.wanted ~= b.wanted then return a.wanted < b.wanted end
    return a.index < b.index
  end)
  local blocks = {}
  local function settle(block)
    local offset, sum = 0, 0
    for _, entry in ipairs(block) do
      sum = sum + entry.wanted - (offset + entry.height / 2)
      offset = offset + entry.height
    end
    block.height = offset
    block.top = max(low, min(high - offset, sum / #block))
  end
  for _, entry in ipairs(order) do
    local block = { entry }
    settle(block)
    while #blocks > 0 and blocks[#blocks].top + blocks[#blocks].height > block.top do
      local above = table.remove(blocks)
      for _, e in ipairs(block) do above[#above + 1] = e end
      block = above
      settle(block)
    end
    blocks[#blocks + 1] = block
  end
  local furthest = 0
  for _, block in ipairs(blocks) do
    local y = block.top
    for _, entry in ipairs(block) do
      entry.y = y + entry.height / 2
      if not entry.loose then furthest = max(furthest, abs(entry.y - entry.wanted)) end
      y = y + entry.height
    end
  end
  return furthest
end

-- Whether every entry fits beside its line's end.
local function beside_ends(entries, top, height)
  local lowest
  for _, entry in ipairs(entries) do
    if entry.end_y then lowest = max(lowest or 0, entry.end_y) elseif not entry.loose then return false end
  end
  if not lowest then return false end
  for _, entry in ipairs(entries) do
    entry.wanted = entry.end_y or lowest + 30
  end
  return dodge(entries, top - 8, top + height + 8) <= 14
end

-- Orders a list by the lines' ends if these are spread over the plot.
local function order_by_ends(entries, height)
  local low, high = math.huge, -math.huge
  for i, entry in ipairs(entries) do
    entry.index = i
    if not entry.loose then
      if not entry.end_y then return end
      low, high = min(low, entry.end_y), max(high, entry.end_y)
    end
  end
  if high - low < 0.4 * height then return end
  table.sort(entries, function(a, b)
    local first, second = a.end_y or math.huge, b.end_y or math.huge
    if first ~= second then return first < second end
    return a.index < b.index
  end)
end

---@param plan table from `plan`
---@param entries actor.plot.Entry[]
---@param area {x: number, y: number, width: number, height: number} the plot
---@param below number the y at which a legend below the plot begins
---@return string[]
function M.draw(plan, entries, area, below)
  local out = {}
  if plan.side == "right" then
    local x = area.x + area.width + apart
    if not beside_ends(entries, area.y, area.height) then
      local y = area.y
      order_by_ends(entries, area.height)
      for _, entry in ipairs(entries) do
        entry.y = y + entry.height / 2
        y = y + entry.height
      end
    end
    for _, entry in ipairs(entries) do draw_entry(entry, x, entry.y, out) end
  elseif plan.side == "below" then
    local y = below + 8
    for row = 1, plan.rows do
      local tallest = 0
      for c = 0, plan.columns - 1 do
        local entry = entries[row + c * plan.rows]
        if entry then tallest = max(tallest, entry.height) end
      end
      for c = 0, plan.columns - 1 do
        local entry = entries[row + c * plan.rows]
        if entry then draw_entry(entry, 16 + c * plan.column, y + tallest / 2, out) end
      end
      y = y + tallest
    end
  end
  return out
end

return M
