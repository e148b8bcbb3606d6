--- Users' functions as operations keep them: frozen when the operation is defined, and named for messages.
local broadcasts = require("actor.mapreduce.broadcasts")
local check = require("actor.check")
local natives = require("actor.mapreduce.natives")
local c = require("actor.c.mapreduce")

local M = {}

local getupvalue, setupvalue = debug.getupvalue, debug.setupvalue

---Whether a function is the script's: neither of C nor of the standard library.
---@param fn function
---@return boolean
function M.is_users(fn)
  local info = debug.getinfo(fn, "S")
  return info.what ~= "C" and info.source:sub(1, 8) ~= "@stdlib/"
end

local is_users = M.is_users

local function freeze(fn, done)
  if not is_users(fn) then return fn end
  if done[fn] then return done[fn] end
  local copy = c.clone(fn)
  done[fn] = copy
  for i = 1, math.huge do
    local name, value = getupvalue(fn, i)
    if not name then return copy end
    if type(value) == "function" then value = freeze(value, done) end
    setupvalue(copy, i, value)
  end
end

---A copy of `fn` with the variables that it captures as they are now, those of captured functions too: what is assigned
---to them later changes nothing, so a task that runs again does the same. Tables are shared.
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

---The hashes of the broadcasts that `fn` captures, in captured functions too: those have to be the same on every node.
---@param fn any
---@param done? table
---@return any[]
function M.broadcasts(fn, done)
  done = done or {}
  if type(fn) ~= "function" or not is_users(fn) or done[fn] then return {} end
  done[fn] = true
  local out = {}
  for i = 1, math.huge do
    local name, value = getupvalue(fn, i)
    if not name then return out end
    if broadcasts.is(value) then out[#out + 1] = value.hash end
    if type(value) == "function" then out[#out + 1] = M.broadcasts(value, done) end
  end
end

---What argument `name` of operation `operation` is given: a function, or the name of one that has a native twin.
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
