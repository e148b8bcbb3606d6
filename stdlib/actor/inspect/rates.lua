--- The activity of a run per second, from two of its states.
local text = require("actor.inspect.text")

local M = {}

-- Sums over the nodes in both states: a joined or departed node would look like a jump.
local function difference(now, before, name)
  local earlier, sum = {}, 0
  for _, node in ipairs(before.nodes) do earlier[node.name] = node[name] end
  for _, node in ipairs(now.nodes) do
    if node[name] and earlier[node.name] then sum = sum + math.max(0, node[name] - earlier[node.name]) end
  end
  return sum
end

local function waited(state)
  local nodes = {}
  for _, node in ipairs(state.nodes) do
    local sum = 0
    for _, seconds in pairs(node.wait or {}) do sum = sum + seconds end
    if node.role == "worker" and node.wait then nodes[#nodes + 1] = { name = node.name, wait = sum } end
  end
  return { nodes = nodes }
end

M.head = ("%9s  %9s  %9s  %9s  %9s  %9s  %7s"):format("time", "steps/s", "updates/s", "calls/s", "sent/s", "frames/s", "waiting")

---@param now table a state
---@param before table an earlier one of the same run
---@return string a line under `head`
function M.line(now, before)
  local seconds = math.max(1e-3, now.run.t - before.run.t)
  local function rate(name) return difference(now, before, name) / seconds end
  local wait = difference(waited(now), waited(before), "wait") / seconds / math.max(1, now.run.size)
  return ("%9s  %9.1f  %9.1f  %9.1f  %9s  %9.0f  %5.0f %%"):format(text.seconds(now.run.t), rate("step"), rate("updates"),
    rate("calls"), text.bytes(rate("sent")), rate("frames_sent"), 100 * math.min(1, wait))
end

return M
