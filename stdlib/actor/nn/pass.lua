--- Helpers of the passes of all layers: results with reused memory, and errors for statuses of the C side.
local base = require("actor.tensor.base")

local M = {}

---Sets `layer[name]`, the tensor for the result of a pass, and returns it: the previous one if it fits, so that passes
---over batches of one size reuse memory. Its elements are not initialised.
---@param layer table
---@param name any
---@param rows integer|ffi.cdata*
---@param shape integer[] of one sample
---@param dtype integer
---@return actor.Tensor (rows, ...)
function M.result(layer, name, rows, shape, dtype)
  local previous = layer[name]
  if previous and previous.extent_[0] == rows and previous.type_ == dtype then return previous end
  layer[name] = base.allocate({ tonumber(rows), unpack(shape) }, dtype, "nn")
  return layer[name]
end

---As `result`, with the shape and type of x.
---@param layer table
---@param name any
---@param x actor.Tensor
---@return actor.Tensor
function M.like(layer, name, x)
  local previous = layer[name]
  if previous and previous.type_ == x.type_ and base.same_shape(previous, x) then return previous end
  layer[name] = base.allocate_like(x, "nn")
  return layer[name]
end

---Checks the argument of a layer's pass, a tensor of samples of this shape, and returns it in row-major order.
---@param x any
---@param shape integer[]
---@param name string of the argument
---@param fn string
---@return actor.Tensor
function M.expect(x, shape, name, fn)
  base.arg(x, name, fn)
  local fits = x.ndim_ == #shape + 1
  for d = 1, #shape do fits = fits and x.extent_[d] == shape[d] end
  if fits then return base.api.contiguous(x) ~= 0 and x or x:contiguous() end
  require("actor.check").fail("bad argument '%s' to %s: expected shape (rows, %s), got %s", name, fn,
    table.concat(shape, ", "), base.shape_text(x))
end

---Raises the error of a status other than 0.
M.done = base.expect ---@type fun(status: integer, fn: string, a: actor.Tensor, b?: actor.Tensor, out?: actor.Tensor)

return M
