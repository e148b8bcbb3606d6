--- Helpers of the passes of all layers: results with reused memory, and errors for statuses of the C side.
local base = require("actor.tensor.base")

local M = {}

---A tensor for the result of a pass: `kept`, the result of the previous pass, if it fits, so that passes over batches
---of one size reuse memory. Its elements are not initialised.
---@param kept actor.Tensor|false (rows, ...) of this layer's shape
---@param rows integer|ffi.cdata*
---@param shape integer[] of one sample
---@param dtype integer
---@return actor.Tensor (rows, ...)
function M.result(kept, rows, shape, dtype)
  if kept and kept.extent_[0] == rows and kept.type_ == dtype then return kept end
  return base.allocate({ tonumber(rows), unpack(shape) }, dtype, "nn")
end

---As `result`, with the shape and type of x.
---@param kept actor.Tensor|false
---@param x actor.Tensor
---@return actor.Tensor
function M.like(kept, x)
  if kept and kept.type_ == x.type_ and base.same_shape(kept, x) then return kept end
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
---@param status integer
---@param fn string
---@param a actor.Tensor
---@param b? actor.Tensor
---@param out? actor.Tensor
function M.done(status, fn, a, b, out)
  if status ~= 0 then base.raise(fn, status, a, b, out) end
end

return M
