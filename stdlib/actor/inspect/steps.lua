--- A view of a run's state as text (`:steps`): the distribution of the workers' completed steps, as bars.
local M = {}

local most_rows = 12
local bar_width = 40
local most_names = 6

-- The live workers, in order of steps, fewest first.
local function workers_of(state)
  local workers = {}
  for _, node in ipairs(state.nodes) do
    if node.role == "worker" and node.step and node.state ~= "lost" then workers[#workers + 1] = node end
  end
  table.sort(workers, function(a, b)
    if a.step ~= b.step then return a.step < b.step end
    return a.id < b.id
  end)
  return workers
end

-- Divides the range of steps into at most most_rows rows of equal width.
local function rows_of(workers)
  local low, high = workers[1].step, workers[#workers].step
  local each = math.max(1, math.ceil((high - low + 1) / most_rows))
  local rows = {}
  for first = low, high, each do rows[#rows + 1] = { first = first, last = math.min(high, first + each - 1), names = {} } end
  for _, node in ipairs(workers) do table.insert(rows[math.floor((node.step - low) / each) + 1].names, node.name) end
  return rows
end

local function names_text(names)
  if #names <= most_names then return table.concat(names, ", ") end
  return ("%s and %d more"):format(table.concat(names, ", ", 1, most_names - 1), #names - most_names + 1)
end

---Returns a line for each range of steps, with a bar and the names of the workers in it.
---@param state table the run's state, with `nodes`
---@return string
function M.table(state)
  local workers = workers_of(state)
  if #workers == 0 then return "no worker has taken a step" end
  local first, last = workers[1], workers[#workers]
  local rows, most, label = rows_of(workers), 0, 0
  for _, row in ipairs(rows) do
    most = math.max(most, #row.names)
    row.label = row.first == row.last and ("%d"):format(row.first) or ("%d-%d"):format(row.first, row.last)
    label = math.max(label, #row.label)
  end
  local lines = { ("steps of %d worker%s: %d to %d, median %d"):format(#workers, #workers == 1 and "" or "s", first.step,
    last.step, workers[math.ceil(#workers / 2)].step) }
  for _, row in ipairs(rows) do
    local count = #row.names
    local bar = ("#"):rep(count > 0 and math.max(1, math.floor(bar_width * count / math.max(most, bar_width / 4))) or 0)
    local line = ("%s%s  %s %s"):format((" "):rep(label - #row.label), row.label, bar,
      count > 0 and ("%d: %s"):format(count, names_text(row.names)) or "")
    lines[#lines + 1] = (line:gsub("%s+$", ""))
  end
  return table.concat(lines, "\n")
end

return M
