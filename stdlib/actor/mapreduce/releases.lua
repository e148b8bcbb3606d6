--- Which kept rows the script cannot ask for any more: those that it has freed (unpersist), and those of datasets that are
--- garbage. The next action tells the tracker. One node's word is enough, since all nodes enter an action that asks for a
--- dataset. An error here costs only time, since rows that are missing are made again.
local M = {}

-- Lua's collector finds garbage only when it runs, and rows that lie outside of Lua give it no reason to run.
local MOST_KEPT = 8 -- new kept stages after which the collector has to run
local PART = 8 -- it also runs when new kept rows take an eighth of the memory

local unused = {} -- stages' ids
local kept, kept_bytes = 0, 0 -- since the collector last ran

---Holds the kept rows of a stage for as long as the hold is not garbage.
---@param stage integer
---@return userdata hold
function M.hold(stage)
  kept = kept + 1
  local hold = newproxy(true) -- tables have no finaliser here
  getmetatable(hold).__gc = function() unused[#unused + 1] = stage end
  return hold
end

---Lets the rows of a hold go: the script does not ask for them any more.
---@param hold userdata
function M.let_go(hold)
  local meta = getmetatable(hold)
  if meta.__gc then meta.__gc() end
  meta.__gc = nil
end

---Counts bytes of rows that are kept from now on.
---@param bytes number
function M.count(bytes) kept_bytes = kept_bytes + bytes end

---Runs the collector, to find datasets that are garbage, when there may be enough of them.
---@param memory number bytes that all nodes may use
function M.look(memory)
  if kept < MOST_KEPT and kept_bytes * PART < memory then return end
  kept, kept_bytes = 0, 0
  collectgarbage()
end

---Returns the stages whose rows were let go since the last call.
---@return integer[] stages
function M.take()
  local ids = unused
  unused = {}
  return ids
end

return M
