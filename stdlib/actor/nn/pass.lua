--- Helpers of the passes of all layers: results with reused memory, and errors for statuses of the C side.
local base = require("actor.tensor.base")

local M = {}

---A tensor for the result of a pass: `previous`, the result of the previous pass, if it fits, so that passes over batches
---of one size reuse memory. Its elements are not initialised.
---@param previous actor.Tensor|false (rows, ...) of this layer's shape
---@param rows integer|ffi.cdata*
---@param shape integer[] of one sample
---@param dtype integer
---@return actor.Tensor (rows, ...)
function M.result(previous, rows, shape, dtype)
  if previous and previous.extent_[0] == rows and previous.type_ == dtype then return previous end
  return base.allocate({ tonumber(rows), unpack(shape) }, dtype, "nn")
end

---As `result`, with the shape and type of x.
---@param previous actor.Tensor|false
---@param x actor.Tensor
---@return actor.Tensor
function M.like(previous, x)
  if previous and previous.type_ == x.type_ and base.same_shape(previous, x) then return previous end
  return base.allocate_like(x, "nn")
end

---Checks the argument of a layer's pass: a tensor of samples of this shape.
---@param x any
---@param shape integer[]
---@param name string of the argument
---@param fn string
function M.expect(x, shape, name, fn)
  base.arg(x, name, fn)
  local fits = x.ndim_ == #shape + 1
  for d = 1, #shape do fits = fits and x.extent_[d] == shape[d] end
  if fits then return end
  local wanted = {}
  for d = 1, #shape do wanted[d] = tostring(shape[d]) end
  require("actor.check").fail("bad argument '%s' to %s: expected shape (rows, %s), got %s", name, fn,
    table.concat(wanted, ", "), base.shape_text(x))
end

---Raises the error of a status other than 0.
M.done = base.expect ---@type fun(status: integer, fn: string, a: actor.Tensor, b?: actor.Tensor, out?: actor.Tensor)

return M
