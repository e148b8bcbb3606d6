--- Arithmetic: elementwise operations with broadcasting, reductions, products.
local ffi = require("ffi")
local check = require("actor.check")
local enum = require("actor.enum")
local base = require("actor.tensor.base")

local api, methods, Tensor = base.api, base.methods, base.new
local type, tonumber, istype = type, tonumber, ffi.istype
local raise = base.raise
local C = ffi.C
local M = {}

local unary_codes = enum("AH_UNARY", "neg exp log sqrt tanh sigmoid relu abs square sign gelu floor ceil round trunc sin cos "
  .. "tan asin acos atan sinh cosh log1p expm1 log2 log10 reciprocal")
local binary_codes = enum("AH_BINARY",
  "add sub mul div pow relu_grad tanh_grad sigmoid_grad gelu_grad mod floor_div atan2 hypot")
binary_codes.maximum, binary_codes.minimum = C.AH_BINARY_MAX, C.AH_BINARY_MIN
-- Operations with a bool result; they have no in-place form.
local test_codes = {
  isnan = C.AH_UNARY_IS_NAN, isinf = C.AH_UNARY_IS_INF, isfinite = C.AH_UNARY_IS_FINITE, logical_not = C.AH_UNARY_LOGICAL_NOT,
}
local truth_codes = enum("AH_BINARY", "eq ne lt le gt ge logical_and logical_or logical_xor")
local reductions = enum("AH_REDUCTION", "sum mean max min norm prod")

local function unary(code, fn, a, out)
  base.arg(a, "t", fn)
  if out ~= nil then base.arg(out, "out", fn) end
  local result = out or Tensor()
  base.finish(api.unary(code, result, a), fn, a, nil, result)
  return result
end

-- An operand other than a tensor or a number: a boolean, or a whole number of 64 bits.
local function operand(value, name, fn)
  if type(value) ~= "boolean" and not base.is_wide(value) then check.wrong(name, fn, "a tensor or number", value) end
  return base.scalar(value, base.type_of(value), fn)
end

local function binary(code, fn, a, b, out)
  if out ~= nil then base.arg(out, "out", fn) end
  local result = out or Tensor()
  local status
  if type(b) == "number" then
    base.arg(a, "a", fn)
    status = api.binary_scalar(code, result, a, b, 0)
  elseif type(a) == "number" then
    base.arg(b, "b", fn)
    status = api.binary_scalar(code, result, b, a, 1)
  else
    if not istype(Tensor, a) then a = operand(a, "a", fn) end
    if not istype(Tensor, b) then b = operand(b, "b", fn) end
    status = api.binary(code, result, a, b)
  end
  base.finish(status, fn, a, b, result)
  return result
end

for name, code in pairs(unary_codes) do
  local fn, fn_ = "tensor." .. name, "tensor." .. name .. "_"
  methods[name] = function(t, out) return unary(code, fn, t, out) end
  methods[name .. "_"] = function(t) return unary(code, fn_, t, t) end
end

for name, code in pairs(binary_codes) do
  local fn, fn_ = "tensor." .. name, "tensor." .. name .. "_"
  methods[name] = function(a, b, out) return binary(code, fn, a, b, out) end
  methods[name .. "_"] = function(a, b)
    base.arg(a, "t", fn_)
    return binary(code, fn_, a, b, a)
  end
end

for name, code in pairs(test_codes) do
  local fn = "tensor." .. name
  methods[name] = function(t, out) return unary(code, fn, t, out) end
end

for name, code in pairs(truth_codes) do
  local fn = "tensor." .. name
  methods[name] = function(a, b, out) return binary(code, fn, a, b, out) end
end

local power = methods.pow

---Computes a ^ b, element by element; the exponents 2, 0.5 and -1 are computed as square, square root and division.
---```lua
---print(actor.tensor.new({ 1, 2, 3 }):pow(2))  --> tensor([1., 4., 9.], float32)
---print(actor.tensor.new { 1, 2, 3 } ^ 2)  --> tensor([1., 4., 9.], float32)
---```
function methods.pow(a, b, out)
  if b == 2 then return unary(unary_codes.square, "tensor.pow", a, out) end
  if b == 0.5 then return unary(unary_codes.sqrt, "tensor.pow", a, out) end
  if b == -1 then return binary(binary_codes.div, "tensor.pow", 1, a, out) end
  return power(a, b, out)
end

---Adds alpha * x to t in place, with x broadcast to t's shape.
---```lua
---print(actor.tensor.ones(2):axpy_(-0.5, actor.tensor.ones(2)))  --> tensor([0.5, 0.5], float32)
---```
---@param alpha number
---@param x actor.Tensor
---@return actor.Tensor t
function methods.axpy_(t, alpha, x)
  base.arg(t, "t", "tensor.axpy_")
  check.arg(alpha, "number", "alpha", "tensor.axpy_")
  base.arg(x, "x", "tensor.axpy_")
  base.expect(api.axpy(alpha, x, t), "tensor.axpy_", t, x)
  return t
end

---Limits every element to low .. high; either may be nil.
---```lua
---print(actor.tensor.new({ -2, 0.5, 9 }):clamp(0, 1))  --> tensor([0. , 0.5, 1. ], float32)
---```
---@return actor.Tensor
function methods.clamp(t, low, high)
  base.arg(t, "t", "tensor.clamp")
  check.optional(low, "number", "low", "tensor.clamp")
  check.optional(high, "number", "high", "tensor.clamp")
  if low == nil and high == nil then return methods.clone(t) end
  local out = low and binary(binary_codes.maximum, "tensor.clamp", t, low) or nil
  local reuse = out and base.is_float(out.type_) and out or nil
  if high then out = binary(binary_codes.minimum, "tensor.clamp", out or t, high, reuse) end
  return out
end

local needs_elements = { max = true, min = true }

-- A tensor with the dimensions `dims` of t merged into its last dimension; t's shape with these dimensions as 1; t's
-- shape without them. Copies if the dimensions are not adjacent in memory.
local function joined(t, dims, fn)
  local ndim, merged, order = t.ndim_, {}, {}
  for i = 1, #dims do
    local d = base.dim(t, dims[i], fn) + 1
    if merged[d] then check.fail("bad argument 'dim' to %s: dimension %d is named twice", fn, d) end
    merged[d] = true
  end
  local kept, left, size = t.shape, {}, 1
  for d = 1, ndim do
    if not merged[d] then order[#order + 1], left[#left + 1] = d, kept[d] end
  end
  for d = 1, ndim do
    if merged[d] then order[#order + 1], size, kept[d] = d, size * kept[d], 1 end
  end
  local shape = { unpack(left) }
  shape[#shape + 1] = size
  return methods.reshape(methods.permute(t, order), shape), kept, left
end

-- Calls f(u, dim) with the dimensions `dim` (one, several, or all for nil) merged into one, and reshapes its result as
-- `keepdim` requires. Returns a number where `dim` is nil.
function M.over(fn, t, dim, keepdim, f)
  base.arg(t, "t", fn)
  check.optional(keepdim, "boolean", "keepdim", fn)
  if dim == nil then return methods.item(f(methods.flatten(t), 1)) end
  local u, kept, left = joined(t, type(dim) == "table" and base.dims(dim, fn) or { dim }, fn)
  return methods.reshape(f(u, u.ndim_), keepdim and kept or left)
end

local reduce

-- Separate from `reduce`, because LuaJIT would not compile `reduce` with a closure in it.
local function reduce_several(fn, needs, along, t, dims, keepdim)
  return M.over(fn, t, dims, keepdim, function(u, last) return reduce(fn, needs, nil, along, u, last) end)
end

-- The result of reducing one dimension of t with `along(out, t, dimension, keep)`, or all of them with `whole(t)`.
function reduce(fn, needs, whole, along, t, dim, keepdim)
  base.arg(t, "t", fn)
  if dim == nil then
    if needs and t.count_ == 0 then check.fail("bad argument 't' to %s: it has no elements", fn) end
    return whole(t)
  end
  check.optional(keepdim, "boolean", "keepdim", fn)
  if type(dim) == "table" then return reduce_several(fn, needs, along, t, dim, keepdim) end
  local d = base.dim(t, dim, fn)
  if needs and t.extent_[d] == 0 then
    check.fail("bad argument 'dim' to %s: dimension %d of %s is empty", fn, dim, base.shape_text(t))
  end
  local out = Tensor()
  base.finish(along(out, t, d, keepdim and 1 or 0), fn, t)
  return out
end

local function reduction(name)
  local code = reductions[name]
  local fn, needs = "tensor." .. name, needs_elements[name]
  local function along(out, t, d, keep) return api.reduce(code, out, t, d, keep) end
  local function whole(t)
    if base.is_float(t.type_) and code ~= reductions.prod then return api.reduce_all(code, t) end
    if code == reductions.mean then
      if t.type_ == base.dtypes.int64 then return methods.mean(methods.to(t, "float64")) end -- an int64 sum may wrap
      return tonumber(methods.sum(t)) / tonumber(t.count_)
    end
    return methods.item(reduce(fn, false, nil, along, methods.flatten(t), 1))
  end
  return function(t, dim, keepdim) return reduce(fn, needs, whole, along, t, dim, keepdim) end
end

---The sum of the elements along `dim`, one or several dimensions. Without `dim` it is a number, of all elements.
---`keepdim` keeps the dimension, with size 1.
---```lua
---local t = actor.tensor.new { { 1, 2 }, { 3, 4 } }
---print(t:sum(), t:sum(1))  --> 10 tensor([4., 6.], float32)
---print(unpack(t:sum(2, true).shape))  --> 2 1
---```
---@type fun(t: actor.Tensor, dim?: integer|integer[], keepdim?: boolean): actor.Tensor|number
methods.sum = reduction("sum")

---The product of the elements along `dim`; otherwise as `sum`.
---```lua
---print(actor.tensor.new({ 2, 3, 4 }):prod())  --> 24
---```
---@type fun(t: actor.Tensor, dim?: integer|integer[], keepdim?: boolean): actor.Tensor|number
methods.prod = reduction("prod")

---The mean of the elements along `dim`; otherwise as `sum`.
---```lua
---print(actor.tensor.new({ { 1, 2 }, { 3, 4 } }):mean(2))  --> tensor([1.5, 3.5], float32)
---```
---@type fun(t: actor.Tensor, dim?: integer|integer[], keepdim?: boolean): actor.Tensor|number
methods.mean = reduction("mean")

---The greatest element along `dim`; otherwise as `sum`. `argmax` finds its position.
---```lua
---print(actor.tensor.new({ 2, 9, 4 }):max())  --> 9
---```
---@type fun(t: actor.Tensor, dim?: integer|integer[], keepdim?: boolean): actor.Tensor|number
methods.max = reduction("max")

---The smallest element along `dim`; otherwise as `sum`. `argmin` finds its position.
---```lua
---print(actor.tensor.new({ 2, 9, 4 }):min())  --> 2
---```
---@type fun(t: actor.Tensor, dim?: integer|integer[], keepdim?: boolean): actor.Tensor|number
methods.min = reduction("min")

local function test_all(name, code)
  local fn = "tensor." .. name
  local function along(out, t, d, keep) return api.reduce(code, out, t, d, keep) end
  local function whole(t) return methods.item(reduce(fn, false, nil, along, methods.flatten(t), 1)) end
  return function(t, dim, keepdim)
    base.arg(t, "t", fn)
    return reduce(fn, false, whole, along, methods.to(t, "bool"), dim, keepdim)
  end
end

---Whether an element along `dim` is true, or not 0: a tensor of bool. Without `dim` it is a boolean, of all elements.
---```lua
---print(actor.tensor.new({ 0, 3, 0 }):any())  --> true
---```
---@type fun(t: actor.Tensor, dim?: integer|integer[], keepdim?: boolean): actor.Tensor|boolean
methods.any = test_all("any", reductions.max)

---Whether all elements along `dim` are true, or not 0; otherwise as `any`.
---```lua
---print(actor.tensor.new({ 0, 3, 0 }):all())  --> false
---```
---@type fun(t: actor.Tensor, dim?: integer|integer[], keepdim?: boolean): actor.Tensor|boolean
methods.all = test_all("all", reductions.min)

---Counts the true or nonzero elements along `dim`; without `dim`, of all elements.
---```lua
---print(actor.tensor.new({ 0, 3, 4 }):count_nonzero())  --> 2
---```
---@param dim? integer|integer[]
---@param keepdim? boolean
---@return actor.Tensor|number int64
function methods.count_nonzero(t, dim, keepdim)
  base.arg(t, "t", "tensor.count_nonzero")
  return methods.sum(methods.to(t, "bool"), dim, keepdim)
end

local function arg_max(fn, smallest, t, dim, keepdim)
  local function along(out, source, d, keep) return api.arg_max(out, source, d, smallest, keep) end
  local function whole(source) return methods.item(reduce(fn, true, nil, along, methods.flatten(source), 1)) end
  return reduce(fn, true, whole, along, t, dim, keepdim)
end

local norm2 = reduction("norm")

---The p-norm of the elements along `dim`: (sum of |x|^p)^(1/p), by default the square root of the sum of squares. For
---math.huge it is the largest |x|, for 0 the number of nonzero elements, in int64. Without `dim` it is a number, of all
---elements. Norms of whole numbers are computed in float64, with results in float32 tensors.
---```lua
---print(actor.tensor.new({ 3, 4 }):norm())  --> 5
---```
---@param dim? integer|integer[]
---@param keepdim? boolean
---@param p? number
---@return actor.Tensor|number
function methods.norm(t, dim, keepdim, p)
  if p == nil or p == 2 then return norm2(t, dim, keepdim) end
  local fn = "tensor.norm"
  base.arg(t, "t", fn)
  check.number(p, "p", fn, 0)
  if p == 0 then return methods.count_nonzero(t, dim, keepdim) end
  if not base.is_float(t.type_) then
    local norm = methods.norm(methods.to(t, "float64"), dim, keepdim, p)
    return base.is_tensor(norm) and methods.to(norm, "float32") or norm
  end
  local size = methods.abs(t)
  if p == math.huge then return methods.max(size, dim, keepdim) end
  local sum = methods.sum(p == 1 and size or methods.pow(size, p), dim, keepdim)
  return p == 1 and sum or sum ^ (1 / p)
end

---Finds the position (from 1) of the largest element along a dimension, as a tensor of int64. Without `dim` it returns
---the position in the flattened tensor, as a number. The first of equal elements counts; a NaN counts as largest.
---```lua
---print(actor.tensor.new({ 1, 9, 3 }):argmax())  --> 2
---```
---@param dim? integer
---@param keepdim? boolean
---@return actor.Tensor|number
function methods.argmax(t, dim, keepdim) return arg_max("tensor.argmax", 0, t, dim, keepdim) end

---Finds the position of the smallest element; otherwise as `argmax`.
---```lua
---print(actor.tensor.new({ { 4, 2 }, { 1, 7 } }):argmin(2))  --> tensor([2, 1], int64)
---```
---@return actor.Tensor|number
function methods.argmin(t, dim, keepdim) return arg_max("tensor.argmin", 1, t, dim, keepdim) end

-- The shapes of a product's operands, for an error.
local function product_text(a, b, options)
  local function text(t, turned) return base.shape_text(t) .. (turned and " transposed" or "") end
  return text(a, options.ta) .. " and " .. text(b, options.tb)
end

local no_options = {}
local matmul_options = { ta = "boolean?", tb = "boolean?", out = "cdata?", alpha = "number?", accumulate = "boolean?" }

---Multiplies matrices. A vector counts as a row on the left and as a column on the right; the result lacks that
---dimension. Dimensions before the last two are a batch of matrices, broadcast to the other operand's batch by NumPy's
---rules.
---```lua
---local a, b = actor.tensor.new { { 1, 2 }, { 3, 4 } }, actor.tensor.eye(2)
---print(a:matmul(b))
---
---
-----> tensor([[1., 2.],
----->         [3., 4.]], float32)
---```
---@param a actor.Tensor [..., m, k] ([..., k, m] with ta)
---@param b actor.Tensor [..., k, n] ([..., n, k] with tb)
---@param options? {ta?: boolean, tb?: boolean, out?: actor.Tensor, alpha?: number, accumulate?: boolean}
---`ta`, `tb`: use a or b transposed; `out` receives the result, `accumulate` adds it to `out`, `alpha` scales it
---@return actor.Tensor [..., m, n]
function methods.matmul(a, b, options)
  local fn = "tensor.matmul"
  base.arg(a, "a", fn)
  base.arg(b, "b", fn)
  if options == nil then
    options = no_options
  else
    check.options(options, matmul_options, fn)
    if options.out ~= nil then base.arg(options.out, "out", fn) end
  end
  if a.ndim_ == 0 then check.fail("bad argument 'a' to %s: a tensor without dimensions is no matrix", fn) end
  if b.ndim_ == 0 then check.fail("bad argument 'b' to %s: a tensor without dimensions is no matrix", fn) end
  local out = options.out or Tensor()
  if options.accumulate and not options.out then check.fail("bad argument 'accumulate' to %s: there is no 'out' to add to", fn) end
  local status = api.matmul(out, a, b, options.ta and 1 or 0, options.tb and 1 or 0, options.alpha or 1,
    options.accumulate and 1 or 0)
  if status == C.AH_TENSOR_SHAPE then
    check.fail("bad argument to %s: shapes %s do not fit (columns of the first have to be rows of the second, and "
      .. "batches equal or 1)", fn, product_text(a, b, options))
  end
  base.finish(status, fn, a, b, out)
  return out
end

local same_shape = base.same_shape

---Computes the sum of the products of all elements of two tensors of equal shape.
---```lua
---print(actor.tensor.new({ 1, 2 }):dot(actor.tensor.new { 3, 4 }))  --> 11
---```
---@param b actor.Tensor
---@return number
function methods.dot(a, b)
  local fn = "tensor.dot"
  base.arg(a, "a", fn)
  base.arg(b, "b", fn)
  if not same_shape(a, b) then raise(fn, C.AH_TENSOR_SHAPE, a, b) end
  if a.type_ ~= b.type_ then raise(fn, C.AH_TENSOR_DTYPE, a, b) end
  if not base.is_float(a.type_) then
    check.fail("bad argument to %s: it does not take a tensor of %s; a:to('int64'):mul(b):sum() is exact for whole "
      .. "numbers", fn, a.dtype)
  end
  local n = tonumber(a.count_)
  return methods.item(methods.matmul(methods.reshape(a, n), methods.reshape(b, n)))
end

---Computes exp(x) / (sum of exp(x) along the last dimension), without overflow for finite x.
---```lua
---print(actor.tensor.zeros({ 1, 4 }):softmax())  --> tensor([[0.25, 0.25, 0.25, 0.25]], float32)
---```
---@param out? actor.Tensor
---@return actor.Tensor
function methods.softmax(t, out)
  base.arg(t, "t", "tensor.softmax")
  if out ~= nil then base.arg(out, "out", "tensor.softmax") end
  local result = out or Tensor()
  base.finish(api.softmax(result, t), "tensor.softmax", t, nil, result)
  return result
end

---Returns whether all elements are finite.
---```lua
---print(actor.tensor.new({ 1, math.huge }):is_finite())  --> false
---```
---@return boolean
function methods.is_finite(t)
  base.arg(t, "t", "tensor.is_finite")
  return api.is_finite(t) ~= 0
end

---Returns whether shapes, element types and all elements are equal (NaN is not equal to NaN).
---```lua
---local zeros = actor.tensor.zeros(2)
---print(zeros:equal(zeros:clone()), zeros:equal(actor.tensor.zeros(3)))  --> true false
---```
---@param b actor.Tensor
---@return boolean
function methods.equal(a, b)
  base.arg(a, "a", "tensor.equal")
  base.arg(b, "b", "tensor.equal")
  return a.type_ == b.type_ and same_shape(a, b) and api.all_close(a, b, 0, 0, 0) ~= 0
end

local close_options = { rtol = "number?", atol = "number?", nan = "boolean?" }

---Returns whether shapes are equal and |a - b| <= atol + rtol * |b| for all elements.
---```lua
---print(actor.tensor.ones(2):allclose(actor.tensor.full({ 2 }, 1.000001)))  --> true
---```
---@param b actor.Tensor
---@param options? {rtol?: number, atol?: number, nan?: boolean} default 1e-5 and 1e-8; `nan` makes NaN equal NaN
---@return boolean
function methods.allclose(a, b, options)
  base.arg(a, "a", "tensor.allclose")
  base.arg(b, "b", "tensor.allclose")
  options = check.optional_options(options, close_options, "tensor.allclose")
  return same_shape(a, b)
    and api.all_close(a, b, options.rtol or 1e-5, options.atol or 1e-8, options.nan and 1 or 0) ~= 0
end

return M
