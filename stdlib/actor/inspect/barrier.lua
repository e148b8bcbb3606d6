--- The barrier rules of a run: the waiting workers, the workers that they wait for, and the waiting time.
local text = require("actor.inspect.text")
local util = require("actor.util")

local M = {}

-- The names of nodes by their ids.
local function names_of(state)
  local names = {}
  for _, node in ipairs(state.nodes) do
    if node.role == "worker" then names[node.id] = node.name end
  end
  return function(id) return names[id] or "worker " .. tostring(id) end
end

local function list(ids, name)
  local names = {}
  for i, id in ipairs(ids) do
    if i > 8 then
      names[i] = ("%d more"):format(#ids - 8)
      break
    end
    names[i] = name(id)
  end
  return table.concat(names, ", ")
end

local function one(barrier, name, size)
  local lines = { ("run %s: %s"):format(barrier.run or 1, barrier.rule or "?") }
  if barrier.passed then
    lines[1] = lines[1] .. (", passed %d times, refused %d"):format(barrier.passed, barrier.refused or 0)
  end
  local rows = {}
  for i, wait in ipairs(barrier.waiting or {}) do
    rows[i] = { name(wait.id), tostring(wait.step or ""), wait.since and text.seconds(wait.since) or "",
      wait["for"] and #wait["for"] > 0 and list(wait["for"], name) or "the rule" }
  end
  if #rows == 0 then
    lines[#lines + 1] = "no worker waits"
  else
    lines[#lines + 1] = ("%d of %d wait"):format(#rows, size)
    lines[#lines + 1] = text.columns({ "node", ">step", ">since", "waits for" }, rows)
  end
  local waited = {}
  for id, seconds in util.pairs(barrier.waited or {}) do
    if seconds > 0 then waited[#waited + 1] = { name = name(tonumber(id) or id), seconds = seconds } end
  end
  table.sort(waited, function(a, b) return a.seconds > b.seconds end)
  local words = {}
  for i = 1, math.min(8, #waited) do words[i] = waited[i].name .. " " .. text.seconds(waited[i].seconds) end
  if #words > 0 then lines[#lines + 1] = "waited so far: " .. table.concat(words, ", ") end
  return table.concat(lines, "\n")
end

---@param state table with nodes and barrier
---@return string
function M.table(state)
  local barriers = state.barrier or {}
  if #barriers == 0 then return "no engine of this run is at work under a barrier rule" end
  local name, parts = names_of(state), {}
  for i, barrier in ipairs(barriers) do parts[i] = one(barrier, name, state.run.size) end
  return table.concat(parts, "\n")
end

---@param state table with barrier
---@return string
function M.merges(state)
  local lines = {}
  for _, run in ipairs(state.barrier or {}) do
    local merge = run.merge
    if merge then
      lines[#lines + 1] = ("run %s: %s, merged %d pushes, dropped %d, holds %d"):format(run.run or 1, merge.rule, merge.merged,
        merge.dropped, merge.held)
    end
  end
  return #lines > 0 and table.concat(lines, "\n") or "no parameter server of this run is at work under a merge rule"
end

return M
