--- Elements by their positions and by truth values. Positions count from 1. Arguments are whole numbers in a tensor of
--- any element type but bool (float32 is exact up to 2^24); results are int64.
local check = require("actor.check")
local base = require("actor.tensor.base")

local api, methods, Tensor, C = base.api, base.methods, base.new, require("ffi").C

local function check_positions(index, fn)
  base.arg(index, "index", fn)
  if index.type_ == base.dtypes.bool then
    check.fail("bad argument 'index' to %s: expected positions, got a tensor of bool (t:masked takes a mask)", fn)
  end
end

local function check_index(index, fn)
  check_positions(index, fn)
  if index.ndim_ ~= 1 then
    check.fail("bad argument 'index' to %s: expected 1 dimension, got %s", fn, base.shape_text(index))
  end
  return methods.contiguous(index)
end

local function check_rows(t, name, fn)
  base.arg(t, name, fn)
  if t.ndim_ == 0 then check.fail("bad argument '%s' to %s: a tensor without dimensions has no rows", name, fn) end
end

---Copies the slices at these positions of a dimension, by default rows: NumPy's take along an axis, PyTorch's
---index_select.
---```lua
---print(actor.tensor.new({ 10, 20, 30 }):take(actor.tensor.new { 3, 1, 3 }))  --> tensor([30., 10., 30.], float32)
---```
---@param index actor.Tensor [n], whole numbers from 1 to the size of the dimension
---@param dim? integer default 1
---@return actor.Tensor with n in place of the dimension's size, of t's element type
function methods.take(t, index, dim)
  local fn = "tensor.take"
  check_rows(t, "t", fn)
  local d = base.dim(t, dim or 1, fn)
  index = check_index(index, fn)
  local out = Tensor()
  base.finish(api.take_rows(out, methods.contiguous(t), d, index), fn, t, index)
  return out
end

-- t[index[i]] = rows[i], or += them.
local function to_rows(fn, t, index, rows, put)
  local all = methods.contiguous(t)
  if rows.type_ ~= t.type_ and base.common_type(t, rows, fn) == t.type_ then
    rows = methods.to(rows, base.dtype_names[t.type_])
  end
  base.expect(api.add_rows(all, index, methods.contiguous(rows), put), fn, t, rows)
  if not rawequal(all, t) then methods.copy_(t, all) end
  return t
end

---Adds row i of `rows` to t's row at index[i], for all i, in place. Rows with the same position are summed, so with an
---index of segments t receives the sums over segments.
---```lua
---print(actor.tensor.zeros(2):index_add_(actor.tensor.new { 1, 2, 1 }, actor.tensor.new { 5, 6, 7 }))
-----> tensor([12.,  6.], float32)
---
---```
---@param index actor.Tensor [n], whole numbers from 1 to the number of t's rows
---@param rows actor.Tensor [n, ...] with rows of the shape of t's rows
---@return actor.Tensor t
function methods.index_add_(t, index, rows)
  local fn = "tensor.index_add_"
  check_rows(t, "t", fn)
  check_rows(rows, "rows", fn)
  return to_rows(fn, t, check_index(index, fn), rows, 0)
end

-- t, the dimension from 0, and the index, contiguous.
local function gathered(fn, t, dim, index)
  check_rows(t, "t", fn)
  check_positions(index, fn)
  return base.dim(t, dim, fn), methods.contiguous(index)
end

-- Raises the error for unequal shapes or for another failed status.
local function raise_gathered(fn, status, t, index, dim)
  if status == C.AH_TENSOR_SHAPE then
    check.fail("bad argument 'index' to %s: its shape %s must be the tensor's, %s, except in dimension %d", fn,
      base.shape_text(index), base.shape_text(t), dim)
  end
  base.raise(fn, status, t, index)
end

---Reads for each element of `index` the element of t at that position of dimension `dim`, and at the index's own
---position in the other dimensions: out[i][j] = t[index[i][j]][j] for the first dimension. NumPy's take_along_axis.
---```lua
---local t = actor.tensor.new { { 1, 2 }, { 3, 4 } }
---print(t:gather(2, actor.tensor.new { { 2 }, { 1 } }))
---
---
-----> tensor([[2.],
----->         [3.]], float32)
---```
---@param dim integer
---@param index actor.Tensor of t's shape, except in that dimension
---@return actor.Tensor of the shape of `index` and t's element type
function methods.gather(t, dim, index)
  local fn = "tensor.gather"
  local d, at = gathered(fn, t, dim, index)
  local out = Tensor()
  local status = api.gather(out, t, d, at)
  if status ~= 0 then raise_gathered(fn, status, t, index, dim) end
  base.settle()
  return out
end

local function scatter(fn, t, dim, index, source, add)
  local d, at = gathered(fn, t, dim, index)
  if base.is_tensor(source) then
    if source.type_ ~= t.type_ and base.common_type(t, source, fn) == t.type_ then
      source = methods.to(source, base.dtype_names[t.type_])
    end
    if not base.same_shape(source, index) then
      check.fail("bad argument 'source' to %s: its shape %s is not that of the index, %s", fn, base.shape_text(source),
        base.shape_text(index))
    end
  else
    local value = source
    source = base.allocate(index.shape, t.type_, fn)
    base.fill(source, value, "source", fn)
  end
  local status = api.scatter(t, d, at, source, add)
  if status ~= 0 then raise_gathered(fn, status, t, index, dim) end
  return t
end

---Writes each element of `source` to the position that `gather` would read: t[index[i][j]][j] = source[i][j] for the
---first dimension. The last of several writes to one position wins. NumPy's put_along_axis.
---```lua
---print(actor.tensor.zeros({ 2, 2 }):scatter_(2, actor.tensor.new { { 2 }, { 1 } }, 9))
---
---
-----> tensor([[0., 9.],
----->         [9., 0.]], float32)
---```
---@param dim integer
---@param index actor.Tensor of t's shape, except in that dimension
---@param source actor.Tensor|number|boolean of the shape of `index`, or one value for all
---@return actor.Tensor t
function methods.scatter_(t, dim, index, source)
  return scatter("tensor.scatter_", t, dim, index, source, 0)
end

---Adds instead of writing, otherwise as `scatter_`; several additions to one position are summed.
---```lua
---print(actor.tensor.zeros(3):scatter_add_(1, actor.tensor.new { 1, 1, 3 }, actor.tensor.new { 1, 2, 3 }))
-----> tensor([3., 0., 3.], float32)
---
---```
---@param dim integer
---@param index actor.Tensor of t's shape, except in that dimension
---@param source actor.Tensor|number of the shape of `index`, or one value for all
---@return actor.Tensor t
function methods.scatter_add_(t, dim, index, source)
  return scatter("tensor.scatter_add_", t, dim, index, source, 1)
end

---Finds for each point (row of t) the position of the nearest row of `rows` by Euclidean distance; the first of several
---equally near rows.
---```lua
---print(actor.tensor.new({ { 1, 1 }, { 9, 9 } }):nearest(actor.tensor.new { { 0, 0 }, { 10, 10 } }))
-----> tensor([1, 2], int64)
---
---```
---@param rows actor.Tensor [k, d]
---@return actor.Tensor [n] int64
function methods.nearest(t, rows)
  local fn = "tensor.nearest"
  base.arg(t, "t", fn)
  base.arg(rows, "rows", fn)
  local out = Tensor()
  local status = api.nearest_rows(out, methods.contiguous(t), methods.contiguous(rows))
  if status == C.AH_TENSOR_INDEX then
    check.fail("%s: no row is nearest to point %d: the point or a row is not finite, or there are no rows", fn,
      tonumber(api.context.bad_row))
  end
  base.finish(status, fn, t, rows)
  return out
end

-- Truth values.

-- The positions in row-major order, as if t had one dimension.
local function flat_nonzero(t)
  local out = Tensor()
  base.finish(api.nonzero(out, methods.contiguous(t)), "tensor.nonzero", t)
  return out
end

---Finds the true or nonzero elements: for each a row of its positions, one for each dimension, in row-major order.
---NumPy's argwhere, but from 1.
---```lua
---print(actor.tensor.new({ 0, 5, 0, 7 }):nonzero())
---
---
-----> tensor([[2],
----->         [4]], int64)
---```
---@return actor.Tensor [n, ndim] int64
function methods.nonzero(t)
  local fn = "tensor.nonzero"
  base.arg(t, "t", fn)
  local flat, ndim = flat_nonzero(t), t.ndim_
  local out = base.allocate({ tonumber(flat.count_), ndim }, base.dtypes.int64, fn)
  local left = flat - 1
  for d = ndim, 1, -1 do
    local n = math.max(tonumber(t.extent_[d - 1]), 1)
    methods.copy_(methods.select(out, 2, d), left % n + 1)
    left = methods.floor_div(left, n)
  end
  return out
end

-- Checks that the mask has the shape of t's first dimensions; returns t with these dimensions merged into one.
local function masked_rows(fn, t, mask)
  base.arg(t, "t", fn)
  base.arg(mask, "mask", fn)
  if mask.type_ ~= base.dtypes.bool then
    check.fail("bad argument 'mask' to %s: expected a tensor of bool, as comparisons give, got %s (positions: t:take)",
      fn, base.dtype_names[mask.type_])
  end
  local shape, m = t.shape, mask.ndim_
  local rest = { tonumber(mask.count_) }
  for d = 1, m do
    if shape[d] ~= tonumber(mask.extent_[d - 1]) then
      check.fail("bad argument 'mask' to %s: its shape %s is not that of the tensor's first dimensions, %s", fn,
        base.shape_text(mask), base.shape_text(t))
    end
  end
  for d = m + 1, #shape do rest[#rest + 1] = shape[d] end
  return methods.reshape(t, rest)
end

---Copies the elements where `mask` is true, in row-major order: the same as t[mask]. With a mask of t's first
---dimensions it copies slices. t[mask] = value writes them.
---```lua
---local t = actor.tensor.new { 1, -2, 3 }
---print(t:masked(t:gt(0)))  --> tensor([1., 3.], float32)
---```
---@param mask actor.Tensor bool, of the shape of t or of its first dimensions
---@return actor.Tensor [n, ...]
function methods.masked(t, mask)
  local rows = masked_rows("tensor.masked", t, mask)
  return methods.take(rows, flat_nonzero(mask))
end

---Does t[mask] = value, with one value, or with a tensor that broadcasts to the shape of t[mask].
function base.put_masked(t, mask, value)
  local fn = "tensor"
  local rows = masked_rows(fn, t, mask)
  local index = flat_nonzero(mask)
  local shape = rows.shape
  shape[1] = tonumber(index.count_)
  local source = base.allocate(shape, t.type_, fn)
  if base.is_tensor(value) then
    local status = api.copy(source, value)
    if status == C.AH_TENSOR_SHAPE then
      check.fail("bad argument to t[mask] = value: the mask selects shape %s; a value of shape %s does not fit",
        base.list_text(shape), base.shape_text(value))
    elseif status ~= 0 then
      base.raise("t[mask] = value", status, t, value)
    end
  else
    base.fill(source, value, "value", fn)
  end
  to_rows(fn, rows, index, source, 1)
  if api.contiguous(t) == 0 then methods.copy_(t, methods.reshape(rows, t.shape)) end
end

-- A value for `where` as a tensor: a number takes the element type of `other` if that type holds the number.
local function choice(value, other, name, fn)
  if base.is_tensor(value) then return value end
  local code = base.type_of(value)
  if code == 0 then
    check.arg(value, "number", name, fn)
    local beside = base.is_tensor(other) and other.type_ or 0
    if base.is_float(beside) or beside ~= base.dtypes.bool and value == math.floor(value) then code = beside end
  end
  return base.scalar(value, code, fn)
end

---Selects for each element: a where `cond` is true or nonzero, else b. All three broadcast to one shape.
---```lua
---local t = actor.tensor.new { 1, -2, 3 }
---print(actor.tensor.where(t:gt(0), t, 0))  --> tensor([1., 0., 3.], float32)
---```
---@param cond actor.Tensor
---@param a actor.Tensor|number|boolean
---@param b actor.Tensor|number|boolean
---@param out? actor.Tensor
---@return actor.Tensor
function methods.where(cond, a, b, out)
  local fn = "tensor.where"
  base.arg(cond, "cond", fn)
  if out ~= nil then base.arg(out, "out", fn) end
  local left, right = choice(a, b, "a", fn), choice(b, a, "b", fn)
  local result = out or Tensor()
  local status = api.where(result, cond, left, right)
  if status == C.AH_TENSOR_SHAPE then
    check.fail("bad argument to %s: shapes %s, %s and %s do not fit", fn, base.shape_text(cond), base.shape_text(left),
      base.shape_text(right))
  end
  base.finish(status, fn, left, right, result)
  return result
end

return methods
