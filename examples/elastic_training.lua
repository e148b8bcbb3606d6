-- Training by all-reduce that hosts may join and leave. Start it with --nnodes 1:3 --rdzv-endpoint HOST:PORT, and run
-- the same command later on other machines. A late host runs this file from its top and joins at the next join_point.
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor

local opt = actor.options { steps = 300, rate = 0.5, points = 1000 }

local step, line = 0, tensor.zeros(2) -- slope and height

-- The gradient of the squared error, at random points of the line y = 3 x + 1.
local function gradient()
  local slope, height, sum_slope, sum_height = line:get(1), line:get(2), 0, 0
  for _ = 1, opt.points do
    local x = math.random()
    local miss = slope * x + height - (3 * x + 1)
    sum_slope, sum_height = sum_slope + miss * x, sum_height + miss
  end
  return tensor.new { sum_slope / opt.points, sum_height / opt.points }
end

local function report() print(("%d workers from step %d on"):format(co.size(), step)) end

report()
while step < opt.steps do
  local late, why = co.join_point()
  if late and late > 0 then -- true on every rank; the new ranks receive the state
    local state
    repeat state = co.broadcast { step, line } until state -- nil when a host is lost meanwhile
    step, line = unpack(state)
    report()
  end
  local mean
  if late then mean, why = co.allreduce(gradient(), "mean") end
  if mean then
    line, step = line - opt.rate * mean, step + 1
  else
    print(why) -- a host has left: the other hosts repeat the step
  end
end
print(("y = %.2f x + %.2f"):format(line:get(1), line:get(2)))
