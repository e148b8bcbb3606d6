--- Copies a value of the parameter server during param.run, at given times and numbers of updates. The workers measure
--- the copies after the run and share this work, so the measuring does not delay steps.
---
---     local snapshots = actor.snapshots.new { key = "w", seconds = { 10, 20 }, updates = { 500, 1000 } }
---     param.run { ..., stop = function(ctx) return snapshots:take(ctx) end }
---     if actor.role == "worker" then
---       local points = snapshots:measure(function(w) return { accuracy = accuracy_of(w) } end)
---       for _, point in ipairs(points) do print(point.by, point.mark, point.accuracy) end
---     end
local check = require("actor.check")
local collective = require("actor.collective")
local node = require("actor.c.node")
local param = require("actor.param")

---@class actor.snapshots
local M = {}

---@class actor.Snapshots
---@field private key actor.param.Key
---@field private name string the key of the points
---@field private points actor.snapshots.Point[]
---@field private left integer number of remaining marks
local Snapshots = {}
Snapshots.__index = Snapshots
setmetatable(Snapshots, check.strict("snapshots:"))

---@class actor.snapshots.Point
---@field by "seconds"|"updates"
---@field mark number the requested time or number of updates
---@field seconds number time of the copy, since the run began: that of the first push at or after the mark
---@field updates integer updates merged at the time of the copy
---@field [string] any the measured fields
---@field private copy string its key

---Makes the list of marks. Every node makes the call.
---@param options {key: actor.param.Key, seconds?: number[], updates?: number[]} seconds since the run began, in any order
---@return actor.Snapshots
function M.new(options)
  local fn = "snapshots.new"
  check.options(options, { key = "string|number", seconds = "table?", updates = "table?" }, fn)
  local points = {}
  for _, by in ipairs { "seconds", "updates" } do
    for i, mark in ipairs(options[by] or {}) do
      check.number(mark, ("%s[%d]"):format(by, i), fn, 0)
      points[#points + 1] = { by = by, mark = mark }
    end
  end
  return setmetatable({ key = options.key, name = ("snapshots of %s"):format(options.key), points = points, left = #points },
    Snapshots)
end

---Makes the copies that are due: for `stop` of param.run.
---@param ctx actor.param.StopContext
---@return boolean all whether all copies are made
function Snapshots:take(ctx)
  local before = self.left
  for _, point in ipairs(self.points) do
    if not point.copy and ctx[point.by] >= point.mark then
      point.copy, point.seconds, point.updates = ("%s after %d"):format(self.name, ctx.updates), ctx.seconds, ctx.updates
      param.set(point.copy, (param.get(self.key)))
      self.left = self.left - 1
    end
  end
  if self.left < before then param.set(self.name, self.points) end
  return self.left == 0
end

---Measures each copy on one worker, then removes it. Every worker makes the call, after the run.
---@param measure fun(value: any): table<string, any> receives a copy; the fields of its result are added to the point
---@return actor.snapshots.Point[] the same on every worker: marks by seconds, then by updates, in the given order
function Snapshots:measure(measure)
  check.arg(measure, "function", "measure", "snapshots:measure")
  local points, mine = {}, {}
  for _, point in ipairs(param.get(self.name) or {}) do
    if point.copy then points[#points + 1] = point end
  end
  for i, point in ipairs(points) do
    if i % node.size == node.rank then
      mine[i] = measure((param.get(point.copy)))
      check.arg(mine[i], "table", "what `measure` returns", "snapshots:measure")
    end
  end
  local all = collective.allgather(mine)
  for i, point in ipairs(points) do
    if node.rank == 0 then param.set(point.copy, nil) end
    point.copy = nil
    for name, value in pairs(all[i % node.size + 1][i]) do point[name] = value end
  end
  if node.rank == 0 then param.set(self.name, nil) end
  return points
end

return M
