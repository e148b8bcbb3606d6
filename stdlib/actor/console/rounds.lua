--- Chunks for all nodes that have failed, perhaps at different places on different nodes. What is numbered in the same order
--- on every node begins with a new range of numbers after each, and what such a chunk has numbered counts no longer.
local M = {}

local RANGE = 2 ^ 18

local restarts = 0
local failed = {} -- chunks
local chunk = 0 -- the present one

---A number above `last` that is the same on all nodes, if `last` was.
---@param last integer
---@return integer
function M.after(last) return math.max(last, restarts * RANGE) + 1 end

---How many chunks have failed. What was under way when one failed is over when this is another number.
---@return integer
function M.restarts() return restarts end

---The present chunk, for `holds`.
---@return integer
function M.chunk() return chunk end

---Whether what was made in that chunk is the same on all nodes.
---@param made_in integer
---@return boolean
function M.holds(made_in) return not failed[made_in] end

---For the host: a chunk begins, before which so many have failed.
---@param number integer
---@param count integer
function M.begin(number, count)
  if count ~= restarts then failed[chunk] = true end
  chunk, restarts = number, count
end

return M
