--- Rows by their positions. A row is t[i], the part at one position of the first dimension. Positions count from 1 and
--- are whole numbers in a tensor of one dimension, of either element type (float32 holds them up to 2^24).
local check = require("actor.check")
local base = require("actor.tensor.base")

local api, methods, Tensor = base.api, base.methods, base.new

local function check_index(index, fn)
  base.arg(index, "index", fn)
  if index.ndim_ ~= 1 then
    check.fail("bad argument 'index' to %s: expected 1 dimension, got %s", fn, base.shape_text(index))
  end
  return methods.contiguous(index)
end

local function check_rows(t, name, fn)
  base.arg(t, name, fn)
  if t.ndim_ == 0 then check.fail("bad argument '%s' to %s: a tensor without dimensions has no rows", name, fn) end
end

---Copies the rows at these positions: NumPy's take along the first dimension, PyTorch's index_select.
---
---     tensor.new({ 10, 20, 30 }):take(tensor.new { 3, 1, 3 }) -- 30, 10, 30
---@param index actor.Tensor [n], whole numbers from 1 to the number of rows
---@return actor.Tensor [n, ...] of t's element type
function methods.take(t, index)
  local fn = "tensor.take"
  check_rows(t, "t", fn)
  index = check_index(index, fn)
  local out = Tensor()
  local status = api.take_rows(out, methods.contiguous(t), index)
  if status ~= 0 then base.raise(fn, status, t, index) end
  base.settle()
  return out
end

---Adds row i of `rows` to t's row at index[i], for all i, in place. Rows with the same position add up, so with an
---index of segments t gets the sums over segments.
---
---     tensor.zeros(2):index_add_(tensor.new { 1, 2, 1 }, tensor.new { 5, 6, 7 }) -- 12, 6
---@param index actor.Tensor [n], whole numbers from 1 to the number of t's rows
---@param rows actor.Tensor [n, ...] with rows as t has them
---@return actor.Tensor t
function methods.index_add_(t, index, rows)
  local fn = "tensor.index_add_"
  check_rows(t, "t", fn)
  check_rows(rows, "rows", fn)
  index = check_index(index, fn)
  local sums = methods.contiguous(t)
  local status = api.add_rows(sums, index, methods.contiguous(rows))
  if status ~= 0 then base.raise(fn, status, t, rows) end
  if not rawequal(sums, t) then methods.copy_(t, sums) end
  return t
end

---Finds for each point (row of t) the position of the row of `rows` that is nearest by Euclidean distance; of equally
---near ones the first.
---
---     tensor.new({ { 1, 1 }, { 9, 9 } }):nearest(tensor.new { { 0, 0 }, { 10, 10 } }) -- 1, 2
---@param rows actor.Tensor [k, d]
---@return actor.Tensor [n] of t's element type
function methods.nearest(t, rows)
  local fn = "tensor.nearest"
  base.arg(t, "t", fn)
  base.arg(rows, "rows", fn)
  local out = Tensor()
  local status = api.nearest_rows(out, methods.contiguous(t), methods.contiguous(rows))
  if status == 6 then
    check.fail("%s: no row is nearest to point %d: a coordinate of one of them is not finite, or there is no row", fn,
      tonumber(api.context.bad_row))
  end
  if status ~= 0 then base.raise(fn, status, t, rows) end
  base.settle()
  return out
end
