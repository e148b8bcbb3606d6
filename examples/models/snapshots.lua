-- Copies a value of the parameter server during param.run, at given times and numbers of updates. The workers measure
-- the copies after the run and share this work, so the measuring does not delay steps.
--     local taken = snapshots { key = "w", seconds = { 10, 20 }, updates = { 500, 1000 } }       -- on every node
--     param.run { ..., stop = function(ctx) return taken:take(ctx) end }
--     local points = taken:measure(function(w) return { accuracy = accuracy_of(w) } end)         -- on every worker
--     for _, point in ipairs(points) do print(point.by, point.mark, point.seconds, point.updates, point.accuracy) end
local actor = require "actor"
local param = actor.param

local Snapshots = {}
Snapshots.__index = Snapshots

-- Makes the copies that are due. Returns whether all copies are made.
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

-- Measures each copy on one worker, then removes it. Returns the same points on every worker, with the fields that
-- `measure` returns added: by seconds, then by updates, in the given order.
function Snapshots:measure(measure)
  local points, mine = {}, {}
  for _, point in ipairs(param.get(self.name) or {}) do
    if point.copy then points[#points + 1] = point end
  end
  for i, point in ipairs(points) do
    if i % actor.size == actor.rank then mine[i] = measure((param.get(point.copy))) end
  end
  local all = actor.collective.allgather(mine)
  for i, point in ipairs(points) do
    if actor.rank == 0 then param.set(point.copy, nil) end
    point.copy = nil
    for name, value in pairs(all[i % actor.size + 1][i]) do point[name] = value end
  end
  if actor.rank == 0 then param.set(self.name, nil) end
  return points
end

return function(options)
  local points = {}
  for _, by in ipairs { "seconds", "updates" } do
    for _, mark in ipairs(options[by]) do points[#points + 1] = { by = by, mark = mark } end
  end
  return setmetatable({ key = options.key, name = "snapshots of " .. options.key, points = points, left = #points }, Snapshots)
end
