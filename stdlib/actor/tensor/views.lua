--- Views: tensors that share the elements of another tensor, with another geometry. A write to a view writes both.
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")
local names = require("actor.tensor.names")

local api, methods = base.api, base.methods
local type, tonumber, floor, max = type, tonumber, math.floor, math.max

local extents = ffi.new("int64_t[8]")
local steps = ffi.new("int64_t[8]")

-- Copies the geometry of `t` to the scratch arrays.
local function load(t)
  for d = 0, t.ndim_ - 1 do
    extents[d] = t.extent_[d]
    steps[d] = t.step_[d]
  end
end

-- The view of `t` with the geometry in the scratch arrays.
local function view(t, offset, ndim)
  for d = 0, ndim - 1 do
    if extents[d] == 0 then offset = 0 end
  end
  local out = base.new()
  api.view(out, t, offset, ndim, extents, steps)
  return out
end

-- Removes a dimension from the scratch arrays, which hold `ndim`.
local function drop(d, ndim)
  for i = d, ndim - 2 do
    extents[i] = extents[i + 1]
    steps[i] = steps[i + 1]
  end
end

-- Converts a position, from 1 or negative from the end, to its number from 0.
local function position(i, n, name, fn)
  if type(i) ~= "number" or i ~= floor(i) or i == 0 or i > n or i < -n then
    if n == 0 then check.fail("bad argument '%s' to %s: the dimension is empty", name, fn) end
    check.wrong(name, fn, ("an integer from 1 to %d (or -%d to -1, from the end)"):format(n, n), i)
  end
  return i > 0 and i - 1 or n + i
end

-- Offset of the first element and number of elements of from .. to in steps of `by`, both ends included.
local function range(n, from, to, by, fn)
  from, to, by = from or 1, to or n, by or 1
  check.integer(from, "from", fn, -n, n + 1)
  check.integer(to, "to", fn, -n, n)
  check.integer(by, "step", fn, 1)
  if from < 0 then from = n + from + 1 end
  if to < 0 then to = n + to + 1 end
  if from == 0 then check.wrong("from", fn, "a position from 1, or negative from the end", from) end
  local count = max(0, floor((to - from) / by) + 1)
  return from - 1, count, count > 1 and by or 1  -- an unused step may be too large for the geometry
end

---A view of every `step`-th position from `from` to `to` of a dimension, both included. Negative positions count from
---the end. An empty range (to = from - 1) gives a view with 0 elements there.
---```lua
---print(actor.tensor.arange(6):slice(1, 2, 6, 2))  --> tensor([1., 3., 5.], float32)
---```
---@param dim integer
---@param from? integer default 1
---@param to? integer default the last
---@param step? integer default 1
---@return actor.Tensor view
function methods.slice(t, dim, from, to, step)
  base.arg(t, "t", "tensor.slice")
  local d = base.dim(t, dim, "tensor.slice")
  local first, count, by = range(tonumber(t.extent_[d]), from, to, step, "tensor.slice")
  load(t)
  local offset = first * steps[d]
  extents[d] = count
  steps[d] = steps[d] * by
  return view(t, offset, t.ndim_)
end

---A view of `length` positions of a dimension, starting at `start`.
---```lua
---print(actor.tensor.arange(6):narrow(1, 2, 3))  --> tensor([1., 2., 3.], float32)
---```
---@param dim integer
---@param start integer
---@param length integer
---@return actor.Tensor view
function methods.narrow(t, dim, start, length)
  base.arg(t, "t", "tensor.narrow")
  local d = base.dim(t, dim, "tensor.narrow")
  local n = tonumber(t.extent_[d])
  check.integer(start, "start", "tensor.narrow", 1, n + 1)
  check.integer(length, "length", "tensor.narrow", 0, n - start + 1)
  load(t)
  local offset = (start - 1) * steps[d]
  extents[d] = length
  return view(t, offset, t.ndim_)
end

---A view of position `i` of a dimension, without that dimension.
---```lua
---print(actor.tensor.new({ { 1, 2 }, { 3, 4 } }):select(1, 2))  --> tensor([3., 4.], float32)
---```
---@param dim integer
---@param i integer
---@return actor.Tensor view
function methods.select(t, dim, i)
  base.arg(t, "t", "tensor.select")
  local d = base.dim(t, dim, "tensor.select")
  load(t)
  local offset = position(i, tonumber(extents[d]), "i", "tensor.select") * steps[d]
  drop(d, t.ndim_)
  return view(t, offset, t.ndim_ - 1)
end

-- t[{...}]: one entry for each dimension, from the first. A number selects, a table {from, to, step} slices ({} is
-- all).
local function part(t, entries)
  if #entries > t.ndim_ then
    check.fail("bad index of a tensor: %d entries for shape %s", #entries, base.shape_text(t))
  end
  load(t)
  local offset, ndim, d = 0LL, t.ndim_, 0
  for i = 1, #entries do
    local entry = entries[i]
    local n = tonumber(extents[d])
    if type(entry) == "number" then
      offset = offset + position(entry, n, ("index %d"):format(i), "tensor") * steps[d]
      drop(d, ndim)
      ndim = ndim - 1
    elseif type(entry) == "table" then
      local first, count, by = range(n, entry[1], entry[2], entry[3], "tensor index")
      offset = offset + first * steps[d]
      extents[d] = count
      steps[d] = steps[d] * by
      d = d + 1
    else
      check.wrong(("index %d"):format(i), "tensor", "a number or a table {from, to, step}", entry)
    end
  end
  return view(t, offset, ndim)
end

local function offset_of(t, fn, i, j, ...)
  local ndim = t.ndim_
  if ndim == 2 and i and j then
    return position(i, tonumber(t.extent_[0]), "i", fn) * t.step_[0]
      + position(j, tonumber(t.extent_[1]), "j", fn) * t.step_[1]
  elseif ndim == 1 and i then
    return position(i, tonumber(t.extent_[0]), "i", fn) * t.step_[0]
  end
  local index = { i, j, ... }
  if #index ~= ndim then
    check.fail("bad argument to %s: expected %d positions for shape %s, got %d", fn, ndim, base.shape_text(t), #index)
  end
  local offset = 0LL
  for d = 1, ndim do
    offset = offset + position(index[d], tonumber(t.extent_[d - 1]), ("position %d"):format(d), fn) * t.step_[d - 1]
  end
  return offset
end

---Returns one element: a number, a boolean for bool, an int64_t of LuaJIT for an int64 beyond 2^53.
---```lua
---print(actor.tensor.new({ { 1, 2 }, { 3, 4 } }):get(2, 1))  --> 3
---```
---@param i? integer position in the first dimension, from 1
---@param j? integer and so on, one for each dimension
---@return number|boolean|ffi.cdata*
function methods.get(t, i, j, ...)
  base.arg(t, "t", "tensor.get")
  local offset = offset_of(t, "tensor.get", i, j, ...)
  return base.load(t, offset)
end

---Sets one element: t:set(i, j, value).
---```lua
---local t = actor.tensor.zeros { 2, 2 }
---t:set(2, 1, 7)
---print(t)
---
---
-----> tensor([[0., 0.],
----->         [7., 0.]], float32)
---```
---@param ... number the positions, then the value: a boolean in a tensor of bool, else a number
function methods.set(t, i, j, value, ...)
  base.arg(t, "t", "tensor.set")
  local offset
  if t.ndim_ == 2 then
    offset = offset_of(t, "tensor.set", i, j)
    if select("#", ...) > 0 then check.fail("bad argument to tensor.set: more than 2 positions and a value") end
  elseif t.ndim_ == 1 then
    if value ~= nil then check.fail("bad argument to tensor.set: more than 1 position and a value") end
    offset, value = offset_of(t, "tensor.set", i), j
  else
    local all = { i, j, value, ... }
    value = table.remove(all)
    offset = offset_of(t, "tensor.set", unpack(all))
  end
  base.store(t, offset, value, "value", "tensor.set")
end

---Returns t[key]. A number selects in the first dimension (an element if t has one dimension). A table has an entry for
---each dimension: t[{ {1, 10}, 3 }] is column 3 of the first ten rows. A tensor of bool selects elements, as `masked`.
function methods.at(t, key)
  if type(key) == "number" then
    if t.ndim_ == 0 then check.fail("a tensor without dimensions cannot be indexed") end
    if t.ndim_ == 1 then return methods.get(t, key) end
    load(t)
    local offset = position(key, tonumber(extents[0]), "index", "tensor") * steps[0]
    drop(0, t.ndim_)
    return view(t, offset, t.ndim_ - 1)
  elseif type(key) == "table" then
    return part(t, key)
  elseif type(key) == "cdata" then
    return methods.masked(t, key)
  end
  names.unknown("tensor:", tostring(key), methods)
end

---Does t[key] = value: writes a number (a boolean in a tensor of bool), or a tensor broadcast to fit, to the part
---t[key].
function methods.put(t, key, value)
  if type(key) == "number" and t.ndim_ == 1 then
    return base.store(t, offset_of(t, "tensor", key), value, "value", "tensor")
  elseif type(key) == "cdata" then
    return base.put_masked(t, key, value)
  elseif type(key) ~= "number" and type(key) ~= "table" then
    check.fail("a tensor has no '%s' to set", tostring(key))
  end
  local target = methods.at(t, key)
  if base.is_tensor(value) then
    base.expect(api.copy(target, value), "t[...] = value", target, value)
  else
    base.fill(target, value, "value", "tensor")
  end
end

---Iterates over the first dimension: for i, row in t:iter() do. A row is a view; for a tensor of one dimension, a
---number.
---```lua
---local sum = 0
---for x in actor.tensor.new({ { 1, 2 }, { 3, 4 } }):iter() do sum = sum + x end
---print(sum)  --> 3
---```
---@return fun(t: actor.Tensor, i: integer): integer?, actor.Tensor|number
function methods.iter(t)
  base.arg(t, "t", "tensor.iter")
  if t.ndim_ == 0 then check.fail("a tensor without dimensions cannot be iterated") end
  local n = tonumber(t.extent_[0])
  return function(_, i)
    if i < n then return i + 1, methods.at(t, i + 1) end
  end, t, 0
end

---Returns whether the elements are in row-major order without gaps.
---```lua
---print(actor.tensor.zeros({ 2, 3 }):transpose():is_contiguous())  --> false
---```
---@return boolean
function methods.is_contiguous(t)
  base.arg(t, "t", "tensor.is_contiguous")
  return api.contiguous(t) ~= 0
end

-- The sizes, from one table or from arguments. One size may be -1 and is computed.
local function sizes(t, fn, first, ...)
  local given = type(first) == "table" and first or { first, ... }
  local shape, open, known = {}, nil, 1
  for d = 1, #given do
    shape[d] = given[d]
    if given[d] == -1 and not open then
      open = d
    else
      known = known * (type(given[d]) == "number" and given[d] or 0)
    end
  end
  if open then
    local count = tonumber(t.count_)
    if known == 0 or count % known ~= 0 then
      check.fail("bad argument 'shape' to %s: %s has no room for the %d elements of %s", fn, base.list_text(given), count,
        base.shape_text(t))
    end
    shape[open] = count / known
  end
  local checked, count = base.shape(shape, fn)
  if count ~= tonumber(t.count_) then
    check.fail("bad argument 'shape' to %s: %s does not have the %d elements of %s", fn, base.list_text(checked),
      tonumber(t.count_), base.shape_text(t))
  end
  return checked
end

local function viewed(t, shape)
  local step = 1
  for d = #shape, 1, -1 do
    extents[d - 1] = shape[d]
    steps[d - 1] = step
    step = step * max(shape[d], 1)
  end
  return view(t, 0, #shape)
end

---A view of the same elements in another shape: t:view(2, -1). One size may be -1 and is computed. Raises when the
---tensor is not contiguous.
---```lua
---print(actor.tensor.arange(6):view(2, 3))
---
---
-----> tensor([[0., 1., 2.],
----->         [3., 4., 5.]], float32)
---```
---@param ... integer|integer[] sizes, or one table of sizes
---@return actor.Tensor view
function methods.view(t, ...)
  base.arg(t, "t", "tensor.view")
  local shape = sizes(t, "tensor.view", ...)
  if api.contiguous(t) == 0 then
    check.fail("bad argument 't' to tensor.view: expected a contiguous tensor (t:reshape copies if necessary)")
  end
  return viewed(t, shape)
end

---The same elements in another shape: a view when the tensor is contiguous, else a copy.
---```lua
---print(actor.tensor.arange(6):reshape(-1, 3))
---
---
-----> tensor([[0., 1., 2.],
----->         [3., 4., 5.]], float32)
---```
---@param ... integer|integer[]
---@return actor.Tensor
function methods.reshape(t, ...)
  base.arg(t, "t", "tensor.reshape")
  local shape = sizes(t, "tensor.reshape", ...)
  return viewed(methods.contiguous(t), shape)
end

---All elements in one dimension: a view when the tensor is contiguous, else a copy.
---```lua
---print(actor.tensor.ones({ 2, 2 }):flatten())  --> tensor([1., 1., 1., 1.], float32)
---```
---@return actor.Tensor
function methods.flatten(t) return methods.reshape(t, -1) end

---A view with two dimensions swapped, by default the last two.
---```lua
---print(actor.tensor.new({ { 1, 2 }, { 3, 4 } }):transpose())
---
---
-----> tensor([[1., 3.],
----->         [2., 4.]], float32)
---```
---@param dim1? integer
---@param dim2? integer
---@return actor.Tensor view
function methods.transpose(t, dim1, dim2)
  base.arg(t, "t", "tensor.transpose")
  local i, j = base.dim(t, dim1 or -2, "tensor.transpose"), base.dim(t, dim2 or -1, "tensor.transpose")
  load(t)
  extents[i], extents[j] = extents[j], extents[i]
  steps[i], steps[j] = steps[j], steps[i]
  return view(t, 0, t.ndim_)
end

---A view with the dimensions in another order: t:permute(3, 1, 2) has t's third dimension first.
---```lua
---print(unpack(actor.tensor.zeros({ 2, 3, 4 }):permute(3, 1, 2).shape))  --> 4 2 3
---```
---@param ... integer|integer[] all dimensions, or one table of all dimensions
---@return actor.Tensor view
function methods.permute(t, first, ...)
  local fn = "tensor.permute"
  base.arg(t, "t", fn)
  local order, used = type(first) == "table" and first or { first, ... }, {}
  if #order ~= t.ndim_ then
    check.fail("bad argument to %s: expected %d dimensions for shape %s, got %d", fn, t.ndim_, base.shape_text(t), #order)
  end
  for i = 1, #order do
    local d = base.dim(t, order[i], fn)
    if used[d] then check.fail("bad argument to %s: dimension %d is named twice", fn, d + 1) end
    used[d] = true
    extents[i - 1], steps[i - 1] = t.extent_[d], t.step_[d]
  end
  return view(t, 0, #order)
end

---A view broadcast to a shape by NumPy's rules: where t has size 1, or no dimension, all positions are one element. To
---write, write into a copy, t:broadcast_to(shape):clone().
---```lua
---print(actor.tensor.new({ 1, 2 }):broadcast_to { 2, 2 })
---
---
-----> tensor([[1., 2.],
----->         [1., 2.]], float32)
---```
---@param shape integer|integer[]
---@return actor.Tensor view
function methods.broadcast_to(t, shape)
  local fn = "tensor.broadcast_to"
  base.arg(t, "t", fn)
  shape = base.shape(shape, fn)
  local ndim, missing = #shape, #shape - t.ndim_
  for d = 1, ndim do
    local n = d > missing and tonumber(t.extent_[d - missing - 1]) or 1
    if n ~= 1 and n ~= shape[d] or missing < 0 then break end
    extents[d - 1] = shape[d]
    steps[d - 1] = n == 1 and 0 or t.step_[d - missing - 1]
    if d == ndim then return view(t, 0, ndim) end
  end
  if ndim == 0 and missing == 0 then return view(t, 0, 0) end
  check.fail("bad argument 'shape' to %s: %s does not stretch to %s", fn, base.shape_text(t), base.list_text(shape))
end

---For a matrix a view of its diagonal, the elements t[i][i + k]. For a vector a new matrix with the vector as its
---diagonal.
---```lua
---print(actor.tensor.new({ { 1, 2 }, { 3, 4 } }):diag())  --> tensor([1., 4.], float32)
---```
---@param k? integer default 0; above 0 right of the main diagonal, below 0 under the main diagonal
---@return actor.Tensor
function methods.diag(t, k)
  local fn = "tensor.diag"
  base.arg(t, "t", fn)
  k = k or 0
  check.integer(k, "k", fn)
  if t.ndim_ == 1 then
    local n = tonumber(t.extent_[0]) + math.abs(k)
    local out = base.allocate(base.shape({ n, n }, fn, "k"), t.type_, fn)
    api.fill(out, 0)
    methods.copy_(methods.diag(out, k), t)
    return out
  end
  if t.ndim_ ~= 2 then check.fail("bad argument 't' to %s: expected 1 or 2 dimensions, got %s", fn, base.shape_text(t)) end
  local rows, columns = tonumber(t.extent_[0]), tonumber(t.extent_[1])
  extents[0] = max(0, math.min(rows + math.min(k, 0), columns - max(k, 0)))
  k = max(-rows, math.min(k, columns))
  steps[0] = t.step_[0] + t.step_[1]
  return view(t, k >= 0 and k * t.step_[1] or -k * t.step_[0], 1)
end

---A view with a new dimension of size 1 before `dim` (at the end: ndim + 1 or -1).
---```lua
---print(unpack(actor.tensor.zeros(3):unsqueeze(1).shape))  --> 1 3
---```
---@param dim integer
---@return actor.Tensor view
function methods.unsqueeze(t, dim)
  base.arg(t, "t", "tensor.unsqueeze")
  local n = t.ndim_
  if n == base.max_dims then check.fail("bad argument 't' to tensor.unsqueeze: it has 8 dimensions already") end
  check.integer(dim, "dim", "tensor.unsqueeze", -n - 1, n + 1)
  if dim == 0 then check.wrong("dim", "tensor.unsqueeze", "an integer other than 0", dim) end
  local d = dim > 0 and dim - 1 or n + 1 + dim
  load(t)
  for i = n, d + 1, -1 do
    extents[i] = extents[i - 1]
    steps[i] = steps[i - 1]
  end
  extents[d], steps[d] = 1, 1
  return view(t, 0, n + 1)
end

---A view without dimension `dim`, whose size must be 1; without `dim`, a view without all dimensions of size 1.
---```lua
---print(unpack(actor.tensor.zeros({ 1, 3 }):squeeze().shape))  --> 3
---```
---@param dim? integer
---@return actor.Tensor view
function methods.squeeze(t, dim)
  base.arg(t, "t", "tensor.squeeze")
  load(t)
  local ndim = t.ndim_
  if dim ~= nil then
    local d = base.dim(t, dim, "tensor.squeeze")
    if extents[d] ~= 1 then
      check.fail("bad argument 'dim' to tensor.squeeze: dimension %d of %s is not 1", dim, base.shape_text(t))
    end
    drop(d, ndim)
    return view(t, 0, ndim - 1)
  end
  for d = ndim - 1, 0, -1 do
    if extents[d] == 1 then
      drop(d, ndim)
      ndim = ndim - 1
    end
  end
  return view(t, 0, ndim)
end

return methods
