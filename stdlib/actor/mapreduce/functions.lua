--- Users' functions as operations keep them: frozen when the operation is defined, and named for messages.
local check = require("actor.check")
local codec = require("actor.codec")
local natives = require("actor.mapreduce.natives")
local util = require("jit.util")
local c = require("actor.c.mapreduce")

local M = {}

local band, rshift = bit.band, bit.rshift
local getupvalue, setupvalue = debug.getupvalue, debug.setupvalue

---Whether a function is the script's: neither of C nor of the standard library.
---@param fn function
---@return boolean
function M.is_users(fn)
  local info = debug.getinfo(fn, "S")
  return info.what ~= "C" and info.source:sub(1, 8) ~= "@stdlib/"
end

local is_users = M.is_users

-- A copied function's code has lost what makes `{ x = a, y = b }` quick: the constructor begins with a table that has its
-- keys, and the copy's table lacks those without a constant value, so each table grows key by key. The two opcodes are found
-- by looking at a small function; where that looks different from what is expected, copies stay as they are.
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

-- Puts the keys of table constructors back into their tables, in the copied code `fn` and the functions in it.
local function mend_constructors(fn)
  if not DUPLICATE then return end
  local made, added = {}, {} -- made: by register, the table with which the present constructor begins
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
  if not is_users(fn) or not getupvalue(fn, 1) then return fn end
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

---Returns a copy of `fn` whose captured variables, and those of captured functions, keep their present values: later
---assignments do not change them, so a task that runs again does the same. Tables are shared.
---@param fn function
---@return function
function M.freeze(fn)
  return freeze(fn, {})
end

---"job.lua:12", where a function is defined; nothing for one of C.
---@param fn function
---@return string?
function M.where(fn)
  local info = debug.getinfo(fn, "S")
  return info.what ~= "C" and info.short_src .. ":" .. info.linedefined or nil
end

-- What the compiler made of a function: its instructions, constants and the names of what it captures. `fn` has never run,
-- since the JIT changes instructions.
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

---Returns a text that differs for any two functions, also on the same line, and is the same on every node: the
---function's place in the script and its bytecode, without what it captures.
---@param fn function
---@return string
function M.mark(fn)
  local where = M.where(fn)
  if not where then return "C" end
  local proto = util.funcinfo(fn).proto
  if not marks[proto] then marks[proto] = where .. " " .. codec.hash(compiled(c.clone(fn))) end
  return marks[proto]
end

---Returns the function that argument `name` of operation `operation` is: given itself, or as the name of a native one.
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
