--- Tracks the stages whose retained rows the script no longer needs: the script has called unpersist, or the dataset is
--- garbage. The next action reports these stages to the tracker (host/mapreduce/tasks), and all processes free the
--- rows. The report of one node is enough: all nodes run the same actions, so after one node has dropped a dataset, no
--- node reads the dataset again. A wrong report costs only time, because missing rows are computed again.
local M = {}

-- Lua's collector finds the garbage datasets. Rows are outside of the Lua heap, so their size does not start the
-- collector; `collect_if_due` starts it.
local MOST_RETAINED = 8 -- after this many newly retained stages
local PART = 8 -- or when newly retained rows take 1 / PART of the memory

local unused = {} -- ids of released stages, until they are reported
local retained, retained_bytes = 0, 0 -- stages and bytes since `collect_if_due` last ran the collector

---Makes a hold on the retained rows of a stage. The rows are released when the hold is garbage.
---@param stage integer
---@return userdata hold
function M.hold(stage)
  retained = retained + 1
  local hold = newproxy(true) -- tables have no finaliser here
  getmetatable(hold).__gc = function() unused[#unused + 1] = stage end
  return hold
end

---Releases the rows of a hold at once.
---@param hold userdata
function M.release(hold)
  local meta = getmetatable(hold)
  if meta.__gc then meta.__gc() end
  meta.__gc = nil
end

---Counts the bytes of newly retained rows.
---@param bytes number
function M.count(bytes) retained_bytes = retained_bytes + bytes end

---Runs the collector to find garbage datasets, if this node has retained enough stages or rows since the last run.
---@param memory number bytes that all nodes may use
function M.collect_if_due(memory)
  if retained < MOST_RETAINED and retained_bytes * PART < memory then return end
  retained, retained_bytes = 0, 0
  collectgarbage()
end

---Returns the ids of the stages released since the last call.
---@return integer[] stages
function M.take()
  local ids = unused
  unused = {}
  return ids
end

return M
