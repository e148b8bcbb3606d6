--- Tracks which retained rows the script has released: rows freed by unpersist, and rows of garbage datasets. The next
--- action reports them to the tracker. The report of one node is enough, since all nodes enter an action that reads a
--- dataset. An error here costs only time, since missing rows are computed again.
local M = {}

-- Lua's collector finds garbage only when it runs, and rows outside of the Lua heap do not trigger it.
local MOST_RETAINED = 8 -- new retained stages after which the collector has to run
local PART = 8 -- it also runs when new rows take an eighth of the memory

local unused = {} -- stages' ids
local retained, retained_bytes = 0, 0 -- since the collector last ran

---Holds the retained rows of a stage until the hold is garbage.
---@param stage integer
---@return userdata hold
function M.hold(stage)
  retained = retained + 1
  local hold = newproxy(true) -- tables have no finaliser here
  getmetatable(hold).__gc = function() unused[#unused + 1] = stage end
  return hold
end

---Releases the rows of a hold: the script does not use them any more.
---@param hold userdata
function M.release(hold)
  local meta = getmetatable(hold)
  if meta.__gc then meta.__gc() end
  meta.__gc = nil
end

---Counts the bytes of newly retained rows.
---@param bytes number
function M.count(bytes) retained_bytes = retained_bytes + bytes end

---Runs the collector to find garbage datasets, once enough rows have been retained since its last run.
---@param memory number bytes that all nodes may use
function M.collect_if_due(memory)
  if retained < MOST_RETAINED and retained_bytes * PART < memory then return end
  retained, retained_bytes = 0, 0
  collectgarbage()
end

---Returns the stages that were released since the last call.
---@return integer[] stages
function M.take()
  local ids = unused
  unused = {}
  return ids
end

return M
