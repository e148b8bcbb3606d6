--- Counts failed chunks of all nodes, which may fail at different places on different nodes. After each failure,
--- numbers that must agree on all nodes restart in a new range, and the numbers of the failed chunk become invalid.
local M = {}

local RANGE = 2 ^ 18

local restarts = 0
local failed = {} -- chunks
local chunk = 0 -- the current chunk

---Returns a number above `last`, the same on all nodes if `last` is.
---@param last integer
---@return integer
function M.after(last) return math.max(last, restarts * RANGE) + 1 end

---Returns the number of failed chunks. A change of this number cancels the work in progress.
---@return integer
function M.restarts() return restarts end

---Returns the current chunk, for `holds`.
---@return integer
function M.chunk() return chunk end

---Whether the objects made in a chunk are the same on all nodes.
---@param made_in integer
---@return boolean
function M.holds(made_in) return not failed[made_in] end

---For the host: a chunk begins, after `count` failed chunks.
---@param number integer
---@param count integer
function M.begin(number, count)
  if count ~= restarts then failed[chunk] = true end
  chunk, restarts = number, count
end

return M
