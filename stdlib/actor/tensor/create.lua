--- Makes tensors from shapes, numbers, tables and bytes, and converts tensors to these.
local bit = require("bit")
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")

local api, methods = base.api, base.methods
local type, tonumber = type, tonumber
local M = {}

local dtype_only = { dtype = "string?" }

-- The element type in the options; without options `otherwise`, by default float32.
local function dtype_of(options, fn, otherwise)
  if options == nil then return otherwise or 0 end
  if type(options) == "number" then
    check.fail("bad argument 'options' to %s: expected table, got number; put sizes in a table, {2, 3}", fn)
  elseif type(options) == "string" then
    check.fail("bad argument 'options' to %s: expected table, got string; an element type is {dtype = '%s'}", fn,
      options)
  end
  check.options(options, dtype_only, fn)
  return base.dtype(options.dtype, otherwise or 0, fn)
end

-- The float type in the options of functions that make floats.
local function float_of(options, fn)
  return base.dtype(options.dtype, base.dtypes.float32, fn, true)
end

local function filled(shape, value, dtype, fn)
  local out = base.allocate(base.shape(shape, fn), dtype, fn)
  api.fill(out, value)
  return out
end

---@alias actor.Dtype "float32"|"float64"|"int32"|"int64"|"uint8"|"bool"

---A tensor of zeros; float32 by default, as for all functions that make tensors.
---```lua
---print(actor.tensor.zeros { 2, 3 })
---
---
-----> tensor([[0., 0., 0.],
----->         [0., 0., 0.]], float32)
---```
---@param shape integer|integer[]
---@param options? {dtype?: actor.Dtype}
---@return actor.Tensor
function M.zeros(shape, options)
  return filled(shape, 0, dtype_of(options, "tensor.zeros"), "tensor.zeros")
end

---A tensor of ones.
---```lua
---print(actor.tensor.ones(3, { dtype = "int64" }))  --> tensor([1, 1, 1], int64)
---```
---@param shape integer|integer[]
---@param options? {dtype?: actor.Dtype}
---@return actor.Tensor
function M.ones(shape, options)
  return filled(shape, 1, dtype_of(options, "tensor.ones"), "tensor.ones")
end

---A tensor whose elements all have one value. Without `dtype` a boolean gives bool, 1LL int64, a number float32.
---```lua
---print(actor.tensor.full({ 2 }, 0.5))  --> tensor([0.5, 0.5], float32)
---```
---@param shape integer|integer[]
---@param value number|boolean|ffi.cdata*
---@param options? {dtype?: actor.Dtype}
---@return actor.Tensor
function M.full(shape, value, options)
  local fn = "tensor.full"
  local out = base.allocate(base.shape(shape, fn), dtype_of(options, fn, base.type_of(value)), fn)
  base.fill(out, value, "value", fn)
  return out
end

---A tensor of uninitialised elements, for results that overwrite all of them.
---```lua
---local out = actor.tensor.empty { 2, 2 }
---actor.tensor.add(actor.tensor.ones { 2, 2 }, 1, out)
---print(out:sum())  --> 8
---```
---@param shape integer|integer[]
---@param options? {dtype?: actor.Dtype}
---@return actor.Tensor
function M.empty(shape, options)
  local fn = "tensor.empty"
  return base.allocate(base.shape(shape, fn), dtype_of(options, fn), fn)
end

---A tensor of zeros with the shape and type of `t`.
---```lua
---print(actor.tensor.zeros_like(actor.tensor.ones(2)))  --> tensor([0., 0.], float32)
---```
---@param t actor.Tensor
---@return actor.Tensor
function M.zeros_like(t)
  base.arg(t, "t", "tensor.zeros_like")
  local out = base.allocate_like(t, "tensor.zeros_like")
  api.fill(out, 0)
  return out
end

---The numbers start, start + step, ... below `stop` (above it for a negative step); arange(n) gives 0 .. n-1.
---```lua
---print(actor.tensor.arange(4))  --> tensor([0., 1., 2., 3.], float32)
---print(actor.tensor.arange(1, 2, 0.5))  --> tensor([1. , 1.5], float32)
---```
---@param start number
---@param stop? number
---@param step? number default 1
---@param options? {dtype?: actor.Dtype}
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
  local dtype = dtype_of(options, fn)
  if not base.is_float(dtype) then
    check.integer(step, "step", fn)
    base.element(start, dtype, "start", fn)
    base.element(start + math.max(count - 1, 0) * step, dtype, "stop", fn)
  end
  local out = base.allocate(base.shape({ count }, fn, "stop"), dtype, fn)
  api.arange(out, start, step)
  return out
end

---`count` evenly spaced numbers from `start` to `stop`, both included.
---```lua
---print(actor.tensor.linspace(0, 1, 5))  --> tensor([0.  , 0.25, 0.5 , 0.75, 1.  ], float32)
---```
---@param start number
---@param stop number
---@param count integer
---@param options? {dtype?: "float32"|"float64"}
---@return actor.Tensor
function M.linspace(start, stop, count, options)
  local fn = "tensor.linspace"
  check.number(start, "start", fn)
  check.number(stop, "stop", fn)
  check.integer(count, "count", fn, 0, base.max_count)
  options = check.optional_options(options, dtype_only, fn)
  local out = base.allocate({ count }, float_of(options, fn), fn)
  api.arange(out, start, count > 1 and (stop - start) / (count - 1) or 0)
  if count > 1 then methods.set(out, count, stop) end
  return out
end

---The unit matrix.
---```lua
---print(actor.tensor.eye(2))
---
---
-----> tensor([[1., 0.],
----->         [0., 1.]], float32)
---```
---@param n integer
---@param options? {dtype?: actor.Dtype}
---@return actor.Tensor n x n
function M.eye(n, options)
  local fn = "tensor.eye"
  check.integer(n, "n", fn, 0)
  local dtype = dtype_of(options, fn)
  local out = base.allocate(base.shape({ n, n }, fn, "n"), dtype, fn)
  api.fill(out, 0)
  methods.diag(out):fill_(out.type_ ~= base.dtypes.bool and 1 or true)
  return out
end

-- The shape of nested tables, from their first elements.
local function nested_shape(values)
  local shape = {}
  while type(values) == "table" and #shape <= base.max_dims do  -- a table may be its own first element
    shape[#shape + 1] = #values
    values = values[1]
  end
  return shape
end

-- Writes nested tables to consecutive elements, starting at position `at`.
local function write_nested(elements, dtype, values, shape, depth, at)
  local n = shape[depth]
  if type(values) ~= "table" or #values ~= n then
    check.fail("bad argument 'values' to tensor.new: expected %s at depth %d, got %s",
      n and ("a table of %d"):format(n) or "a number", depth,
      type(values) == "table" and ("a table of %d"):format(#values) or type(values))
  end
  for i = 1, n do
    local value = values[i]
    if depth < #shape then
      at = write_nested(elements, dtype, value, shape, depth + 1, at)
    else
      if type(value) ~= "number" and type(value) ~= "boolean" and not base.is_wide(value) then
        check.fail("bad argument 'values' to tensor.new: expected a number at depth %d, got %s", depth + 1, type(value))
      end
      elements[at] = base.element(value, dtype, "values", "tensor.new")
      at = at + 1
    end
  end
  return at
end

-- The first element of nested tables.
local function first_of(values)
  for _ = 0, base.max_dims do
    if type(values) ~= "table" then break end
    values = values[1]
  end
  return values
end

---A tensor of the elements in nested tables, whose rows must all have equal lengths; a single element gives a tensor
---without dimensions. Without `dtype` booleans give bool, whole numbers of LuaJIT (1LL) int64, numbers float32.
---```lua
---print(actor.tensor { { 1, 2 }, { 3, 4 } })
---print(actor.tensor.new({ 1, 2, 3 }, { dtype = "int32" }).dtype)
---
---
---
-----> tensor([[1., 2.],
----->         [3., 4.]], float32)
-----> int32
---```
---@param values number|boolean|ffi.cdata*|table
---@param options? {dtype?: actor.Dtype}
---@return actor.Tensor
function M.new(values, options)
  local fn = "tensor.new"
  if base.is_tensor(values) then return methods.to(values, base.dtype_names[dtype_of(options, fn)], true) end
  local dtype = dtype_of(options, fn, base.type_of(first_of(values)))
  if type(values) ~= "table" then
    if type(values) ~= "number" and type(values) ~= "boolean" and not base.is_wide(values) then
      check.arg(values, "table", "values", fn)
    end
    return base.scalar(values, dtype, fn)
  end
  local shape = base.shape(nested_shape(values), fn, "values")
  local out = base.allocate(shape, dtype, fn)
  if out.count_ > 0 then write_nested(base.elements(out), dtype, values, shape, 1, 0) end
  return out
end

---A tensor of a copy of raw bytes (row-major, little-endian).
---```lua
---print(actor.tensor.from_bytes("\1\2\3", 3, { dtype = "uint8" }))  --> tensor([1, 2, 3], uint8)
---```
---@param bytes string
---@param shape integer|integer[]
---@param options? {dtype?: actor.Dtype}
---@return actor.Tensor
function M.from_bytes(bytes, shape, options)
  local fn = "tensor.from_bytes"
  check.arg(bytes, "string", "bytes", fn)
  local dtype = dtype_of(options, fn)
  local sizes, count = base.shape(shape, fn)
  local wanted = count * base.sizes[dtype]
  if #bytes ~= wanted then
    check.fail("bad argument 'bytes' to %s: expected %d bytes for %s %s, got %d", fn, wanted, base.dtype_names[dtype],
      base.list_text(sizes), #bytes)
  end
  local out = base.allocate(sizes, dtype, fn)
  ffi.copy(out.data_, bytes, wanted)
  return out
end

local u8_options = { dtype = "string?", scale = "number?", shift = "number?" }

---A tensor with the elements byte * scale + shift of unsigned bytes, such as an image's bytes.
---```lua
---print(actor.tensor.from_u8("\0\255", 2, { scale = 1 / 255 }))  --> tensor([0., 1.], float32)
---```
---@param bytes string|ffi.cdata* a string, or a pointer to as many bytes as `shape` has elements
---@param shape integer|integer[]
---@param options? {dtype?: "float32"|"float64", scale?: number, shift?: number} default scale 1, shift 0
---@return actor.Tensor
function M.from_u8(bytes, shape, options)
  local fn = "tensor.from_u8"
  options = check.optional_options(options, u8_options, fn)
  local sizes, count = base.shape(shape, fn)
  if type(bytes) == "string" then
    if #bytes ~= count then
      check.fail("bad argument 'bytes' to %s: expected %d bytes for %s, got %d", fn, count, base.list_text(sizes), #bytes)
    end
  elseif type(bytes) ~= "cdata" or not tostring(ffi.typeof(bytes)):find("[*%]]>$") or bytes == nil then
    check.wrong("bytes", fn, "a string or a pointer to bytes", bytes)
  end
  local out = base.allocate(sizes, float_of(options, fn), fn)
  api.from_bytes(out, ffi.cast("const uint8_t*", bytes), options.scale or 1, options.shift or 0)
  return out
end

---Makes a copy in row-major order.
---```lua
---local t = actor.tensor.zeros(2)
---local copy = t:clone()
---copy:fill_(7)
---print(t:sum(), copy:sum())  --> 0 14
---```
---@return actor.Tensor
function methods.clone(t)
  base.arg(t, "t", "tensor.clone")
  local out = base.allocate_like(t, "tensor.clone")
  api.copy(out, t)
  return out
end

---Returns the tensor itself if it is contiguous, else a copy in row-major order.
---```lua
---print(actor.tensor.zeros({ 2, 3 }):transpose():contiguous():is_contiguous())  --> true
---```
---@return actor.Tensor
function methods.contiguous(t)
  base.arg(t, "t", "tensor.contiguous")
  if api.contiguous(t) ~= 0 then return t end
  return methods.clone(t)
end

---Converts to an element type. A tensor of that type is returned itself, unless `copy` is true. Floats are truncated
---for integer types; a number outside the type's range (NaN too) is an error with the number. For bool, nonzero becomes
---true.
---```lua
---print(actor.tensor.new({ 1.9, -1.9 }):to("int32"))  --> tensor([ 1, -1], int32)
---```
---@param dtype actor.Dtype
---@param copy? boolean
---@return actor.Tensor
function methods.to(t, dtype, copy)
  local fn = "tensor.to"
  base.arg(t, "t", fn)
  if dtype == nil then check.wrong("dtype", fn, "a name such as 'float32'", dtype) end
  local code = base.dtype(dtype, base.dtypes.float32, fn)
  if code == t.type_ then return copy and methods.clone(t) or t end
  local out = base.allocate(t.shape, code, fn)
  base.expect(api.copy(out, t), fn, t)
  return out
end

---Writes `source` into t, broadcast to t's shape and converted to its type.
---```lua
---local t = actor.tensor.zeros { 2, 2 }
---t:copy_(actor.tensor.new { 1, 2 })
---print(t)
---
---
-----> tensor([[1., 2.],
----->         [1., 2.]], float32)
---```
---@param source actor.Tensor
---@return actor.Tensor t
function methods.copy_(t, source)
  base.arg(t, "t", "tensor.copy_")
  base.arg(source, "source", "tensor.copy_")
  base.expect(api.copy(t, source), "tensor.copy_", t, source)
  return t
end

---Sets all elements to a value: a boolean in a tensor of bool, else a number.
---```lua
---print(actor.tensor.zeros(3):fill_(5))  --> tensor([5., 5., 5.], float32)
---```
---@param value number|boolean|ffi.cdata*
---@return actor.Tensor t
function methods.fill_(t, value)
  base.arg(t, "t", "tensor.fill_")
  base.fill(t, value, "value", "tensor.fill_")
  return t
end

---Sets all elements to 0, or false.
---```lua
---print(actor.tensor.ones(2):zero_())  --> tensor([0., 0.], float32)
---```
---@return actor.Tensor t
function methods.zero_(t)
  base.arg(t, "t", "tensor.zero_")
  api.fill(t, 0)
  return t
end

---Returns the element of a tensor with one element; raises for any other size. The result is a boolean for bool, an
---int64_t of LuaJIT for an int64 beyond 2^53, else a number.
---```lua
---print(actor.tensor.new({ { 42 } }):item())  --> 42
---```
---@return number|boolean|ffi.cdata*
function methods.item(t)
  base.arg(t, "t", "tensor.item")
  if t.count_ ~= 1 then check.fail("bad argument 't' to tensor.item: expected one element, got shape %s", base.shape_text(t)) end
  return base.load(t, 0)
end

-- The maximum number of tables that `totable` makes for a tensor without elements.
local most_empty = 2 ^ 20

local function nested(t, shape, depth, at)
  if depth > #shape then return base.load(t, at), at + 1 end
  local out = {}
  for i = 1, shape[depth] do out[i], at = nested(t, shape, depth + 1, at) end
  return out, at
end

---Returns the elements, as `item` does, in nested tables; for a tensor without dimensions the element.
---```lua
---print(actor.tensor.new({ { 1, 2 }, { 3, 4 } }):totable()[2][1])  --> 3
---```
---@return table|number|boolean|ffi.cdata*
function methods.totable(t)
  base.arg(t, "t", "tensor.totable")
  local tables, row = 1, 1
  for d = 1, t.count_ == 0 and t.ndim_ or 0 do
    row = row * tonumber(t.extent_[d - 1])
    tables = tables + row
  end
  if tables > most_empty then
    check.fail("bad argument 't' to tensor.totable: shape %s has no elements, but more than 2^20 rows", base.shape_text(t))
  end
  return (nested(methods.contiguous(t), t.shape, 1, 0))
end

---Returns a pointer to the elements (float*, int64_t* and so on) of a contiguous tensor, for FFI code. Elements count
---from 0. The pointer does not keep the tensor alive.
---```lua
---local pointer = actor.tensor.new({ 5, 6 }):data()
---print(pointer[1])  --> 6
---```
---@return ffi.cdata*
function methods.data(t)
  base.arg(t, "t", "tensor.data")
  if api.contiguous(t) == 0 then
    check.fail("bad argument 't' to tensor.data: expected a contiguous tensor (t:contiguous() makes one)")
  end
  return base.elements(t)
end

---Returns the elements as raw bytes in row-major order, little-endian.
---```lua
---print(#actor.tensor.zeros(3):bytes())  --> 12
---```
---@return string
function methods.bytes(t)
  base.arg(t, "t", "tensor.bytes")
  local packed = methods.contiguous(t)
  return ffi.string(packed.data_, tonumber(packed.count_) * base.sizes[packed.type_])
end

---Hashes element type, shape and elements (XXH64): 16 hexadecimal digits.
---```lua
---print(actor.tensor.ones(2):hash() == actor.tensor.full({ 2 }, 1):hash())  --> true
---```
---@return string
function methods.hash(t)
  base.arg(t, "t", "tensor.hash")
  return bit.tohex(api.hash(methods.contiguous(t)), 16)
end

return M
