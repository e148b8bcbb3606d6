--- The activity of a run's nodes over time, from snapshots of its state: as text and as a Chrome trace.
local json = require("actor.console.json")
local text = require("actor.inspect.text")
local util = require("actor.util")

local M = {}

--- Seconds between two snapshots. A node retains its spans for a little longer.
M.every = 0.25

---@class actor.inspect.Track the activity of one node
---@field name string
---@field node table its newest row of the state
---@field next? integer number of the next span to take
---@field spans table[] each {name, category, number, begin, end}, in seconds of the run

---@class actor.inspect.Timeline
---@field tracks table<string, actor.inspect.Track> by node names
---@field shifts table<integer, number> from a process's clock to the run's
---@field from? number time of the first snapshot; earlier spans are left out
---@field to number time of the last snapshot
---@field left_out integer spans that nodes discarded between two snapshots

---@return actor.inspect.Timeline
function M.new() return { tracks = {}, shifts = {}, to = 0, left_out = 0 } end

-- Takes new spans. The smallest clock difference seen is that of the reply with the shortest delay.
local function take(line, track, node, t)
  local seen = node.spans
  local shift = math.min(line.shifts[node.process] or math.huge, t - seen.at)
  line.shifts[node.process] = shift
  local next = track.next or seen.first
  if seen.first + #seen.list < next then next = 0 end -- a new server with this name
  line.left_out = line.left_out + math.max(0, seen.first - next)
  for i = math.max(1, next - seen.first + 1), #seen.list do
    local name, category, number, begun, ended = unpack(seen.list[i])
    if ended + shift > line.from then
      table.insert(track.spans, { name, category, number, begun + shift, ended + shift })
    end
  end
  track.next = seen.first + #seen.list
end

---Adds a snapshot: a state with the section "trace". The first snapshot begins the timeline.
---@param line actor.inspect.Timeline
---@param state table
function M.add(line, state)
  local t = state.run.t
  line.from, line.to = line.from or t, t
  for _, node in ipairs(state.nodes) do
    if node.name and node.spans then
      local track = line.tracks[node.name] or { name = node.name, spans = {} }
      line.tracks[node.name], track.node = track, node
      take(line, track, node, t)
    end
  end
end

-- The tracks: workers in order of their ids, then servers.
local function ordered(line)
  local list = {}
  for _, track in util.pairs(line.tracks) do list[#list + 1] = track end
  table.sort(list, function(a, b)
    if a.node.role ~= b.node.role then return a.node.role > b.node.role end
    return a.node.id < b.node.id
  end)
  return list
end

-- The current wait of a node, with the name that its span will have. The node reports a span only at its end.
local function present(track, to)
  local node = track.node
  if node.state ~= "waiting" then return nil end
  local by_call = node.cause == "server" or node.cause == "peer"
  return { "wait: " .. (by_call and node.what or node.cause), "wait", 0, to - node.since, to }
end

-- --- as text ---

local signs = { wait = ".", call = "=", step = "#", task = "#" }

-- Seconds of each category per column, and seconds of each name in total.
local function measured(line, track, columns)
  local width = (line.to - line.from) / columns
  local covered, named = { wait = {}, call = {}, step = {}, task = {} }, {}
  local function measure(span)
    local name, category = span[1], span[2]
    local from, to = math.max(span[4], line.from) - line.from, math.min(span[5], line.to) - line.from
    local of = covered[category]
    if to <= from or not of then return end
    named[name] = (named[name] or 0) + to - from
    for column = math.floor(from / width) + 1, math.min(columns, math.ceil(to / width)) do
      of[column] = (of[column] or 0) + math.min(to, column * width) - math.max(from, (column - 1) * width)
    end
  end
  for _, span in ipairs(track.spans) do measure(span) end
  local now = present(track, line.to)
  if now then measure(now) end
  return covered, named, width
end

-- The sign of the innermost category that covers at least half of a column: a wait is a part of the surrounding span.
local function painted(covered, columns, width)
  local cells = {}
  for column = 1, columns do
    cells[column] = " "
    for _, category in ipairs { "wait", "call", "step", "task" } do
      if (covered[category][column] or 0) >= width / 2 then
        cells[column] = signs[category]
        break
      end
    end
  end
  return table.concat(cells)
end

-- Shares of the time, largest first.
local function shares(named, seconds)
  local names = util.sorted_keys(named)
  table.sort(names, function(a, b)
    if named[a] ~= named[b] then return named[a] > named[b] end
    return a < b
  end)
  local parts = {}
  for i = 1, math.min(3, #names) do
    parts[i] = ("%s %.0f %%"):format(names[i], 100 * named[names[i]] / seconds)
  end
  return table.concat(parts, ", ")
end

---Returns the timeline as lines of text, and as data: for each node the seconds by name.
---@param line actor.inspect.Timeline
---@param columns? integer of the bars, default 50
---@return string
---@return table[]
function M.picture(line, columns)
  columns = columns or 50
  local seconds = math.max(line.to - line.from, 1e-9)
  local rows, data = {}, setmetatable({}, json.array)
  for i, track in ipairs(ordered(line)) do
    local covered, named, width = measured(line, track, columns)
    rows[i] = { track.name, "|" .. painted(covered, columns, width) .. "|", shares(named, seconds) }
    data[i] = { node = track.name, seconds = named }
  end
  local head = ("%s: # a step or a task, = an engine call, . waiting, else the script itself"):format(text.seconds(seconds))
  return head .. "\n" .. text.columns({ "", "", "" }, rows):gsub("^[^\n]*\n", ""), data
end

-- --- as a Chrome trace ---

local server_track = 2 ^ 20 -- worker ids are smaller

local function microseconds(seconds) return math.floor(seconds * 1e9 + 0.5) / 1e3 end

---Returns the timeline in the trace-event format of chrome://tracing and Perfetto, and the number of its spans.
---@param line actor.inspect.Timeline
---@return string
---@return integer
function M.chrome(line)
  local events, processes, spans = {}, {}, 0
  local function put(event) events[#events + 1] = json.encode(event) end
  for _, track in ipairs(ordered(line)) do
    local node = track.node
    local tid = node.role == "server" and server_track + node.id or node.id
    if not processes[node.process] then
      processes[node.process] = true
      put { name = "process_name", ph = "M", pid = node.process, args = { name = node.host } }
    end
    put { name = "thread_name", ph = "M", pid = node.process, tid = tid, args = { name = track.name } }
    for _, span in ipairs(track.spans) do
      local name, category, number, begun, ended = unpack(span)
      spans = spans + 1
      put { name = name, cat = category, ph = "X", ts = microseconds(begun - line.from), dur = microseconds(ended - begun),
        pid = node.process, tid = tid, args = { number = number } }
    end
  end
  return "[\n" .. table.concat(events, ",\n") .. "\n]\n", spans
end

return M
