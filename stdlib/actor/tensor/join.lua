--- Tensors made from tensors: joined, split, repeated, reversed, shifted, padded, and masked by position.
local check = require("actor.check")
local base = require("actor.tensor.base")

local api, methods = base.api, base.methods
local floor, max, min = math.floor, math.max, math.min
local M = {}

local int64 = { dtype = "int64" }
local create -- actor.tensor.create, which does not require this file

-- The `n` positions first, first + 1, ...
local function positions(first, n)
  create = create or require("actor.tensor.create")
  return create.arange(first, first + n, 1, int64)
end

-- The maximum number of parts of a split: each part is a Lua value.
local most_parts = 2 ^ 20

-- Checks an array of tensors, and returns their common element type.
local function parts_type(parts, fn)
  check.arg(parts, "table", "parts", fn)
  if #parts == 0 then check.fail("bad argument 'parts' to %s: expected at least one tensor", fn) end
  for i = 1, #parts do base.arg(parts[i], ("parts[%d]"):format(i), fn) end
  local widest = parts[1]
  for i = 2, #parts do
    if base.common_type(widest, parts[i], fn) == parts[i].type_ then widest = parts[i] end
  end
  return widest.type_
end

---Joins tensors along a dimension; their other sizes must be equal. Element types are converted as in operations.
---```lua
---print(actor.tensor.concat { actor.tensor.ones(2), actor.tensor.zeros(1) })  --> tensor([1., 1., 0.], float32)
---```
---@param parts actor.Tensor[]
---@param dim? integer default 1
---@return actor.Tensor
function M.concat(parts, dim)
  local fn = "tensor.concat"
  local dtype = parts_type(parts, fn)
  local first, size = parts[1], 0
  local d = base.dim(first, dim or 1, fn)
  for i = 1, #parts do
    local part = parts[i]
    local fits = part.ndim_ == first.ndim_
    for k = 0, first.ndim_ - 1 do fits = fits and (k == d or part.extent_[k] == first.extent_[k]) end
    if not fits then
      check.fail("bad argument 'parts' to %s: shapes %s and %s differ outside dimension %d", fn,
        base.shape_text(first), base.shape_text(part), d + 1)
    end
    size = size + tonumber(part.extent_[d])
  end
  local shape = first.shape
  shape[d + 1] = size
  local out, at = base.allocate(shape, dtype, fn), 1
  for i = 1, #parts do
    local n = tonumber(parts[i].extent_[d])
    methods.copy_(methods.narrow(out, d + 1, at, n), parts[i])
    at = at + n
  end
  return out
end

---Joins tensors of equal shape along a new dimension.
---```lua
---print(actor.tensor.stack { actor.tensor.ones(2), actor.tensor.zeros(2) })
---
---
-----> tensor([[1., 1.],
----->         [0., 0.]], float32)
---```
---@param parts actor.Tensor[]
---@param dim? integer the place of the new dimension, default 1
---@return actor.Tensor
function M.stack(parts, dim)
  local fn = "tensor.stack"
  parts_type(parts, fn)
  local flat = {}
  for i = 1, #parts do
    if not base.same_shape(parts[i], parts[1]) then
      check.fail("bad argument 'parts' to %s: shapes %s and %s differ", fn, base.shape_text(parts[1]),
        base.shape_text(parts[i]))
    end
    flat[i] = methods.unsqueeze(parts[i], dim or 1)
  end
  return M.concat(flat, dim or 1)
end

---Splits a dimension into parts of a size (the last may be smaller), or of the sizes in a table, whose sum is the
---dimension's size. There are at most 2^20 parts.
---```lua
---local parts = actor.tensor.arange(5):split(2)
---print(#parts, parts[3])  --> 3 tensor([4.], float32)
---```
---@param sizes integer|integer[]
---@param dim? integer default 1
---@return actor.Tensor[] views
function methods.split(t, sizes, dim)
  local fn = "tensor.split"
  base.arg(t, "t", fn)
  local d = base.dim(t, dim or 1, fn)
  local n, at, parts = tonumber(t.extent_[d]), 1, {}
  if type(sizes) ~= "table" then
    check.integer(sizes, "sizes", fn, 1)
    if n / sizes > most_parts then
      check.wrong("sizes", fn, ("an integer of at least %d, which gives at most 2^20 parts"):format(n / most_parts + 1), sizes)
    end
    repeat
      parts[#parts + 1] = methods.narrow(t, d + 1, at, min(sizes, n - at + 1))
      at = at + sizes
    until at > n
    return parts
  end
  local sum = 0
  for i = 1, #sizes do
    check.integer(sizes[i], ("sizes[%d]"):format(i), fn, 0)
    sum = sum + sizes[i]
  end
  if sum ~= n then
    check.fail("bad argument 'sizes' to %s: they add up to %.17g, dimension %d of %s has %d", fn, sum, d + 1,
      base.shape_text(t), n)
  end
  for i = 1, #sizes do
    parts[i] = methods.narrow(t, d + 1, at, sizes[i])
    at = at + sizes[i]
  end
  return parts
end

---Splits a dimension into `count` parts whose sizes differ by at most 1, longer parts first.
---```lua
---print(actor.tensor.arange(5):chunk(2)[1])  --> tensor([0., 1., 2.], float32)
---```
---@param count integer at most 2^20
---@param dim? integer default 1
---@return actor.Tensor[] views
function methods.chunk(t, count, dim)
  local fn = "tensor.chunk"
  base.arg(t, "t", fn)
  check.integer(count, "count", fn, 1, most_parts)
  local d = base.dim(t, dim or 1, fn)
  local n, sizes = tonumber(t.extent_[d]), {}
  for i = 1, count do sizes[i] = floor(n / count) + (i <= n % count and 1 or 0) end
  return methods.split(t, sizes, d + 1)
end

---Repeats the whole tensor: counts[d] times in dimension d. More counts than dimensions add dimensions in front; fewer
---counts apply to the last dimensions.
---```lua
---print(actor.tensor.new({ 1, 2 }):tile(2))  --> tensor([1., 2., 1., 2.], float32)
---```
---@param counts integer|integer[]
---@return actor.Tensor a copy
function methods.tile(t, counts)
  local fn = "tensor.tile"
  base.arg(t, "t", fn)
  counts = base.shape(counts, fn, "counts")
  local ndim, shape = max(#counts, t.ndim_), t.shape
  local wide, out, between = {}, {}, {}
  for d = 1, ndim do
    local n, times = shape[d - ndim + #shape] or 1, counts[d - ndim + #counts] or 1
    out[d] = n * times
    if n ~= 1 or times == 1 then between[#between + 1], wide[#wide + 1] = n, n end
    if times ~= 1 then
      local at = n ~= 1 and #between or #between + 1
      table.insert(between, at, 1)
      table.insert(wide, at, times)
    end
  end
  if #wide > base.max_dims then check.fail("bad argument 'counts' to %s: too many dimensions to repeat at once", fn) end
  local result = base.allocate(base.shape(out, fn, "counts"), t.type_, fn)
  methods.copy_(methods.reshape(result, wide), methods.reshape(t, between))
  return result
end

-- Checks that n is a valid size of t's dimension d (from 0).
local function check_repeated(t, d, n, fn)
  local shape = t.shape
  shape[d + 1] = n
  base.shape(shape, fn, "counts")
end

---Repeats each position of a dimension: all positions `counts` times, or position i counts[i] times.
---```lua
---print(actor.tensor.new({ 1, 2 }):repeat_interleave(2))  --> tensor([1., 1., 2., 2.], float32)
---```
---@param counts integer|actor.Tensor
---@param dim? integer default 1
---@return actor.Tensor
function methods.repeat_interleave(t, counts, dim)
  local fn = "tensor.repeat_interleave"
  base.arg(t, "t", fn)
  local d = base.dim(t, dim or 1, fn)
  local n, index = tonumber(t.extent_[d]), nil
  if base.is_tensor(counts) then
    if counts.ndim_ ~= 1 or tonumber(counts.count_) ~= n then
      check.fail("bad argument 'counts' to %s: expected shape (%d), got %s", fn, n, base.shape_text(counts))
    end
    local total, of = 0, methods.totable(counts)
    for i = 1, n do
      check.integer(of[i], ("counts[%d]"):format(i), fn, 0)
      total = total + of[i]
    end
    check_repeated(t, d, total, fn)
    index = methods.searchsorted(methods.cumsum(methods.to(counts, "int64")), positions(1, total))
  else
    check.integer(counts, "counts", fn, 0)
    check_repeated(t, d, n * counts, fn)
    index = methods.floor_div(positions(0, n * counts), max(counts, 1)) + 1
  end
  return methods.take(t, index, d + 1)
end

---Reverses dimensions: the last position becomes the first.
---```lua
---print(actor.tensor.arange(3):flip())  --> tensor([2., 1., 0.], float32)
---```
---@param dim? integer|integer[] default all
---@return actor.Tensor a copy
function methods.flip(t, dim)
  local fn = "tensor.flip"
  base.arg(t, "t", fn)
  local dims = type(dim) == "table" and base.dims(dim, fn) or { dim }
  if dim == nil then
    for d = 1, t.ndim_ do dims[d] = d end
  end
  local out = t
  for i = 1, t.count_ == 0 and 0 or #dims do
    local d = base.dim(t, dims[i], fn)
    local n = tonumber(t.extent_[d])
    out = methods.take(out, n + 1 - positions(1, n), d + 1)
  end
  return rawequal(out, t) and methods.clone(t) or out
end

---Shifts positions by `shift` towards the end; positions shifted past the end wrap to the beginning.
---```lua
---print(actor.tensor.arange(4):roll(1))  --> tensor([3., 0., 1., 2.], float32)
---```
---@param shift integer may be negative
---@param dim? integer without it, the flattened tensor is shifted
---@return actor.Tensor a copy
function methods.roll(t, shift, dim)
  local fn = "tensor.roll"
  base.arg(t, "t", fn)
  check.integer(shift, "shift", fn)
  if dim == nil then return methods.reshape(methods.roll(methods.flatten(t), shift, 1), t.shape) end
  local d = base.dim(t, dim, fn)
  local n = tonumber(t.extent_[d])
  if t.count_ == 0 then return methods.clone(t) end
  return methods.take(t, (positions(0, n) - shift % n) % n + 1, d + 1)
end

local pad_options = { mode = "string?", value = "number|boolean|cdata?" }

-- For a dimension of size n with `before` and `after` positions of padding, the position of t that each position
-- copies.
local function padded_index(before, n, after, mode)
  local at = positions(1 - before, before + n + after)
  if mode == "edge" then return methods.clamp(at, 1, n) end
  local period = max(2 * (n - 1), 1)
  return n - methods.abs((at - 1) % period - (n - 1))
end

---Adds positions before and after each dimension: of one value (`constant`), of the edge element (`edge`), or of the
---elements mirrored at the edge (`reflect`, which does not repeat the edge element).
---```lua
---print(actor.tensor.new({ 1, 2, 3 }):pad({ { 2, 1 } }, { mode = "reflect" }))
-----> tensor([3., 2., 1., 2., 3., 2.], float32)
---
---```
---@param widths integer[][] {before, after} for each dimension
---@param options? {mode?: "constant"|"edge"|"reflect", value?: number|boolean} default constant, 0 or false
---@return actor.Tensor
function methods.pad(t, widths, options)
  local fn = "tensor.pad"
  base.arg(t, "t", fn)
  check.arg(widths, "table", "widths", fn)
  options = check.optional_options(options, pad_options, fn)
  local mode = options.mode or "constant"
  check.one_of(mode, { "constant", "edge", "reflect" }, "mode", fn)
  if #widths ~= t.ndim_ then
    check.fail("bad argument 'widths' to %s: expected %d pairs for shape %s, got %d", fn, t.ndim_, base.shape_text(t),
      #widths)
  end
  local shape = t.shape
  for d = 1, #widths do
    check.arg(widths[d], "table", ("widths[%d]"):format(d), fn)
    check.integer(widths[d][1], ("widths[%d][1]"):format(d), fn, 0)
    check.integer(widths[d][2], ("widths[%d][2]"):format(d), fn, 0)
    if mode ~= "constant" and shape[d] == 0 and widths[d][1] + widths[d][2] > 0 then
      check.fail("bad argument 'widths' to %s: dimension %d of %s is empty, so there is nothing to repeat", fn, d,
        base.shape_text(t))
    end
  end
  local whole = {}
  for d = 1, #widths do whole[d] = widths[d][1] + shape[d] + widths[d][2] end
  base.shape(whole, fn, "widths")
  if mode ~= "constant" then
    local out = t
    for d = 1, #widths do
      local before, after = widths[d][1], widths[d][2]
      if before + after > 0 then out = methods.take(out, padded_index(before, shape[d], after, mode), d) end
    end
    return rawequal(out, t) and methods.clone(t) or out
  end
  local out = base.allocate(whole, t.type_, fn)
  if options.value == nil then api.fill(out, 0) else base.fill(out, options.value, "value", fn) end
  local inner = out
  for d = 1, #widths do inner = methods.narrow(inner, d, widths[d][1] + 1, shape[d]) end
  methods.copy_(inner, t)
  return out
end

---Coordinates of a grid. Returns for each vector a tensor with one dimension for each vector; it varies only along its
---own vector's dimension.
---```lua
---local x, y = unpack(actor.tensor.meshgrid { actor.tensor.arange(3), actor.tensor.arange(2) })
---print(unpack(x.shape))  --> 2 3
---```
---@param vectors actor.Tensor[] of one dimension each
---@param options? {indexing?: "xy"|"ij"} default "xy": the first two dimensions are swapped, as for pictures
---@return actor.Tensor[]
function M.meshgrid(vectors, options)
  local fn = "tensor.meshgrid"
  check.arg(vectors, "table", "vectors", fn)
  options = check.optional_options(options, { indexing = "string?" }, fn)
  check.one_of(options.indexing or "xy", { "xy", "ij" }, "indexing", fn)
  local n, shape = #vectors, {}
  for i = 1, n do
    base.arg(vectors[i], ("vectors[%d]"):format(i), fn)
    if vectors[i].ndim_ ~= 1 then
      check.fail("bad argument 'vectors[%d]' to %s: expected 1 dimension, got %s", i, fn, base.shape_text(vectors[i]))
    end
    shape[i] = tonumber(vectors[i].count_)
  end
  local out = {}
  for i = 1, n do
    local along = {}
    for d = 1, n do along[d] = d == i and shape[i] or 1 end
    local grid = methods.broadcast_to(methods.reshape(vectors[i], along), shape)
    if n > 1 and options.indexing ~= "ij" then grid = methods.transpose(grid, 1, 2) end
    out[i] = methods.clone(grid)
  end
  return out
end

-- For the last two dimensions, of these sizes: whether column - row compares true with k.
local function triangle(rows, columns, k, compare)
  local across = methods.reshape(positions(1, columns), 1, columns)
  return methods[compare](across - methods.reshape(positions(1, rows), rows, 1), k)
end

local function keep_triangle(fn, compare, t, k)
  base.arg(t, "t", fn)
  k = k or 0
  check.integer(k, "k", fn)
  if t.ndim_ < 2 then check.fail("bad argument 't' to %s: expected 2 dimensions or more, got %s", fn, base.shape_text(t)) end
  local rows, columns = tonumber(t.extent_[t.ndim_ - 2]), tonumber(t.extent_[t.ndim_ - 1])
  return methods.where(triangle(rows, columns, k, compare), t, base.scalar(t.type_ ~= base.dtypes.bool and 0, t.type_, fn))
end

---A copy with 0 above the diagonal k of the last two dimensions.
---```lua
---print(actor.tensor.ones({ 2, 2 }):tril())
---
---
-----> tensor([[1., 0.],
----->         [1., 1.]], float32)
---```
---@param k? integer default 0, the main diagonal; above 0 right of the main diagonal
---@return actor.Tensor
function methods.tril(t, k) return keep_triangle("tensor.tril", "le", t, k) end

---A copy with 0 below the diagonal k of the last two dimensions.
---```lua
---print(actor.tensor.ones({ 2, 2 }):triu())
---
---
-----> tensor([[1., 1.],
----->         [0., 1.]], float32)
---```
---@param k? integer default 0, the main diagonal; above 0 right of the main diagonal
---@return actor.Tensor
function methods.triu(t, k) return keep_triangle("tensor.triu", "ge", t, k) end

---A matrix of 1 at and below the diagonal k, 0 elsewhere.
---```lua
---print(actor.tensor.tri(2, 3))
---
---
-----> tensor([[1., 0., 0.],
----->         [1., 1., 0.]], float32)
---```
---@param rows integer
---@param columns? integer default as many as rows
---@param k? integer default 0
---@param options? {dtype?: actor.Dtype}
---@return actor.Tensor
function M.tri(rows, columns, k, options)
  local fn = "tensor.tri"
  check.integer(rows, "rows", fn, 0)
  columns, k, options = columns or rows, k or 0, options or {}
  check.integer(columns, "columns", fn, 0)
  check.integer(k, "k", fn)
  check.options(options, { dtype = "string?" }, fn)
  local dtype = base.dtype(options.dtype, base.dtypes.float32, fn)
  local shape, count = base.shape({ rows, columns }, fn, "rows")
  if count == 0 then return base.allocate(shape, dtype, fn) end
  return methods.to(triangle(rows, columns, k, "le"), base.dtype_names[dtype])
end

---Sums the diagonal of a matrix.
---```lua
---print(actor.tensor.eye(3):trace())  --> 3
---```
---@return number
function methods.trace(t)
  base.arg(t, "t", "tensor.trace")
  if t.ndim_ ~= 2 then check.fail("bad argument 't' to tensor.trace: expected 2 dimensions, got %s", base.shape_text(t)) end
  return methods.sum(methods.diag(t))
end

return M
