--- Products of tensors besides `matmul` and `dot`: einsum, tensordot, inner, outer, kron, cross. All of them are built
--- from views with rearranged dimensions, elementwise products, sums and `matmul`.
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")

local api, methods, C = base.api, base.methods, ffi.C
local M = {}

local extents = ffi.new("int64_t[8]")
local steps = ffi.new("int64_t[8]")

---Raises unless the argument is a tensor of floating-point numbers.
---@param t any
---@param name string
---@param fn string
function M.floating(t, name, fn)
  base.arg(t, name, fn)
  if t.dtype ~= "float32" and t.dtype ~= "float64" then
    check.fail("bad argument '%s' to %s: expected float32 or float64, got %s; convert it with t:to('float64')", name, fn,
      t.dtype)
  end
end

-- Raises unless both operands are tensors of one floating-point type.
function M.pair_of(a, b, fn)
  M.floating(a, "a", fn)
  M.floating(b, "b", fn)
  if a.type_ ~= b.type_ then base.raise(fn, C.AH_TENSOR_DTYPE, a, b) end
end

---Returns a view of t with rearranged dimensions. groups[i] lists the dimensions of t (from 1) for dimension i of the
---view: one dimension; several, for their diagonal; or none, for size 1. Dimensions of t in no group must have size 1.
---@param t actor.Tensor
---@param groups integer[][]
---@return actor.Tensor view
function M.arranged(t, groups)
  for i = 1, #groups do
    local extent, step = 1, 0
    for _, d in ipairs(groups[i]) do
      extent, step = t.extent_[d - 1], step + t.step_[d - 1]
    end
    extents[i - 1], steps[i - 1] = extent, step
  end
  local out = base.new()
  api.view(out, t, 0, #groups, extents, steps)
  return out
end

-- The functions below work on labelled operands: {t = tensor, labels = the label of each dimension}. Several dimensions
-- may have the same label. A dimension with the label `false` has size 1 and is ignored.

-- For each of the labels, the dimensions of x that have it: groups for `arranged`.
local function places(x, labels)
  local groups = {}
  for i, label in ipairs(labels) do
    groups[i] = {}
    for d, other in ipairs(x.labels) do
      if other == label then table.insert(groups[i], d) end
    end
  end
  return groups
end

local function set_of(...)
  local set = {}
  for _, list in ipairs({ ... }) do
    for _, label in ipairs(list) do set[label] = true end
  end
  return set
end

-- x with one dimension for each label, summed over the labels that are not in `needed`.
local function reduced(x, needed)
  local labels, seen = {}, {}
  for _, label in ipairs(x.labels) do
    if label and not seen[label] then
      seen[label] = true
      table.insert(labels, label)
    end
  end
  local t = M.arranged(x.t, places(x, labels))
  for i = #labels, 1, -1 do
    if not needed[labels[i]] then
      t = methods.sum(t, i)
      table.remove(labels, i)
    end
  end
  return { t = t, labels = labels }
end

-- The product of the sizes of x in the dimensions with these labels.
local function count(x, labels)
  local n = 1
  for _, group in ipairs(places(x, labels)) do
    if group[1] then n = n * tonumber(x.t.extent_[group[1] - 1]) end
  end
  return n
end

-- x as a batch of matrices. The dimensions with the labels `batch`, `rows` and `columns` are flattened into one
-- dimension each.
local function as_matrices(x, batch, rows, columns)
  local lists = #batch > 0 and { batch, rows, columns } or { rows, columns }
  local all, sizes, single = {}, {}, true
  for i, list in ipairs(lists) do
    for _, label in ipairs(list) do table.insert(all, label) end
    sizes[i], single = count(x, list), single and #list <= 1
  end
  if not single then return methods.reshape(M.arranged(x.t, places(x, all)), sizes) end
  local groups = {}
  for i, list in ipairs(lists) do groups[i] = places(x, list)[1] or {} end
  return M.arranged(x.t, groups)
end

local function too_many(fn, n)
  check.fail("%s: an intermediate tensor would have %d dimensions; tensors have at most %d", fn, n, base.max_dims)
end

-- The product of two operands, summed over the labels that are not in `needed`.
local function multiplied(fn, x, y, needed)
  x = reduced(x, setmetatable(set_of(y.labels), { __index = needed }))
  y = reduced(y, setmetatable(set_of(x.labels), { __index = needed }))
  local in_x, in_y = set_of(x.labels), set_of(y.labels)
  local batch, summed, left, right = {}, {}, {}, {}
  for _, label in ipairs(x.labels) do
    table.insert(not in_y[label] and left or needed[label] and batch or summed, label)
  end
  for _, label in ipairs(y.labels) do
    if not in_x[label] then table.insert(right, label) end
  end
  local labels, sizes = {}, {}
  for _, list in ipairs({ batch, left, right }) do
    for _, label in ipairs(list) do
      table.insert(labels, label)
      table.insert(sizes, count(in_x[label] and x or y, { label }))
    end
  end
  if #labels > base.max_dims then too_many(fn, #labels) end
  if #summed == 0 then
    return { t = methods.mul(M.arranged(x.t, places(x, labels)), M.arranged(y.t, places(y, labels))), labels = labels }
  end
  local product = methods.matmul(as_matrices(x, batch, left, summed), as_matrices(y, batch, summed, right))
  return { t = methods.reshape(product, sizes), labels = labels }
end

-- Multiplies all operands from left to right and sums over the labels that are not in `output`. Returns a new tensor,
-- with its dimensions in the order of `output`.
local function contracted(fn, operands, output)
  local result = operands[1]
  for i = 2, #operands do
    local needed = set_of(output)
    for k = i + 1, #operands do
      for _, label in ipairs(operands[k].labels) do needed[label] = true end
    end
    result = multiplied(fn, result, operands[i], needed)
  end
  result = reduced(result, set_of(output))
  result = M.arranged(result.t, places(result, output))
  return #operands > 1 and methods.contiguous(result) or methods.clone(result)
end

-- ---- einsum ----

local function fail_subscripts(message, ...)
  check.fail("bad argument 'subscripts' to tensor.einsum: " .. message, ...)
end

-- The labels in the text of an operand or of the result. The label of a dimension is its letter, or, within "...", its
-- number from the end of "...", from 1. dims(number of letters) returns the number of dimensions of "...". Also returns
-- whether the text has "...".
local function labels_of(text, dims)
  local labels = {}
  local from, to = text:find("...", 1, true)
  local named = from and text:sub(1, from - 1) .. text:sub(to + 1) or text
  local wrong = named:match("[^%a]")
  if wrong then fail_subscripts("'%s' in '%s' is no letter", wrong, text) end
  for i = 1, from and from - 1 or #text do table.insert(labels, text:sub(i, i)) end
  if from then
    for d = dims(#named), 1, -1 do table.insert(labels, d) end
    for i = to + 1, #text do table.insert(labels, text:sub(i, i)) end
  end
  return labels, from ~= nil
end

local function operand_of(t, text, place)
  local function fail()
    fail_subscripts("'%s' does not have one letter for each dimension of operand %d, of shape %s", text, place,
      base.shape_text(t))
  end
  local labels, open = labels_of(text, function(named)
    if named > t.ndim_ then fail() end
    return t.ndim_ - named
  end)
  if #labels ~= t.ndim_ then fail() end
  return { t = t, labels = labels, open = open }
end

-- Raises unless each label has the same size in all operands. A dimension of "..." may also have size 1, to broadcast:
-- its label becomes `false`.
local function check_sizes(operands)
  local sizes, where = {}, {}
  for place, x in ipairs(operands) do
    for d, label in ipairs(x.labels) do
      local n = tonumber(x.t.extent_[d - 1])
      local known = sizes[label]
      if known == nil or (type(label) == "number" and known == 1) then
        sizes[label], where[label] = n, place
      elseif known ~= n and not (type(label) == "number" and n == 1) then
        fail_subscripts("'%s' is %d in operand %d, of shape %s, and %d in operand %d, of shape %s",
          type(label) == "number" and "..." or label, known, where[label], base.shape_text(operands[where[label]].t), n,
          place, base.shape_text(x.t))
      end
    end
  end
  for _, x in ipairs(operands) do
    for d, label in ipairs(x.labels) do
      if type(label) == "number" and x.t.extent_[d - 1] ~= sizes[label] then x.labels[d] = false end
    end
  end
end

-- The labels of the result: the labels after "->", or without "->" the dimensions of "..." and the letters that occur
-- once, in alphabetical order.
local function output_of(text, operands)
  local found, widest, open = {}, 0, false
  for _, x in ipairs(operands) do
    open = open or x.open
    for _, label in ipairs(x.labels) do
      if type(label) == "number" then widest = math.max(widest, label) end
      if label then found[label] = (found[label] or 0) + 1 end
    end
  end
  if not text then
    local letters = {}
    for label, times in pairs(found) do
      if times == 1 and type(label) == "string" then table.insert(letters, label) end
    end
    table.sort(letters)
    text = (open and "..." or "") .. table.concat(letters)
  end
  local output, has_open = labels_of(text, function() return widest end)
  if open and not has_open and widest > 0 then
    fail_subscripts("the result '%s' lacks the '...' of an operand", text)
  end
  local seen = {}
  for _, label in ipairs(output) do
    if not found[label] then fail_subscripts("'%s' of the result '%s' is in no operand", label, text) end
    if seen[label] then fail_subscripts("'%s' occurs twice in the result '%s'", label, text) end
    seen[label] = true
  end
  if #output > base.max_dims then too_many("tensor.einsum", #output) end
  return output
end

---Sums products of elements by Einstein's convention. Each dimension of an operand has a letter, and dimensions with
---the same letter have one index. The sum is over the letters that are not in the result. A letter that occurs twice in
---an operand selects its diagonal. "..." denotes dimensions without letters, which broadcast as in other operations.
---Operands are multiplied from left to right.
---```lua
---local a = actor.tensor.new { { 1, 2 }, { 3, 4 } }
---print(actor.tensor.einsum("ij,jk->ik", a, a)) -- the product of two matrices
---print(actor.tensor.einsum("ii", a):item()) -- without "->" the result has the letters that occur once: the trace
---
---
---
-----> tensor([[ 7., 10.],
----->         [15., 22.]], float32)
-----> 5
---```
---@param subscripts string the letters of each operand, separated by ",", then "->" and the letters of the result
---@param ... actor.Tensor operands of one element type
---@return actor.Tensor
function M.einsum(subscripts, ...)
  local fn = "tensor.einsum"
  check.arg(subscripts, "string", "subscripts", fn)
  local text = subscripts:gsub("%s+", "")
  local inputs, output = text:match("^(.-)%->(.*)$")
  inputs = inputs or text
  local tensors, operands = { ... }, {}
  for part in (inputs .. ","):gmatch("(.-),") do
    local place = #operands + 1
    local t = tensors[place]
    if t == nil then fail_subscripts("'%s' has more operands than the %d given", subscripts, select("#", ...)) end
    M.floating(t, ("operand %d"):format(place), fn)
    if t.type_ ~= tensors[1].type_ then base.raise(fn, C.AH_TENSOR_DTYPE, tensors[1], t) end
    operands[place] = operand_of(t, part, place)
  end
  if #operands ~= select("#", ...) then
    fail_subscripts("'%s' has %d operands, %d are given", subscripts, #operands, select("#", ...))
  end
  check_sizes(operands)
  return contracted(fn, operands, output_of(output, operands))
end

-- ---- Other products ----

-- A label for each dimension of t: `first`, `first` + 1, ...
local function numbered(t, first)
  local labels = {}
  for d = 1, t.ndim_ do labels[d] = first + d - 1 end
  return labels
end

-- Checks a list of dimensions, which may count from the end, and returns them from 1.
local function dimensions(t, dims, name, fn)
  check.arg(dims, "table", name, fn)
  local out, seen = {}, {}
  for i, dim in ipairs(dims) do
    out[i] = base.dim(t, dim, fn) + 1
    if seen[out[i]] then check.fail("bad argument '%s' to %s: dimension %d is named twice", name, fn, dim) end
    seen[out[i]] = true
  end
  return out
end

-- Sums the products of a and b over pairs of dimensions: of_a[i] of a and of_b[i] of b.
local function dotted(fn, a, b, of_a, of_b)
  if #of_a ~= #of_b then
    check.fail("bad argument 'dims' to %s: %d dimensions of a and %d of b", fn, #of_a, #of_b)
  end
  local x, y = { t = a, labels = numbered(a, 1) }, { t = b, labels = numbered(b, a.ndim_ + 1) }
  local summed, output = {}, {}
  for i = 1, #of_a do
    local n, m = tonumber(a.extent_[of_a[i] - 1]), tonumber(b.extent_[of_b[i] - 1])
    if n ~= m then
      check.fail("bad argument to %s: dimension %d of %s and dimension %d of %s are summed over together, but are %d and "
        .. "%d", fn, of_a[i], base.shape_text(a), of_b[i], base.shape_text(b), n, m)
    end
    y.labels[of_b[i]] = of_a[i]
    summed[of_a[i]] = true
  end
  for _, labels in ipairs({ x.labels, y.labels }) do
    for _, label in ipairs(labels) do
      if not summed[label] then table.insert(output, label) end
    end
  end
  if #output > base.max_dims then too_many(fn, #output) end
  return contracted(fn, { x, y }, output)
end

---Sums the products of elements over pairs of dimensions, one of a and one of b. The result has the other dimensions of
---a, then the other dimensions of b.
---```lua
---local a = actor.tensor.ones { 2, 3 }
---print(actor.tensor.tensordot(a, actor.tensor.ones { 3, 4 }, 1))
---
---
-----> tensor([[3., 3., 3., 3.],
----->         [3., 3., 3., 3.]], float32)
---```
---@param b actor.Tensor of a's element type
---@param dims? integer|integer[][] the pairs: a number n pairs the last n dimensions of a with the first n of b
---  (default 2); {{1, 3}, {2, 1}} pairs dimension 1 of a with 2 of b, and 3 of a with 1 of b
---@return actor.Tensor
function methods.tensordot(a, b, dims)
  local fn = "tensor.tensordot"
  M.pair_of(a, b, fn)
  if dims == nil then dims = 2 end
  if type(dims) == "table" then
    return dotted(fn, a, b, dimensions(a, dims[1], "dims[1]", fn), dimensions(b, dims[2], "dims[2]", fn))
  end
  check.integer(dims, "dims", fn, 0, math.min(a.ndim_, b.ndim_))
  local of_a, of_b = {}, {}
  for i = 1, dims do of_a[i], of_b[i] = a.ndim_ - dims + i, i end
  return dotted(fn, a, b, of_a, of_b)
end

---Sums the products of elements over the last dimension of both tensors. For vectors the result is their dot product, a
---tensor without dimensions. If one of the tensors has no dimensions, the result is a * b.
---```lua
---print(actor.tensor.inner(actor.tensor.new { 1, 2 }, actor.tensor.new { 3, 4 }):item())  --> 11
---```
---@param b actor.Tensor [..., n] for a [..., n]
---@return actor.Tensor the other dimensions of a, then the other dimensions of b
function methods.inner(a, b)
  local fn = "tensor.inner"
  M.pair_of(a, b, fn)
  if a.ndim_ == 0 or b.ndim_ == 0 then return methods.mul(a, b) end
  return dotted(fn, a, b, { a.ndim_ }, { b.ndim_ })
end

-- Raises unless the operands have element types that can be multiplied.
local function any_pair(a, b, fn)
  base.arg(a, "a", fn)
  base.arg(b, "b", fn)
  base.common_type(a, b, fn)
end

---Multiplies each element of a by each element of b, both flattened. Accepts the same element types as `a * b`.
---```lua
---print(actor.tensor.new({ 1, 2 }):outer(actor.tensor.new { 3, 4 }))
---
---
-----> tensor([[3., 4.],
----->         [6., 8.]], float32)
---```
---@param b actor.Tensor
---@return actor.Tensor [a.size, b.size]
function methods.outer(a, b)
  any_pair(a, b, "tensor.outer")
  return methods.mul(methods.reshape(a, a.size, 1), methods.reshape(b, 1, b.size))
end

---Returns the Kronecker product: a block for each element of a, the element times b. The tensor with fewer dimensions
---gets leading dimensions of size 1. Accepts the same element types as `a * b`.
---```lua
---print(actor.tensor.eye(2):kron(actor.tensor.new { { 1, 2 } }))
---
---
-----> tensor([[1., 2., 0., 0.],
----->         [0., 0., 1., 2.]], float32)
---```
---@param b actor.Tensor
---@return actor.Tensor its size in each dimension is the product of the sizes of a and b
function methods.kron(a, b)
  local fn = "tensor.kron"
  any_pair(a, b, fn)
  local n = math.max(a.ndim_, b.ndim_)
  if 2 * n > base.max_dims then too_many(fn, 2 * n) end
  local of_a, of_b, sizes = {}, {}, {}
  for d = 1, n do
    local da, db = d - n + a.ndim_, d - n + b.ndim_
    of_a[2 * d - 1], of_a[2 * d] = da > 0 and { da } or {}, {}
    of_b[2 * d - 1], of_b[2 * d] = {}, db > 0 and { db } or {}
    sizes[d] = (da > 0 and tonumber(a.extent_[da - 1]) or 1) * (db > 0 and tonumber(b.extent_[db - 1]) or 1)
  end
  return methods.reshape(methods.mul(M.arranged(a, of_a), M.arranged(b, of_b)), sizes)
end

---Returns the cross products of the vectors of size 3 in the last dimension of a and b; the other dimensions broadcast.
---```lua
---print(actor.tensor.new({ 1, 0, 0 }):cross(actor.tensor.new { 0, 1, 0 }))  --> tensor([0., 0., 1.], float32)
---```
---@param b actor.Tensor [..., 3]
---@return actor.Tensor [..., 3]
function methods.cross(a, b)
  local fn = "tensor.cross"
  any_pair(a, b, fn)
  local function part(t, i) return methods.select(t, -1, i) end
  if a.ndim_ == 0 or b.ndim_ == 0 or a.extent_[a.ndim_ - 1] ~= 3 or b.extent_[b.ndim_ - 1] ~= 3 then
    check.fail("bad argument to %s: expected 3 in the last dimension of both, got shapes %s and %s", fn,
      base.shape_text(a), base.shape_text(b))
  end
  local out
  for i = 1, 3 do
    local j, k = i % 3 + 1, (i + 1) % 3 + 1
    local value = methods.sub(methods.mul(part(a, j), part(b, k)), methods.mul(part(a, k), part(b, j)))
    if not out then
      local shape = value.shape
      table.insert(shape, 3)
      out = base.allocate(shape, value.type_, fn)
    end
    methods.copy_(part(out, i), value)
  end
  return out
end

return M
