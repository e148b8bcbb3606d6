--- Users' functions as operations store them: frozen when the operation is defined, and named for messages.
local check = require("actor.check")
local codec = require("actor.codec")
local natives = require("actor.mapreduce.natives")
local util = require("jit.util")
local c = require("actor.c.mapreduce")

local M = {}

local band, rshift = bit.band, bit.rshift
local getupvalue, setupvalue = debug.getupvalue, debug.setupvalue

---Whether a function belongs to the script: neither to C nor to the standard library.
---@param fn function
---@return boolean
function M.is_users(fn)
  local info = debug.getinfo(fn, "S")
  return info.what ~= "C" and info.source:sub(1, 8) ~= "@stdlib/"
end

-- A copied function loses the template tables that make `{ x = a, y = b }` fast. The constructor starts from a table
-- with all its keys; the copy's template lacks the keys without a constant value, so each table grows key by key. The
-- two opcodes are read from a small sample function. If the sample does not look as expected, copies stay unrepaired.
local DUPLICATE, SET_FIELD

local function operands(fn, pc)
  local word = util.funcbc(fn, pc)
  if not word then return nil end
  return band(word, 0xff), band(rshift(word, 8), 0xff), band(rshift(word, 16), 0xff), rshift(word, 24), rshift(word, 16)
end

do
  local sample = assert(loadstring("local a = ... return { x = a, y = 1 }"))
  local op, _, _, _, table_index = operands(sample, 2)
  local set, _, key_index = operands(sample, 3)
  local template = table_index and util.funck(sample, -table_index - 1)
  if type(template) == "table" and template.y == 1 and util.funck(sample, -key_index - 1) == "x" then
    DUPLICATE, SET_FIELD = op, set
  end
end

-- Restores the keys of table constructors in the copied code of `fn` and of the functions in it.
local function mend_constructors(fn)
  if not DUPLICATE then return end
  local made, added = {}, {} -- made: by register, the template of the present constructor
  for pc = 1, math.huge do
    local op, a, key_index, register, table_index = operands(fn, pc)
    if not op then break end
    if op == DUPLICATE then
      made[a] = util.funck(fn, -table_index - 1)
    elseif op == SET_FIELD and made[register] then
      local template, key = made[register], util.funck(fn, -key_index - 1)
      if rawget(template, key) == nil then
        template[key] = true
        added[#added + 1] = { template, key }
      end
    end
  end
  for _, each in ipairs(added) do each[1][each[2]] = nil end -- the keys stay in their places
  for i = -1, -math.huge, -1 do
    local constant = util.funck(fn, i)
    if constant == nil then return end
    if type(constant) == "proto" then mend_constructors(constant) end
  end
end

local function freeze(fn, done)
  if not M.is_users(fn) or not getupvalue(fn, 1) then return fn end
  if done[fn] then return done[fn] end
  local copy = c.clone(fn)
  mend_constructors(copy)
  done[fn] = copy
  for i = 1, math.huge do
    local name, value = getupvalue(fn, i)
    if not name then return copy end
    if type(value) == "function" then value = freeze(value, done) end
    setupvalue(copy, i, value)
  end
end

---Returns a copy of `fn` whose captured variables, and those of captured functions, retain their present values. Later
---assignments do not change them, so a task that runs again gives the same result. Tables are shared.
---@param fn function
---@return function
function M.freeze(fn) return freeze(fn, {}) end

---"job.lua:12", the place where a function is defined; nothing for a C function.
---@param fn function
---@return string?
function M.where(fn)
  local info = debug.getinfo(fn, "S")
  return info.what ~= "C" and info.short_src .. ":" .. info.linedefined or nil
end

-- The compiled form of a function: its instructions, its constants and the names of its captured variables. `fn` must
-- never have run, since the JIT changes instructions.
local function compiled(fn)
  local info = util.funcinfo(fn)
  local out = { info.linedefined, info.lastlinedefined, info.params, info.isvararg or false }
  for pc = 1, math.huge do
    local word = util.funcbc(fn, pc)
    if not word then break end
    out[#out + 1] = word
  end
  for i = 0, info.upvalues - 1 do out[#out + 1] = util.funcuvname(fn, i) end
  for i = 0, info.nconsts - 1 do out[#out + 1] = util.funck(fn, i) end
  for i = -1, -info.gcconsts, -1 do
    local constant = util.funck(fn, i)
    local kind = type(constant)
    out[#out + 1] = kind == "proto" and compiled(constant) or kind == "cdata" and tostring(constant) or constant
  end
  return out
end

local marks = setmetatable({}, { __mode = "k" }) -- by prototype, which closures of one function share

---Returns a text that differs for any two functions, also on the same line, and is the same on every node. It consists
---of the function's place in the script and its bytecode, without captured values.
---@param fn function
---@return string
function M.mark(fn)
  local where = M.where(fn)
  if not where then return "C" end
  local proto = util.funcinfo(fn).proto
  if not marks[proto] then marks[proto] = where .. " " .. codec.hash(compiled(c.clone(fn))) end
  return marks[proto]
end

---Resolves argument `name` of operation `operation`: a function, or the name of a native function.
---@param fn any
---@param name string
---@param operation string
---@return function
function M.given(fn, name, operation)
  if type(fn) ~= "string" then
    check.arg(fn, "function", name, "mapreduce." .. operation)
    return fn
  end
  local known, names = natives.named(fn)
  if not known then
    check.fail("mapreduce.%s: '%s' is the name of no function for '%s' (known: %s)", operation, fn, name, names)
  end
  return known
end

return M
