--- A worker with steps that an embedding program computes (in C `actorhost.h`, in Python `actorhost.join`). As on any
--- other worker, the engine waits for the barrier rule, fetches the values and sends the updates; the program replaces
--- only the job's `push`. A job may call `serve`; the other functions are for calls of the program.
local check = require("actor.check")
local tensor = require("actor.tensor.base")
local c = require("actor.c.program")

---@class actor.program
local M = {}

---@class actor.program.Step
---@field ctx actor.Context
---@field entries actor.param.Entry[]
---@field updates actor.param.Entry[]
---@field given table<actor.param.Key, integer> index of a key's update

local step ---@type actor.program.Step? the present step

---Whether a program does the steps of this worker.
---@return boolean
function M.works() return c.works() end

---The `push` of this worker: runs the program's calls until the program ends the step.
---@param ctx actor.Context
---@param entries actor.param.Entry[]
---@return actor.param.Entry[] updates
function M.push(ctx, entries)
  step = { ctx = ctx, entries = entries, updates = {}, given = {} }
  c.serve()
  local updates = step.updates
  step = nil
  return updates
end

---The run of this worker has ended.
---@param summary table
function M.ended(summary) c.pause(summary) end

---Hands this node to the program until the program calls `finish`, for jobs without param.run and peer.run. Returns at
---once on a node without a program.
---
---     require("actor").program.serve() -- Python: w.all_reduce_(array)
function M.serve()
  if c.works() then c.serve() end
end

local function present(fn)
  if not step then check.fail("%s: no step has begun", fn) end
  return step
end

---Returns the number of the present step and the worker's place; waits for the step, since calls run within steps.
---@return {step: integer, id: integer, rank: integer, size: integer}|nil place nil in `serve`
function M.begin()
  local ctx = step and step.ctx
  return ctx and { step = ctx.step, id = ctx.id, rank = ctx.rank, size = ctx.size }
end

---Returns the keys and values of the present step.
---@return actor.param.Entry[]
function M.pull()
  local found = {}
  for _, entry in ipairs(present("pull").entries) do
    if entry[2] ~= nil then found[#found + 1] = { entry[1], entry[2] } end
  end
  return found
end

-- The value that the worker has received for a key.
local function received(key)
  for _, entry in ipairs(step.entries) do
    if entry[1] == key then return entry[2] end
  end
end

local function shape_text(t) return t.ndim == 0 and "scalar" or table.concat(t.shape, "x") end

-- Checks an update here, so that a wrong update is an error of this call and not of the run.
local function check_update(key, value)
  if type(key) ~= "string" and type(key) ~= "number" then check.fail("push: a key is a string or a number, not a %s", type(key)) end
  local old = received(key)
  if not tensor.is_tensor(value) then
    if tensor.is_tensor(old) and type(value) ~= "table" then -- a `pull` in Lua may take tables
      check.fail("push: '%s' is a %s, and its parameter is a tensor of shape %s", tostring(key), type(value), shape_text(old))
    end
    return
  end
  if value.dtype ~= "float32" and value.dtype ~= "float64" then
    check.fail("push: '%s' has elements of %s, and updates are float32 or float64", key, value.dtype)
  end
  if not tensor.is_tensor(old) then return end
  if shape_text(old) ~= shape_text(value) then
    check.fail("push: '%s' has the shape %s, and its parameter has %s", key, shape_text(value), shape_text(old))
  elseif old.dtype ~= value.dtype then
    check.fail("push: '%s' has elements of %s, and its parameter has %s", key, value.dtype, old.dtype)
  end
end

---Adds updates to the present step. A second update of a key replaces the first.
---@param updates actor.param.Entry[]
function M.update(updates)
  local now = present("push")
  for _, entry in ipairs(updates) do check_update(entry[1], entry[2]) end
  for _, entry in ipairs(updates) do
    local at = now.given[entry[1]] or #now.updates + 1
    now.given[entry[1]], now.updates[at] = at, entry
  end
end

---Ends the present step, or `serve`: the worker sends the updates and waits for its next step.
function M.finish() c.finish() end

return M
