--- The table of a run's nodes, for `status`, `top` and the console.
local text = require("actor.inspect.text")
local util = require("actor.util")

local M = {}

-- Seconds that a node has waited, in total or for one cause.
local function waited(node, cause)
  if not node.wait then return 0 end
  if cause then return node.wait[cause] or 0 end
  local sum = 0
  for _, seconds in util.pairs(node.wait) do sum = sum + seconds end
  return sum
end

local function share(node) return (node.seconds or 0) > 0 and waited(node) / node.seconds or 0 end

-- The waits of workers for the server or for peers.
local places = { barrier = " at the barrier", task = " for a task", pull = " for a pull", push = " for a push" }

--- Describes the current activity of a node and its duration: "waiting 120 ms for server", "computing 2.1 s".
---@param node table
---@param collective? table the collective in progress and the workers missing from it
---@return string
function M.doing(node, collective)
  local state = node.state
  if state == "lost" then return "lost: " .. (node.reason or "?") end
  if state == "silent" then return "silent: no report from its host" end
  if state == "ended" then return "ended" end
  local since = text.seconds(node.since or 0)
  if state == "waiting" then
    local what = places[node.what] or node.what and " in " .. node.what or " for " .. (node.cause or "others")
    local awaited = node["for"]
    if collective and node.with_all and node.calls == collective.calls then awaited = collective.missing end
    if awaited then
      local shown = table.concat(awaited, ", ", 1, math.min(#awaited, 4))
      local more = #awaited > 4 and (" and %d more"):format(#awaited - 4) or ""
      what = ("%s for worker%s %s%s"):format(what, #awaited > 1 and "s" or "", shown, more)
    end
    return ("waiting %s%s"):format(since, what)
  end
  return ("%s %s%s"):format(state, since, node.what and " in " .. node.what or "")
end

local orders = {
  rank = function(a, b) return a.place < b.place end,
  step = function(a, b) return a.step < b.step end,
  wait = function(a, b) return a.share < b.share end,
  sent = function(a, b) return a.sent > b.sent end,
  received = function(a, b) return a.received > b.received end,
  queue = function(a, b) return a.queue > b.queue end,
  memory = function(a, b) return a.memory > b.memory end,
  state = function(a, b) return a.state < b.state end,
}

--- The names of columns that `table` can sort by.
---@return string[]
function M.orders() return util.sorted_keys(orders) end

---Explains why a command about nodes refuses these words; nil without words.
---@param words string[] beside the flags
---@return string?
function M.unknown(words)
  if #words > 0 then return ("'%s' is not understood; --attach takes the run's address"):format(words[1]) end
end

local heads = { "node", "host", ">steps", ">calls", ">tasks", ">waits", ">sent", ">received", ">queue", ">lua", "does" }
-- The columns that a narrow terminal omits, in this order, each with the sort order that needs it.
local spare = { { 10, "memory" }, { 9, "queue" }, { 8, "received" }, { 7, "sent" }, { 5 }, { 4 }, { 2 } }

local function widest(lines)
  local most = 0
  for line in lines:gmatch("[^\n]+") do most = math.max(most, text.width(line)) end
  return most
end

-- The table in at most `columns` columns, as far as omitting table columns permits.
local function fitted(cells, order, columns)
  local shown = {}
  for i in ipairs(heads) do shown[i] = true end
  local function lines()
    local picked, rows = {}, {}
    for r = 0, #cells do
      local row = {}
      for i, cell in ipairs(cells[r] or heads) do
        if shown[i] then row[#row + 1] = cell end
      end
      if r == 0 then picked = row else rows[r] = row end
    end
    return text.columns(picked, rows)
  end
  local out = lines()
  for _, one in ipairs(spare) do
    if not columns or widest(out) <= columns then break end
    if one[2] ~= order then
      shown[one[1]] = false
      out = lines()
    end
  end
  return out
end

---@param state table as reported by the run
---@param order? string one of `orders`, default rank
---@param options? {reverse?: boolean, columns?: integer} columns: of the terminal
---@return string
function M.table(state, order, options)
  options = options or {}
  local rows = {}
  for place, node in ipairs(state.nodes) do
    rows[place] = {
      place = node.state == "lost" and 1e9 + place or node.rank or 1e8 + node.id, node = node, step = node.step or 0,
      share = share(node), sent = node.sent or 0, received = node.received or 0, queue = node.queue or 0,
      memory = node.lua_bytes or 0, state = node.state,
    }
  end
  local before = orders[order or "rank"]
  table.sort(rows, function(a, b)
    if before(a, b) ~= before(b, a) then return before(a, b) end
    return a.place < b.place
  end)
  local cells = {}
  for i, row in ipairs(rows) do
    local node = row.node
    local known = node.seconds ~= nil
    local mark = node.straggler and " < straggler" or ""
    cells[options.reverse and #rows + 1 - i or i] = {
      node.name or "?", node.host or "", tostring(node.step or ""), tostring(node.calls or ""), tostring(node.tasks or ""),
      known and ("%.0f %%"):format(100 * row.share) or "",
      known and text.bytes(row.sent) or "", known and text.bytes(row.received) or "", known and tostring(row.queue) or "",
      known and text.bytes(row.memory) or "",
      M.doing(node, state.collective) .. mark,
    }
  end
  return fitted(cells, order, options.columns)
end

--- One line about the run: "mnist_ps.lua: 4 workers on 2 hosts, 12.3 s, seed 1".
---@param state table
---@return string
function M.headline(state)
  local run = state.run
  local workers, lost = run.size, 0
  for _, node in ipairs(state.nodes) do
    if node.state == "lost" then lost = lost + 1 end
  end
  local machines, count = {}, 0
  for _, host in ipairs(state.hosts) do
    local name = host.host:match("^(.*):") or host.host
    if not machines[name] then machines[name], count = true, count + 1 end
  end
  local parts = {
    ("%d worker%s on %d machine%s"):format(workers, workers == 1 and "" or "s", count, count == 1 and "" or "s"),
    lost > 0 and lost .. " lost" or nil,
  }
  parts[#parts + 1] = text.seconds(run.t)
  if run.seed then parts[#parts + 1] = "seed " .. run.seed end
  if run.paused then parts[#parts + 1] = "PAUSED" end
  return ("%s%s: %s"):format(run.job, run.id ~= "" and " (" .. run.id .. ")" or "", table.concat(parts, ", "))
end

return M
