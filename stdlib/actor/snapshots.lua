--- Copies a value of the parameter server while param.run goes on, at given times and numbers of updates, and measures the
--- copies when it is over: workers are not held up by that, and share it out.
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
---@field private left integer marks that are ahead
local Snapshots = {}
Snapshots.__index = Snapshots
setmetatable(Snapshots, check.strict("snapshots:"))

---@class actor.snapshots.Point
---@field by "seconds"|"updates"
---@field mark number the time or number of updates that was asked for
---@field seconds number when the copy was made, since the run began: at the first push behind the mark
---@field updates integer how many were merged then
---@field [string] any what was measured
---@field private copy string its key

---Makes the list of what is copied when. Every node makes the call.
---@param options {key: actor.param.Key, seconds?: number[], updates?: number[]} times since the run began; rising or not
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

---Makes the copies whose time has come: for `stop` of param.run.
---@param ctx actor.param.StopContext
---@return boolean all true when all are made
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

---Measures the copies that were made, each on one worker, and removes them. Every worker makes the call, after the run.
---@param measure fun(value: any): table<string, any> gets a copy; the point gets the fields of the table
---@return actor.snapshots.Point[] the same on every worker: by seconds, then by updates, as they were given
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
