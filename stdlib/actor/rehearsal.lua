--- Rehearsals (`actorhost rehearse`): checks of a job that run while the job runs. On a cluster they cost nothing.
local check = require("actor.check")
local core = require("actor.c.core")

---@class actor.rehearsal
---@field active boolean whether this run is a rehearsal
local M = { active = core.rehearsed }

local checks = {}

---Adds a check of the job. In a rehearsal each node calls `fn` before each step of an engine, before each collective
---and at the end of its script. The run ends with an error when `fn` raises or returns nil or false. On a cluster `fn`
---is never called.
---```lua
----- In a rehearsal each node calls the function before each step; on a cluster it is never called.
---actor.rehearsal.check("weights are finite", function() return true end)
---```
---@param name string for the error: "check 'weights are finite' (job.lua:12) failed"
---@param fn fun(): any, string? a true value while all is well; or nil or false, and a message
function M.check(name, fn)
  check.arg(name, "string", "name", "rehearsal.check")
  check.arg(fn, "function", "fn", "rehearsal.check")
  if M.active then checks[#checks + 1] = { name = name, fn = fn } end
end

---Runs the checks of this node. Engines call it.
function M.run_checks()
  for _, each in ipairs(checks) do
    local called, fine, message = pcall(each.fn)
    if not called or not fine then
      local info = debug.getinfo(each.fn, "S")
      local why = called and message or not called and fine or nil
      error(("check '%s' (%s:%d) failed%s"):format(each.name, info.short_src, info.linedefined,
        why ~= nil and ": " .. tostring(why) or ""), 0)
    end
  end
end

-- C functions whose results depend on this machine.
local varying = { "clock_gettime", "gettimeofday", "getrandom", "rand", "random", "time", "usleep", "nanosleep", "getpid" }

local EPOCH = 946684800 -- the virtual time 0 is 2000-01-01 00:00:00 UTC

local function before(a, b)
  if type(a) ~= type(b) then return type(a) == "number" end
  return a < b
end

-- `pairs` in key order: numbers, strings, then the other keys. LuaJIT's order of strings depends on when a state made
-- them, so a line more in the job could change it.
local function in_key_order(pairs)
  return function(t)
    if type(t) ~= "table" then return pairs(t) end
    local keys, others, sorted = {}, {}, true
    for key in pairs(t) do
      local kind = type(key)
      if kind ~= "number" and kind ~= "string" then
        others[#others + 1] = key
      else
        sorted = sorted and (keys[1] == nil or before(keys[#keys], key))
        keys[#keys + 1] = key
      end
    end
    if not sorted then table.sort(keys, before) end
    for i = 1, #others do keys[#keys + 1] = others[i] end
    local i = 0
    local function step()
      local key, value
      repeat
        i = i + 1
        key = keys[i]
        value = key ~= nil and rawget(t, key)
      until value ~= nil
      if key ~= nil then return key, value end
    end
    return step, t, nil
  end
end

---For the host: replaces what would differ between two rehearsals. The clocks of this Lua state show the virtual time,
---`pairs` has a fixed order, and each other source of different results is warned of once.
function M.make_repeatable()
  _G.pairs = in_key_order(pairs)
  -- Each host compiles the same loops again. With LuaJIT's limits of 56 and 10 this takes most of the time of a short
  -- job: LuaJIT changes the protection of its code pages for each trace.
  jit.opt.start("hotloop=1000", "hotexit=2000")
  local actor, log, ffi = require("actor"), require("actor.log"), require("ffi")
  local time, date, execute, popen, cdef = os.time, os.date, os.execute, io.popen, ffi.cdef
  local warned = {}
  local function warn(what)
    if not warned[what] and actor.rank == 0 then
      log.warn("%s: two rehearsals with the same seed may differ (%s)", what, require("actor.c.node").position())
    end
    warned[what] = true
  end
  function os.time(fields) return fields and time(fields) or EPOCH + math.floor(actor.now()) end
  function os.clock() return actor.now() end
  function os.date(format, at) return date(format or "%c", at or os.time()) end
  function os.execute(...)
    warn("os.execute runs a program of this machine")
    return execute(...)
  end
  function io.popen(...)
    warn("io.popen runs a program of this machine")
    return popen(...)
  end
  function ffi.cdef(text, ...)
    for _, name in ipairs(varying) do
      if type(text) == "string" and text:find("%f[%w_]" .. name .. "%s*%(") then warn("ffi.cdef declares " .. name) end
    end
    return cdef(text, ...)
  end
end

return M
