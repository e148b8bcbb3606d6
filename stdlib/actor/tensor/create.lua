--- Making tensors, and turning them into other things.
local bit = require("bit")
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")

local api, methods = base.api, base.methods
local type, tonumber = type, tonumber
local M = {}

local no_options = {}
local dtype_only = { dtype = "string?" }

-- The element type of the options; float32 when there are none.
local function dtype_of(options, fn)
  if options == nil then return 0 end
  check.options(options, dtype_only, fn)
  return base.dtype(options.dtype, 0, fn)
end

local function filled(shape, value, options, fn)
  local out = base.allocate(base.shape(shape, fn), dtype_of(options, fn), fn)
  api.fill(out, value)
  return out
end

---A tensor of zeros; float32 by default, as for all functions that make tensors.
---@param shape integer|integer[]
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.zeros(shape, options)
  return filled(shape, 0, options, "tensor.zeros")
end

---A tensor of ones.
---@param shape integer|integer[]
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.ones(shape, options)
  return filled(shape, 1, options, "tensor.ones")
end

---A tensor whose elements all have one value.
---@param shape integer|integer[]
---@param value number
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.full(shape, value, options)
  check.arg(value, "number", "value", "tensor.full")
  return filled(shape, value, options, "tensor.full")
end

---A tensor whose elements are not set: for results that are written completely.
---@param shape integer|integer[]
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.empty(shape, options)
  local fn = "tensor.empty"
  return base.allocate(base.shape(shape, fn), dtype_of(options, fn), fn)
end

---A tensor of zeros with the shape and type of another one.
---@param t actor.Tensor
---@return actor.Tensor
function M.zeros_like(t)
  base.arg(t, "t", "tensor.zeros_like")
  local out = base.allocate_like(t, "tensor.zeros_like")
  api.fill(out, 0)
  return out
end

---The numbers start, start + step, ... below `stop` (above it for a negative step); arange(n) gives 0 .. n-1.
---@param start number
---@param stop? number
---@param step? number default 1
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.arange(start, stop, step, options)
  local fn = "tensor.arange"
  if type(stop) == "table" then stop, options = nil, stop end
  if type(step) == "table" then step, options = nil, step end
  if stop == nil then start, stop = 0, start end
  step = step or 1
  check.number(start, "start", fn, -2 ^ 52, 2 ^ 52)
  check.number(stop, "stop", fn, -2 ^ 52, 2 ^ 52)
  check.number(step, "step", fn)
  if step == 0 then check.wrong("step", fn, "a number other than 0", step) end
  local count = math.max(0, math.ceil((stop - start) / step))
  local out = base.allocate(base.shape(count, fn), dtype_of(options, fn), fn)
  api.arange(out, start, step)
  return out
end

---`count` numbers from `start` to `stop`, both included, at equal distances.
---@param start number
---@param stop number
---@param count integer
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.linspace(start, stop, count, options)
  local fn = "tensor.linspace"
  check.number(start, "start", fn)
  check.number(stop, "stop", fn)
  check.integer(count, "count", fn, 1)
  local out = base.allocate({ count }, dtype_of(options, fn), fn)
  api.arange(out, start, count > 1 and (stop - start) / (count - 1) or 0)
  if count > 1 then methods.set(out, count, stop) end
  return out
end

---The unit matrix.
---@param n integer
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor n x n
function M.eye(n, options)
  check.integer(n, "n", "tensor.eye", 0)
  local out = filled({ n, n }, 0, options, "tensor.eye")
  for i = 1, n do methods.set(out, i, i, 1) end
  return out
end

-- The shape of nested tables, by their first elements.
local function nested_shape(values)
  local shape = {}
  while type(values) == "table" do
    shape[#shape + 1] = #values
    values = values[1]
  end
  return shape
end

-- Writes nested tables to consecutive elements from position `at` on.
local function write_nested(elements, values, shape, depth, at)
  local n = shape[depth]
  if type(values) ~= "table" or #values ~= n then
    check.fail("bad argument 'values' to tensor.new: expected %s at depth %d, got %s",
      n and ("a table of %d"):format(n) or "a number", depth,
      type(values) == "table" and ("a table of %d"):format(#values) or type(values))
  end
  for i = 1, n do
    local value = values[i]
    if depth < #shape then
      at = write_nested(elements, value, shape, depth + 1, at)
    else
      if type(value) ~= "number" then
        check.fail("bad argument 'values' to tensor.new: expected a number at depth %d, got %s", depth + 1, type(value))
      end
      elements[at] = value
      at = at + 1
    end
  end
  return at
end

---A tensor of the numbers in nested tables, whose rows all have one length; a number gives a tensor without dimensions.
---@param values number|table
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.new(values, options)
  local fn = "tensor.new"
  local dtype = dtype_of(options, fn)
  if type(values) == "number" then
    local out = base.allocate({}, dtype, fn)
    api.fill(out, values)
    return out
  end
  if base.is_tensor(values) then return methods.to(values, base.dtype_names[dtype], true) end
  check.arg(values, "table", "values", fn)
  local shape = base.shape(nested_shape(values), fn)
  local out = base.allocate(shape, dtype, fn)
  if out.count_ > 0 then write_nested(dtype == 0 and out.f32_ or out.f64_, values, shape, 1, 0) end
  return out
end

---A tensor of a copy of raw bytes (row-major, little-endian).
---@param bytes string
---@param shape integer|integer[]
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.from_bytes(bytes, shape, options)
  local fn = "tensor.from_bytes"
  check.arg(bytes, "string", "bytes", fn)
  local dtype = dtype_of(options, fn)
  local sizes, count = base.shape(shape, fn)
  local wanted = count * (dtype == 0 and 4 or 8)
  if #bytes ~= wanted then
    check.fail("bad argument 'bytes' to %s: expected %d bytes for %s %s, got %d", fn, wanted, base.dtype_names[dtype],
      base.list_text(sizes), #bytes)
  end
  local out = base.allocate(sizes, dtype, fn)
  ffi.copy(out.data_, bytes, wanted)
  return out
end

local u8_options = { dtype = "string?", scale = "number?", shift = "number?" }

---A tensor with the elements byte * scale + shift of unsigned bytes, such as an image's.
---@param bytes string|ffi.cdata* a string, or a pointer to as many bytes as `shape` has elements
---@param shape integer|integer[]
---@param options? {dtype?: "float32"|"float64", scale?: number, shift?: number} default scale 1, shift 0
---@return actor.Tensor
function M.from_u8(bytes, shape, options)
  local fn = "tensor.from_u8"
  options = options or no_options
  check.options(options, u8_options, fn)
  local sizes, count = base.shape(shape, fn)
  if type(bytes) == "string" then
    if #bytes ~= count then
      check.fail("bad argument 'bytes' to %s: expected %d bytes for %s, got %d", fn, count, base.list_text(sizes), #bytes)
    end
  elseif type(bytes) ~= "cdata" then
    check.wrong("bytes", fn, "a string or a pointer to bytes", bytes)
  end
  local out = base.allocate(sizes, base.dtype(options.dtype, 0, fn), fn)
  api.from_bytes(out, ffi.cast("const uint8_t*", bytes), options.scale or 1, options.shift or 0)
  return out
end

---Makes a copy in row-major order.
---@return actor.Tensor
function methods.clone(t)
  base.arg(t, "t", "tensor.clone")
  local out = base.allocate_like(t, "tensor.clone")
  api.copy(out, t)
  return out
end

---Returns the tensor itself when it is contiguous, else a copy in row-major order.
---@return actor.Tensor
function methods.contiguous(t)
  base.arg(t, "t", "tensor.contiguous")
  if api.contiguous(t) ~= 0 then return t end
  return methods.clone(t)
end

---Converts to an element type. A tensor that has the type already is returned itself, unless `copy` is true.
---@param dtype "float32"|"float64"
---@param copy? boolean
---@return actor.Tensor
function methods.to(t, dtype, copy)
  base.arg(t, "t", "tensor.to")
  if dtype == nil then check.wrong("dtype", "tensor.to", "one of 'float32', 'float64'", dtype) end
  local code = base.dtype(dtype, 0, "tensor.to")
  if code == t.type_ then return copy and methods.clone(t) or t end
  local out = base.allocate(t.shape, code, "tensor.to")
  api.copy(out, t)
  return out
end

---Writes `source` into t, stretched to t's shape and converted to its type.
---@param source actor.Tensor
---@return actor.Tensor t
function methods.copy_(t, source)
  base.arg(t, "t", "tensor.copy_")
  base.arg(source, "source", "tensor.copy_")
  local status = api.copy(t, source)
  if status ~= 0 then base.raise("tensor.copy_", status, t, source) end
  return t
end

---Sets all elements to a value.
---@param value number
---@return actor.Tensor t
function methods.fill_(t, value)
  base.arg(t, "t", "tensor.fill_")
  check.arg(value, "number", "value", "tensor.fill_")
  api.fill(t, value)
  return t
end

---Sets all elements to 0.
---@return actor.Tensor t
function methods.zero_(t)
  return methods.fill_(t, 0)
end

---Returns the element of a tensor that has only one; raises when it has more or none.
---@return number
function methods.item(t)
  base.arg(t, "t", "tensor.item")
  if t.count_ ~= 1 then check.fail("bad argument 't' to tensor.item: expected one element, got shape %s", base.shape_text(t)) end
  if t.type_ == 0 then return t.f32_[0] end
  return t.f64_[0]
end

local function nested(elements, shape, depth, at)
  if depth > #shape then return elements[at], at + 1 end
  local out = {}
  for i = 1, shape[depth] do out[i], at = nested(elements, shape, depth + 1, at) end
  return out, at
end

---Returns the elements as nested tables, or a number when there are no dimensions.
---@return table|number
function methods.totable(t)
  base.arg(t, "t", "tensor.totable")
  local packed = methods.contiguous(t)
  return (nested(packed.type_ == 0 and packed.f32_ or packed.f64_, t.shape, 1, 0))
end

---Returns a pointer to the elements (float* or double*) of a contiguous tensor, for FFI code; elements count from 0.
---The pointer does not keep the tensor alive.
---@return ffi.cdata*
function methods.data(t)
  base.arg(t, "t", "tensor.data")
  if api.contiguous(t) == 0 then
    check.fail("bad argument 't' to tensor.data: expected a contiguous tensor (t:contiguous() makes one)")
  end
  if t.type_ == 0 then return t.f32_ end
  return t.f64_
end

---Returns the elements as raw bytes in row-major order, little-endian.
---@return string
function methods.bytes(t)
  base.arg(t, "t", "tensor.bytes")
  local packed = methods.contiguous(t)
  return ffi.string(packed.data_, tonumber(packed.count_) * (packed.type_ == 0 and 4 or 8))
end

---Hashes element type, shape and elements (XXH64): 16 hexadecimal digits.
---@return string
function methods.hash(t)
  base.arg(t, "t", "tensor.hash")
  return bit.tohex(api.hash(methods.contiguous(t)), 16)
end

return M
