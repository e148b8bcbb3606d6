--- Constructors and methods of tensors with extreme arguments: each call returns a tensor with its memory, or raises an
--- error at the caller's line, within seconds. The spec calls every function of the module, so new functions are
--- included. ACTORHOST_FUZZ_CALLS=1000000 makes more calls. ACTORHOST_FUZZ_TRACE=FILE writes the newest call to a file,
--- to find a call that never returns.
local ffi = require("ffi")
local tensor = require("actor.tensor")

local calls = tonumber(os.getenv("ACTORHOST_FUZZ_CALLS")) or 4000
local trace_path = os.getenv("ACTORHOST_FUZZ_TRACE")
local most_seconds = 10 -- of a call, also in a build with sanitizers and without the JIT
local most_lua_bytes = 2 ^ 30

-- The generator of this file. Its numbers do not depend on the draws of a function under test.
local random = require("actor.rng")(scratch_seed)

local function any(list) return list[random:int(1, #list)] end

local extremes = {
  0, -0.0, 1, -1, 2, 3, 0.5, -0.5, 1.5, 1e-300, -1e-300, 255, 256, 65536, 2 ^ 24, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 31 + 1,
  2 ^ 32 - 1, 2 ^ 32, 2 ^ 32 + 1, -2 ^ 31, -2 ^ 31 - 1, -2 ^ 32, 2 ^ 33, 2 ^ 47, 2 ^ 48 - 1, 2 ^ 48, 2 ^ 48 + 1, 2 ^ 52,
  2 ^ 53 - 1, 2 ^ 53, 2 ^ 53 + 2, -2 ^ 53, 2 ^ 60, 2 ^ 61, 2 ^ 62, 2 ^ 63, -2 ^ 63, 2 ^ 64, 1.8e19, 1e300, -1e300,
  math.huge, -math.huge, 0 / 0,
}
local wide = { 0LL, 1LL, -1LL, 2 ^ 62 * 1LL, 0x7fffffffffffffffLL, -0x7fffffffffffffffLL - 1, 0xffffffffffffffffULL }
local words = {
  "float32", "float64", "int32", "int64", "uint8", "bool", "constant", "edge", "reflect", "xy", "ij", "fro", "nuc",
  "ij,jk->ik", "ii", "...i,i", "i,j->ij", "", "x",
}
local dtypes = { "float32", "float64", "int32", "int64", "uint8", "bool" }

local empty_shapes = { { 2 ^ 32, 0 }, { 0, 2 ^ 32 }, { 2 ^ 40, 0, 3 }, { 2 ^ 20, 0, 2 ^ 20 } }

local function number() return random:int(1, 3) == 1 and any(extremes) or random:int(-3, 9) end

local function small_shape()
  local shape = {}
  for d = 1, random:int(0, 4) do shape[d] = random:int(0, 4) end
  return shape
end

-- A small tensor of any type, also empty, without dimensions, or a view that is not contiguous.
local function operand()
  local shape, t = small_shape(), nil
  local dtype = any(dtypes)
  local kind = random:int(1, 6)
  if random:int(1, 40) == 1 then return tensor.zeros(any(empty_shapes), { dtype = dtype }) end
  if kind <= 3 then shape = any { { 3 }, { 3, 3 }, { 4 }, { 2, 3 }, { 2, 2, 3 }, { 1, 4, 4, 2 } } end
  if dtype == "bool" then
    t = tensor.bernoulli(shape, 0.5, { dtype = "bool", seed = random:int(0, 99) })
  else
    t = tensor.integers(shape, 0, 9, { seed = random:int(0, 99) }):to(dtype)
    if (dtype == "float32" or dtype == "float64") and t.size > 0 and random:int(1, 4) == 1 then
      t:flatten():set(1, any(extremes))
    end
  end
  if kind == 6 and t.ndim >= 2 then t = t:transpose() end
  if kind == 5 and t.ndim >= 1 and t.shape[1] > 1 then t = t:slice(1, 1, nil, 2) end
  return t
end

local known_options = {} -- by function: the names that its error for an unknown option lists

local argument

local function options_of(name)
  local known, options = known_options[name] or { "not an option" }, {}
  for _ = 1, random:int(0, 2) do
    local key = any(known)
    options[key] = key == "dtype" and any(dtypes) or argument(name, 2)
  end
  return options
end

local function list(name, depth)
  local out = {}
  for i = 1, random:int(0, 4) do out[i] = random:int(1, 3) > 1 and number() or argument(name, depth + 1) end
  return out
end

local self_containing = {}
self_containing[1] = self_containing

function argument(name, depth)
  local kind = random:int(1, 20)
  if kind <= 8 then return number() end
  if kind <= 12 then return operand() end
  if kind == 13 then return any(words) end
  if kind == 14 then return random:int(0, 1) == 1 end
  if kind == 15 then return any(wide) end
  if kind == 16 and depth < 3 then return { operand(), operand() } end
  if kind <= 18 and depth < 3 then return list(name, depth) end
  if kind == 19 and depth < 2 then return options_of(name) end
  if kind == 20 then return any { self_containing, tensor.random { seed = 1 } } end
  return nil
end

local function shown(value, depth)
  if tensor.is_tensor(value) then return ("<%s %s>"):format(value.dtype, "{" .. table.concat(value.shape, ", ") .. "}") end
  if type(value) == "number" then return ("%.17g"):format(value) end
  if type(value) ~= "table" or depth > 2 then return tostring(value) end
  local parts = {}
  for key, item in pairs(value) do parts[#parts + 1] = ("[%s] = %s"):format(tostring(key), shown(item, depth + 1)) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- Reads all elements of a result, and its text.
local function read_all(result)
  if not tensor.is_tensor(result) or result.size > 1e5 then return end
  local _ = result:hash(), result:sum(), tostring(result)
end

-- Errors of Lua itself, which a check of the library should have prevented.
local unforeseen = { "attempt to", "unknown status", "out of range", "cannot convert", "stack overflow", "bad argument #" }

local function complaint(message)
  if type(message) ~= "string" then return "the error is no text" end
  if not message:find("^tensor_extremes_spec.lua:%d+: ") then return "the error does not name the caller's line" end
  for _, part in ipairs(unforeseen) do
    if message:find(part, 1, true) then return "no check has foreseen this" end
  end
end

local function learn(name, message)
  local known = type(message) == "string" and message:match("^[^\n]*unknown option .-%(known: (.-)%)")
  if not known then return end
  local keys = {}
  for key in known:gmatch("[%w_]+") do keys[#keys + 1] = key end
  if #keys > 0 then known_options[name] = keys end
end

local function traced(text)
  local file = assert(io.open(trace_path, "w"))
  file:write(text, "\n")
  file:close()
end

-- The functions behind t[key] and t[key] = value.
local of_tensors_only = { ["t:at"] = true, ["t:put"] = true }

local function one_call(name, f)
  local count = random:int(0, 5)
  local arguments = {}
  for i = 1, count do arguments[i] = argument(name, 0) end
  if random:int(1, 4) == 1 then arguments[math.max(count, 1)] = options_of(name) end
  if random:int(1, 2) == 1 or of_tensors_only[name] then arguments[1] = operand() end
  count = math.max(count, 1)
  local texts = {}
  for i = 1, count do texts[i] = shown(arguments[i], 0) end
  local text = ("%s(%s)"):format(name, table.concat(texts, ", "))
  if trace_path then traced(text) end
  local start = os.clock()
  local function body() read_all(f(unpack(arguments, 1, count))) end
  local fine, message = pcall(body)
  local seconds = os.clock() - start
  learn(name, message)
  local fault = not fine and complaint(message)
  if seconds > most_seconds then fault = ("it took %.1f s"):format(seconds) end
  if collectgarbage("count") * 1024 > most_lua_bytes then fault = "Lua holds more than a gigabyte" end
  if fault then return ("%s: %s: %s"):format(text, fault, tostring(message)) end
end

-- Not called: functions that write files or start threads.
local left_out = { save = true, load = true, set_threads = true }

local function functions()
  local found = {}
  for name, f in pairs(tensor) do
    if type(f) == "function" and not left_out[name] then found[#found + 1] = { name, f } end
  end
  for name, f in pairs(require("actor.tensor.base").methods) do
    if not left_out[name] then found[#found + 1] = { "t:" .. name, f } end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  return found
end

test("constructors and methods return or raise an error at the caller's line for any arguments", function()
  limit_block(2 ^ 24)
  local all = functions()
  holds(#all, ">", 300)
  local faults = {}
  local n = spec_mode == "normal" and calls or math.min(calls, 2000)
  for i = 1, n do
    local chosen = i <= #all and all[i] or any(all)
    local fault = one_call(chosen[1], chosen[2])
    if fault then faults[#faults + 1] = fault end
    if #faults >= 40 then break end
  end
  limit_block(2 ^ 62)
  equal(table.concat(faults, "\n"), "", ("seed %d, %d functions"):format(scratch_seed, #all))
end)
