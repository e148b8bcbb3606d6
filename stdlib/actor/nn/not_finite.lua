--- The option `on_nan`: the reaction of training to a NaN or infinite loss.
local check = require("actor.check")
local network = require("actor.nn.network")

local M = {}

---Checks a user's `on_nan`.
---@param on_nan any
---@param fn string
---@param may_stop boolean whether "stop" is allowed
---@return "error"|"skip"|"stop"
function M.check(on_nan, fn, may_stop)
  if on_nan == nil then return "error" end
  check.one_of(on_nan, { "error", "skip", may_stop and "stop" or nil }, "on_nan", fn)
  return on_nan
end

---Raises the error of a NaN or infinite loss, with the step, the rank and the first layer with such a value.
---@param fn string
---@param net actor.nn.Network or another model
---@param loss number
---@param step string "step 3 (epoch 1)"
function M.raise(fn, net, loss, step)
  local node = package.preload["actor.c.node"] and require("actor")
  local rank = node and node.rank and (" on rank %d"):format(node.rank) or ""
  local known = getmetatable(net) == network.Network
  local place = known and "; the first non-finite value is in " .. (net:first_not_finite() or "the loss itself") or ""
  check.fail("%s: the loss is %s in %s%s%s. Lower the learning rate, clip the gradients or inspect the data; "
    .. "on_nan = 'skip' leaves such batches out", fn, tostring(loss), step, rank, place)
end

return M
