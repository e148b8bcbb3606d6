--- The tensor as a C value: its metatype, the allocation of results, the errors for statuses of the C side, and garbage
--- collection. The other files of this folder fill `methods`; scripts use "actor.tensor" only.
local ffi = require("ffi")
local check = require("actor.check")
local numbers = require("actor.numbers")
local api = require("actor.ffi")("tensor")
local binding = require("actor.c.tensor")

local M = { api = api }

local context = api.context
local tonumber, type, floor, max = tonumber, type, math.floor, math.max
local istype, C = ffi.istype, ffi.C

---The methods of `t.name`; `properties` below has the rest. A script may receive a tensor (a parameter from another
---node) without having required "actor.tensor", so the first lookup requires it.
local methods = setmetatable({}, {
  __index = function(all, name)
    setmetatable(all, nil)
    require("actor.tensor")
    return all[name]
  end,
})
M.methods = methods

M.max_dims = 8
M.dtypes = {
  float32 = C.AH_DTYPE_F32, float64 = C.AH_DTYPE_F64, int32 = C.AH_DTYPE_I32, int64 = C.AH_DTYPE_I64, uint8 = C.AH_DTYPE_U8,
  bool = C.AH_DTYPE_B8,
}
M.dtype_names = {}
for name, code in pairs(M.dtypes) do M.dtype_names[code] = name end
---Bytes of an element, by the code of its type.
M.sizes = {
  [C.AH_DTYPE_F32] = 4, [C.AH_DTYPE_F64] = 8, [C.AH_DTYPE_I32] = 4, [C.AH_DTYPE_I64] = 8, [C.AH_DTYPE_U8] = 1, [C.AH_DTYPE_B8] = 1,
}
local float32, float64, bool = M.dtypes.float32, M.dtypes.float64, M.dtypes.bool

-- Garbage. LuaJIT's collector sees a tensor as a small value, whatever the size of its block, so blocks are counted
-- here. A full collection runs when the bytes allocated since the previous collection exceed the bytes in use (and this
-- minimum), so waste stays proportional.
local least_garbage = 32 * 2 ^ 20

local function collect()
  collectgarbage()
  context.fresh = 0
  context.limit = max(least_garbage, tonumber(context.live) + collectgarbage("count") * 1024)
end

---Collects garbage when the allocated bytes exceed the limit. Called after every operation that may allocate.
local function settle()
  if context.fresh > context.limit then collect() end
end
M.settle = settle

---Moves the elements of `t` into `target`, of the same shape. `t` is empty afterwards; no other code may use it.
function M.give(target, t)
  local status = api.give(target, t)
  if status ~= 0 then M.raise("tensor.copy_", status, target, t) end
  return target
end

---The shape as text, "(2, 3)".
local function shape_text(t)
  local parts = {}
  for d = 1, t.ndim_ do parts[d] = tostring(tonumber(t.extent_[d - 1])) end
  return "(" .. table.concat(parts, ", ") .. ")"
end
M.shape_text = shape_text

function M.same_shape(a, b)
  if a.ndim_ ~= b.ndim_ then return false end
  for d = 0, a.ndim_ - 1 do
    if a.extent_[d] ~= b.extent_[d] then return false end
  end
  return true
end

---A shape given as a table, as text.
function M.list_text(shape)
  local parts = {}
  for d = 1, #shape do parts[d] = type(shape[d]) == "number" and numbers.text(shape[d]) or tostring(shape[d]) end
  return "(" .. table.concat(parts, ", ") .. ")"
end

-- Properties: t.shape and so on.
local properties = {}

function properties.shape(t)
  local shape = {}
  for d = 1, t.ndim_ do shape[d] = tonumber(t.extent_[d - 1]) end
  return shape
end

function properties.dtype(t) return M.dtype_names[t.type_] end

function properties.ndim(t) return t.ndim_ end

function properties.size(t) return tonumber(t.count_) end

local function no_order()
  check.fail("tensors have no order: compare elements with t:lt(u), t:le(u), t:gt(u) or t:ge(u)")
end

local meta = {
  __gc = api.release,
  __index = function(t, key)
    local method = methods[key]
    if method then return method end
    local property = properties[key]
    if property then return property(t) end
    return methods.at(t, key)
  end,
  __newindex = function(t, key, value) return methods.put(t, key, value) end,
  __len = function(t)
    if t.ndim_ == 0 then check.fail("a tensor without dimensions has no length") end
    return tonumber(t.extent_[0])
  end,
  __add = function(a, b) return methods.add(a, b) end,
  __sub = function(a, b) return methods.sub(a, b) end,
  __mul = function(a, b) return methods.mul(a, b) end,
  __div = function(a, b) return methods.div(a, b) end,
  __pow = function(a, b) return methods.pow(a, b) end,
  __mod = function(a, b) return methods.mod(a, b) end,
  __unm = function(a) return methods.neg(a) end,
  __ipairs = function() check.fail("ipairs takes a table: use for i, row in t:iter() do, or t:totable()") end,
  __lt = no_order,
  __le = no_order,
  __tostring = function(t) return methods.tostring(t) end,
}

local Tensor = ffi.metatype("ah_tensor", meta)

---The type of tensors; a call makes an empty tensor for the C side to fill.
M.new = Tensor

---Returns whether the value is a tensor.
---@param value any
---@return boolean
local function is_tensor(value) return istype(Tensor, value) end
M.is_tensor = is_tensor

local tensor_id = tonumber(Tensor)
local tensor_pointer = ffi.typeof("ah_tensor*")

---Returns whether the value is a tensor itself. A pointer or reference to a tensor and the ctype, which FFI code may
---hold, are no tensors (tonumber of the ctype gives its number).
---@param value any
---@return boolean
function M.is_own(value)
  return istype(Tensor, value) and tonumber(ffi.typeof(value)) == tensor_id and tonumber(value) == nil
end

binding.bind(
  M.is_own,
  function(pointer)
    local t = Tensor()
    api.move(t, ffi.cast(tensor_pointer, pointer))
    settle()
    return t
  end)

---Checks that an argument is a tensor.
function M.arg(value, name, fn)
  if not istype(Tensor, value) then check.wrong(name, fn, "a tensor", value) end
end

---Raises the error for the status of a failed operation.
---@param fn string the operation as the user knows it
---@param status integer
---@param a any first operand
---@param b? any second operand
---@param out? any
function M.raise(fn, status, a, b, out)
  local function text(x)
    return is_tensor(x) and shape_text(x) .. " " .. M.dtype_names[x.type_] or tostring(x)
  end
  if status == C.AH_TENSOR_SHAPE then
    check.fail("bad argument to %s: shapes %s and %s do not fit", fn, shape_text(a), shape_text(b))
  elseif status == C.AH_TENSOR_DTYPE then
    check.fail("bad argument to %s: %s and %s mixed; convert one with t:to(dtype)", fn, M.dtype_names[a.type_],
      M.dtype_names[b.type_])
  elseif status == C.AH_TENSOR_MEMORY then
    local wanted = tonumber(context.wanted)
    if wanted == 0 then check.fail("%s: no memory for a copy of an operand", fn) end
    check.fail("%s: no memory for %.0f bytes", fn, wanted)
  elseif status == C.AH_TENSOR_OUT then
    local operands = b == nil and text(a) or text(a) .. " and " .. text(b)
    check.fail("bad argument %sto %s: a tensor %s cannot take the result for %s", fn:find("_$") and "" or "'out' ", fn,
      text(out), operands)
  elseif status == C.AH_TENSOR_LABEL then
    check.fail("bad argument 'labels' to %s: expected whole numbers from 1 to %d (class d is column d; add 1 to "
      .. "labels that start at 0), got %s at position %d", fn, tonumber(a.extent_[1]), tostring(context.bad_value),
      tonumber(context.bad_row))
  elseif status == C.AH_TENSOR_INDEX then
    check.fail("bad argument 'index' to %s: expected whole numbers from 1 to %d, got %s at position %d", fn,
      tonumber(context.bad_limit), tostring(context.bad_value), tonumber(context.bad_row))
  elseif status == C.AH_TENSOR_KIND then
    check.fail("bad argument to %s: it does not take a tensor of %s; convert it with t:to('float32')", fn,
      M.dtype_names[context.bad_type])
  elseif status == C.AH_TENSOR_RANGE then
    local row, name = tonumber(context.bad_row), M.dtype_names[context.bad_type]
    if row == 0 then
      check.fail("bad argument to %s: %.17g is no %s; convert the tensor with t:to(dtype) first", fn, context.bad_value,
        name)
    end
    check.fail("bad argument to %s: element %d is %.17g, which %s does not hold", fn, row, context.bad_value, name)
  elseif status == C.AH_TENSOR_ZERO then
    check.fail("bad argument to %s: whole numbers cannot be divided by 0: element %d of the divisor is 0", fn,
      tonumber(context.bad_row))
  elseif status == C.AH_TENSOR_POWER then
    check.fail("bad argument to %s: whole numbers have no power below 0: element %d of the exponent is %.17g; "
      .. "convert one with t:to('float32')", fn, tonumber(context.bad_row), context.bad_value)
  elseif status == C.AH_TENSOR_SIZE then
    check.fail("bad argument to %s: the result for %s would have more than 2^48 elements", fn,
      b == nil and text(a) or text(a) .. " and " .. text(b))
  end
  error(fn .. ": unknown status " .. tostring(status))
end

---Raises the error of a failed operation, as `raise` does.
---@param status integer
---@param fn string
function M.expect(status, fn, a, b, out)
  if status ~= 0 then M.raise(fn, status, a, b, out) end
end

---As `expect`, for an operation that may allocate.
function M.finish(status, fn, a, b, out)
  if status ~= 0 then M.raise(fn, status, a, b, out) end
  settle()
end

---Converts a dimension, from 1 or negative from the end, to its number from 0.
---@param t actor.Tensor
---@param dim any
---@param fn string
---@return integer
function M.dim(t, dim, fn)
  local n = t.ndim_
  if type(dim) ~= "number" or dim ~= floor(dim) or dim == 0 or dim > n or dim < -n then
    if n == 0 then check.fail("bad argument 'dim' to %s: a tensor without dimensions has none", fn) end
    check.wrong("dim", fn, ("an integer from 1 to %d (or -%d to -1, from the end)"):format(n, n), dim)
  end
  return dim > 0 and dim - 1 or n + dim
end

---The maximum number of elements of a tensor, and so the maximum size of a dimension: Shape::kMaxElements of
---host/base/tensor.hpp.
M.max_count = 2 ^ 48
local max_count = M.max_count

local function too_many(shape, name, fn)
  check.fail("bad argument '%s' to %s: a tensor of shape %s has more than 2^48 elements", name, fn, M.list_text(shape))
end

---Checks a shape, a whole number (one dimension) or an array of sizes; returns the array and the number of elements.
---Every shape made of a script's numbers is checked here. `name` is the argument with the numbers, by default "shape".
---@param shape any
---@param fn string
---@param name? string
---@return integer[], integer
function M.shape(shape, fn, name)
  if type(shape) == "number" then shape = { shape } end
  name = name or "shape"
  if type(shape) ~= "table" then check.wrong(name, fn, "a table of sizes or one size", shape) end
  if #shape > M.max_dims then check.fail("bad argument '%s' to %s: expected at most 8 dimensions, got %d", name, fn, #shape) end
  local count, room = 1, 1
  for d = 1, #shape do
    local n = shape[d]
    if type(n) ~= "number" or n ~= floor(n) or n < 0 then
      check.wrong(("%s[%d]"):format(name, d), fn, "a whole number of at least 0", n)
    end
    count = count * n
    room = room * max(n, 1)
  end
  if room > max_count then too_many(shape, name, fn) end
  return shape, count
end

local extents = ffi.new("int64_t[8]")

---A tensor of uninitialised elements. `shape` is a checked array.
---@param shape integer[]
---@param dtype integer
---@param fn string
---@return actor.Tensor
function M.allocate(shape, dtype, fn)
  local ndim = #shape
  for d = 1, ndim do extents[d - 1] = shape[d] end
  local t = Tensor()
  local status = api.allocate(context, t, dtype, ndim, extents)
  if status ~= 0 then
    if status == C.AH_TENSOR_SIZE then check.fail("bad argument to %s: a tensor of shape %s has more than 2^48 elements", fn, M.list_text(shape)) end
    check.fail("%s: no memory for %.0f bytes (shape %s, %s)", fn, tonumber(context.wanted), M.list_text(shape),
      M.dtype_names[dtype])
  end
  settle()
  return t
end

---A tensor of uninitialised elements with the shape and type of `t`.
function M.allocate_like(t, fn)
  local out = Tensor()
  local status = api.allocate(context, out, t.type_, t.ndim_, t.extent_)
  if status ~= 0 then M.raise(fn, status) end
  settle()
  return out
end

local all_names = { "float32", "float64", "int32", "int64", "uint8", "bool" }
local float_names = { "float32", "float64" }

---The code of a named element type; `otherwise` for nil. With `floats` integer types are refused.
function M.dtype(name, otherwise, fn, floats)
  if name == nil then return otherwise end
  check.one_of(name, floats and float_names or all_names, "dtype", fn)
  return M.dtypes[name]
end

---Checks a list of dimensions.
---@param dims table
---@param fn string
function M.dims(dims, fn)
  if #dims == 0 and next(dims) ~= nil then
    check.fail("bad argument 'dim' to %s: expected a list of dimensions, {1, 2}, got a table with the key '%s'", fn,
      tostring(next(dims)))
  end
  return dims
end

---Whether the code of an element type is a float type.
function M.is_float(code) return code == float32 or code == float64 end

-- The rank of each type in the order of widening: bool, uint8, int32, int64, floats.
local ranks = {
  [C.AH_DTYPE_F32] = 5, [C.AH_DTYPE_F64] = 5, [C.AH_DTYPE_I32] = 3, [C.AH_DTYPE_I64] = 4, [C.AH_DTYPE_U8] = 2, [C.AH_DTYPE_B8] = 1,
}

---The wider element type of both operands; raises for float32 with float64, as operations do.
---@param a actor.Tensor
---@param b actor.Tensor
---@return integer
function M.common_type(a, b, fn)
  local x, y = a.type_, b.type_
  if x ~= y and M.is_float(x) and M.is_float(y) then M.raise(fn, C.AH_TENSOR_DTYPE, a, b) end
  return ranks[x] >= ranks[y] and x or y
end

-- Elements as Lua values.

local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local exact = 2 ^ 53

---Whether the value is a 64-bit whole number of LuaJIT, such as 1LL.
local function is_wide(value)
  return type(value) == "cdata" and (istype(int64, value) or istype(uint64, value) and value < 2 ^ 63)
end
M.is_wide = is_wide

---A pointer to the first element, of the element's C type.
function M.elements(t)
  local code = t.type_
  if code == 0 then return t.f32_ end
  if code == 1 then return t.f64_ end
  if code == 2 then return t.i32_ end
  if code == 3 then return t.i64_ end
  if code == 4 then return t.u8_ end
  return t.b8_
end

---Converts a 64-bit whole number to a Lua number if the conversion is exact, else returns it unchanged.
local function narrowed(wide)
  if wide <= exact and wide >= -exact then return tonumber(wide) end
  return wide
end
M.narrowed = narrowed

---The element at `offset` from the first: a number, a boolean for bool, an int64_t for an int64 beyond 2^53.
function M.load(t, offset)
  local code = t.type_
  if code == 0 then return t.f32_[offset] end
  if code == 1 then return t.f64_[offset] end
  if code == 2 then return t.i32_[offset] end
  if code == 3 then return narrowed(t.i64_[offset]) end
  if code == 4 then return t.u8_[offset] end
  return t.b8_[offset]
end

local least = { [C.AH_DTYPE_I32] = -2 ^ 31, [C.AH_DTYPE_I64] = -2 ^ 63, [C.AH_DTYPE_U8] = 0 }
local above = { [C.AH_DTYPE_I32] = 2 ^ 31, [C.AH_DTYPE_I64] = 2 ^ 63, [C.AH_DTYPE_U8] = 2 ^ 8 }

---Checks that the element type can hold a Lua value, and returns the value to write.
---@param value any
---@param code integer
---@param name string of the argument
---@param fn string
function M.element(value, code, name, fn)
  if M.is_float(code) then
    if is_wide(value) then return tonumber(value) end
    check.arg(value, "number", name, fn)
    return value
  elseif code == bool then
    check.arg(value, "boolean", name, fn)
    return value
  end
  if is_wide(value) then
    value = int64(value)
    if code == M.dtypes.int64 or value >= least[code] and value < above[code] then return value end
  elseif type(value) == "number" and value == floor(value) and value >= least[code] and value < above[code] then
    return value
  end
  check.wrong(name, fn, ("a whole number that %s holds"):format(M.dtype_names[code]), value)
end

---Writes a Lua value into the element at `offset` from the first.
function M.store(t, offset, value, name, fn)
  local code = t.type_
  if (code == float32 or code == float64) and type(value) == "number" then
    if code == float32 then t.f32_[offset] = value else t.f64_[offset] = value end
    return
  end
  M.elements(t)[offset] = M.element(value, code, name, fn)
end

---The element type of a Lua value without a tensor beside it: bool, int64 for 1LL, else float32.
function M.type_of(value)
  if type(value) == "boolean" then return bool end
  return is_wide(value) and M.dtypes.int64 or float32
end

---A tensor without dimensions.
function M.scalar(value, code, fn)
  local t = M.allocate({}, code, fn)
  M.store(t, 0, value, "value", fn)
  return t
end

---Sets all elements to a Lua value.
function M.fill(t, value, name, fn)
  value = M.element(value, t.type_, name, fn)
  if type(value) == "cdata" then
    api.copy(t, M.scalar(value, t.type_, fn))
  elseif type(value) == "boolean" then
    api.fill(t, value and 1 or 0)
  else
    api.fill(t, value)
  end
end

return M
