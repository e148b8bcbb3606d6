--- Which kept rows the script cannot ask for any more: those that it has freed (unpersist), and those of datasets that are
--- garbage. The next action tells the tracker. One node's word is enough, since all nodes enter an action that asks for a
--- dataset. An error here costs only time, since rows that are missing are made again.
local M = {}

-- Lua's collector finds garbage only when it runs, and rows that lie outside of Lua give it no reason to run.
local MOST_KEPT = 8 -- new kept stages until it has to look
local PART = 8 -- and so does it when they take an eighth of the memory

local unused = {} -- stages' ids
local kept, kept_bytes = 0, 0 -- since it last looked

---Holds the kept rows of a stage for as long as the hold is not garbage.
---@param stage integer
---@return userdata hold
function M.hold(stage)
  kept = kept + 1
  local hold = newproxy(true) -- tables have no finaliser here
  getmetatable(hold).__gc = function() unused[#unused + 1] = stage end
  return hold
end

---The rows are not asked for any more.
---@param hold userdata
function M.let_go(hold)
  local meta = getmetatable(hold)
  if meta.__gc then meta.__gc() end
  meta.__gc = nil
end

---So many bytes of rows have come to be kept.
---@param bytes number
function M.count(bytes) kept_bytes = kept_bytes + bytes end

---Looks for datasets that are garbage, when there may be enough of them.
---@param memory number bytes that all nodes may use
function M.look(memory)
  if kept < MOST_KEPT and kept_bytes * PART < memory then return end
  kept, kept_bytes = 0, 0
  collectgarbage()
end

---What has been let go since the last time.
---@return integer[] stages
function M.take()
  local ids = unused
  unused = {}
  return ids
end

return M
