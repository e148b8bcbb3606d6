--- Arithmetic: elementwise operations with broadcasting, reductions, products.
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")

local api, methods, Tensor = base.api, base.methods, base.new
local type, istype = type, ffi.istype
local raise, settle = base.raise, base.settle
local M = {}

-- Numbers of the operations, as host/kernel/kernels.hpp and strided.hpp have them.
local unary_codes = {
  neg = 0, exp = 1, log = 2, sqrt = 3, tanh = 4, sigmoid = 5, relu = 6, abs = 7, square = 8, sign = 9,
}
local binary_codes = {
  add = 0, sub = 1, mul = 2, div = 3, maximum = 4, minimum = 5, pow = 6, eq = 7, ne = 8, lt = 9, le = 10, gt = 11,
  ge = 12, relu_grad = 13, tanh_grad = 14,
}
local reductions = { sum = 0, mean = 1, max = 2, min = 3, norm = 4 }

local function unary(code, fn, a, out)
  base.arg(a, "t", fn)
  if out ~= nil then base.arg(out, "out", fn) end
  local result = out or Tensor()
  local status = api.unary(code, result, a)
  if status ~= 0 then raise(fn, status, a, nil, result) end
  settle()
  return result
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
    if not istype(Tensor, a) then check.wrong("a", fn, "a tensor or number", a) end
    if not istype(Tensor, b) then check.wrong("b", fn, "a tensor or number", b) end
    status = api.binary(code, result, a, b)
  end
  if status ~= 0 then raise(fn, status, a, b, result) end
  settle()
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

local power = methods.pow

---Computes a ^ b, element by element; for the exponents 2, 0.5 and -1 as square, square root and division.
function methods.pow(a, b, out)
  if b == 2 then return unary(unary_codes.square, "tensor.pow", a, out) end
  if b == 0.5 then return unary(unary_codes.sqrt, "tensor.pow", a, out) end
  if b == -1 then return binary(binary_codes.div, "tensor.pow", 1, a, out) end
  return power(a, b, out)
end

---Adds alpha * x to t in place, with x stretched to t's shape.
---@param alpha number
---@param x actor.Tensor
---@return actor.Tensor t
function methods.axpy_(t, alpha, x)
  base.arg(t, "t", "tensor.axpy_")
  check.arg(alpha, "number", "alpha", "tensor.axpy_")
  base.arg(x, "x", "tensor.axpy_")
  local status = api.axpy(alpha, x, t)
  if status ~= 0 then raise("tensor.axpy_", status, t, x) end
  return t
end

---Limits every element to low .. high; either may be nil.
---@return actor.Tensor
function methods.clamp(t, low, high)
  base.arg(t, "t", "tensor.clamp")
  check.optional(low, "number", "low", "tensor.clamp")
  check.optional(high, "number", "high", "tensor.clamp")
  if low == nil and high == nil then return methods.clone(t) end
  local out = low and binary(binary_codes.maximum, "tensor.clamp", t, low) or nil
  if high then out = binary(binary_codes.minimum, "tensor.clamp", out or t, high, out) end
  return out
end

local needs_elements = { max = true, min = true }

-- What is left of t when `along(out, t, dimension, keep)` has reduced one dimension, or `whole(t)` all of them.
local function reduce(fn, needs, whole, along, t, dim, keepdim)
  base.arg(t, "t", fn)
  if dim == nil then
    if needs and t.count_ == 0 then check.fail("bad argument 't' to %s: it has no elements", fn) end
    return whole(t)
  end
  check.optional(keepdim, "boolean", "keepdim", fn)
  local d = base.dim(t, dim, fn)
  if needs and t.extent_[d] == 0 then
    check.fail("bad argument 'dim' to %s: dimension %d of %s is empty", fn, dim, base.shape_text(t))
  end
  local out = Tensor()
  local status = along(out, t, d, keepdim and 1 or 0)
  if status ~= 0 then raise(fn, status, t) end
  settle()
  return out
end

for name, code in pairs(reductions) do
  local fn, needs = "tensor." .. name, needs_elements[name]
  local function whole(t) return api.reduce_all(code, t) end
  local function along(out, t, d, keep) return api.reduce(code, out, t, d, keep) end
  methods[name] = function(t, dim, keepdim) return reduce(fn, needs, whole, along, t, dim, keepdim) end
end

local function arg_max(fn, smallest, t, dim, keepdim)
  local function along(out, source, d, keep) return api.arg_max(out, source, d, smallest, keep) end
  local function whole(source) return methods.item(reduce(fn, true, nil, along, methods.flatten(source), 1)) end
  return reduce(fn, true, whole, along, t, dim, keepdim)
end

---Finds the position (from 1) of the largest element along a dimension, as a tensor of t's type; without `dim` the
---position in the flattened tensor, as a number. Of equal elements it is the first; a NaN counts as largest.
---@param dim? integer
---@param keepdim? boolean
---@return actor.Tensor|number
function methods.argmax(t, dim, keepdim)
  return arg_max("tensor.argmax", 0, t, dim, keepdim)
end

---Finds the position of the smallest element, as `argmax` does for the largest.
---@return actor.Tensor|number
function methods.argmin(t, dim, keepdim)
  return arg_max("tensor.argmin", 1, t, dim, keepdim)
end

-- The shapes of a product's operands, for its error.
local function product_text(a, b, options)
  local function text(t, turned)
    return base.shape_text(t) .. (turned and " transposed" or "")
  end
  return text(a, options.ta) .. " and " .. text(b, options.tb)
end

local no_options = {}
local matmul_options = { ta = "boolean?", tb = "boolean?", out = "cdata?", alpha = "number?", accumulate = "boolean?" }

---Multiplies matrices. A vector counts as a row on the left and as a column on the right, and the result lacks its
---dimension. Dimensions before the last two are a batch of matrices, stretched to those of the other operand by NumPy's
---rules.
---@param a actor.Tensor [..., m, k] ([..., k, m] with ta)
---@param b actor.Tensor [..., k, n] ([..., n, k] with tb)
---@param options? {ta?: boolean, tb?: boolean, out?: actor.Tensor, alpha?: number, accumulate?: boolean}
---`ta`, `tb`: take a or b transposed; `out` takes the result, `accumulate` adds it to `out`, `alpha` scales it
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
  if status == 1 then
    check.fail("bad argument to %s: shapes %s do not fit (columns of the first have to be rows of the second, and "
      .. "batches equal or 1)", fn, product_text(a, b, options))
  elseif status ~= 0 then
    raise(fn, status, a, b, out)
  end
  settle()
  return out
end

local same_shape = base.same_shape

---Computes the sum of the products of all elements of two tensors of one shape.
---@param b actor.Tensor
---@return number
function methods.dot(a, b)
  local fn = "tensor.dot"
  base.arg(a, "a", fn)
  base.arg(b, "b", fn)
  if not same_shape(a, b) then raise(fn, 1, a, b) end
  if a.type_ ~= b.type_ then raise(fn, 2, a, b) end
  local n = tonumber(a.count_)
  return methods.item(methods.matmul(methods.reshape(a, n), methods.reshape(b, n)))
end

---Computes exp(x) / (sum of exp(x) along the last dimension), without overflow for any finite x.
---@param out? actor.Tensor
---@return actor.Tensor
function methods.softmax(t, out)
  base.arg(t, "t", "tensor.softmax")
  if out ~= nil then base.arg(out, "out", "tensor.softmax") end
  local result = out or Tensor()
  local status = api.softmax(result, t)
  if status ~= 0 then raise("tensor.softmax", status, t, nil, result) end
  settle()
  return result
end

---Returns whether no element is NaN or infinite.
---@return boolean
function methods.is_finite(t)
  base.arg(t, "t", "tensor.is_finite")
  return api.is_finite(t) ~= 0
end

---Returns whether shapes, element types and all elements are equal (NaN is not equal to NaN).
---@param b actor.Tensor
---@return boolean
function methods.equal(a, b)
  base.arg(a, "a", "tensor.equal")
  base.arg(b, "b", "tensor.equal")
  return a.type_ == b.type_ and same_shape(a, b) and api.all_close(a, b, 0, 0, 0) ~= 0
end

local close_options = { rtol = "number?", atol = "number?", nan = "boolean?" }

---Returns whether shapes are equal and |a - b| <= atol + rtol * |b| for all elements.
---@param b actor.Tensor
---@param options? {rtol?: number, atol?: number, nan?: boolean} default 1e-5 and 1e-8; `nan` makes NaN equal NaN
---@return boolean
function methods.allclose(a, b, options)
  base.arg(a, "a", "tensor.allclose")
  base.arg(b, "b", "tensor.allclose")
  options = options or no_options
  check.options(options, close_options, "tensor.allclose")
  return same_shape(a, b)
    and api.all_close(a, b, options.rtol or 1e-5, options.atol or 1e-8, options.nan and 1 or 0) ~= 0
end

return M
