-- Copies a value of the parameter server during param.run, at given times and numbers of updates. A copy is the value
-- at the mark: the merge rule of the run makes it before it merges the first push after the mark. The workers measure
-- the copies after the run and share this work, so the measuring does not delay steps. With one server only.
--     local taken = snapshots { key = "w", seconds = { 10, 20 }, updates = { 500, 1000 } }       -- on every node
--     param.run { ..., merge = taken:rule(), stop = function(ctx) return taken:take(ctx) end }
--     local points = taken:measure(function(w) return { accuracy = accuracy_of(w) } end)         -- on every worker
--     for _, point in ipairs(points) do print(point.by, point.mark, point.seconds, point.updates, point.accuracy) end
local actor = require "actor"
local param = actor.param

local Snapshots = {}
Snapshots.__index = Snapshots

-- Copies the value for each mark that is reached.
function Snapshots:copy(reached, value_of)
  local value
  for _, point in ipairs(self.points) do
    if not point.updates and reached[point.by] >= point.mark then
      value = value or value_of()
      point.seconds, point.updates = math.max(reached.seconds, 0), reached.updates
      self.copies[point] = value
      self.left = self.left - 1
    end
  end
end

-- The merge rule: every push is merged unchanged.
function Snapshots:rule()
  return function(view)
    if self.left > 0 then
      local reached = { seconds = view.now - self.began, updates = self.merged }
      self:copy(reached, function() return view:value(self.key) end)
    end
    self.merged = self.merged + 1
    return 1
  end
end

-- Stores the new copies, for `measure`. Returns whether all copies are made.
function Snapshots:take(ctx)
  self.began = self.began or actor.now() - ctx.seconds
  self:copy(ctx, function() return (param.get(self.key)) end)
  local stored = false
  for _, point in ipairs(self.points) do
    if self.copies[point] then
      point.copy, stored = ("%s at %s %g"):format(self.name, point.by, point.mark), true
      param.set(point.copy, self.copies[point])
      self.copies[point] = nil
    end
  end
  if stored then param.set(self.name, self.points) end
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
  return setmetatable({
    key = options.key, name = "snapshots of " .. options.key, points = points, copies = {}, left = #points, merged = 0,
  }, Snapshots)
end
