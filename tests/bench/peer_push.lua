-- The time of a step that only pushes one key, among peers (three replicas of each key, or --replicas R) and on the
-- parameter server. The worker of the last host pushes; the others serve. On four hosts:
--     for k in 0 1 2 3; do
--       actorhost -n 1 --nnodes 4 --rdzv-endpoint 127.0.0.1:7000 --node-rank $k --print all --log-level warn tests/bench/peer_push.lua &
--     done; wait
local actor = require "actor"
local optim, tensor = actor.optim, actor.tensor

local sizes = { { 10, 3000 }, { 1000, 3000 }, { 100000, 500 }, { 200000, 300 } } -- numbers in a value, steps
local pushes = actor.rank == actor.size - 1

local keys = {}
for i = 1, 12 do keys[i] = "key " .. i end

-- Microseconds of a step.
local function measured(engine, size, steps)
  local value, step, began, ended = tensor.zeros(size), 0, 0, 0
  local run = {
    init = function()
      for _, key in ipairs(keys) do engine.set(key, value) end
      return {}
    end,
    push = function()
      step = step + 1
      if step == 1 then began = actor.now() end
      ended = actor.now()
      return { { keys[step % #keys + 1], value } }
    end,
    pull = optim.sgd { lr = 0.1 },
    barrier = "asp",
  }
  if engine == actor.peer then
    run.schedule = function() return {} end
    run.stop = function(ctx) return not pushes or ctx.step >= steps end
  else
    run.schedule_local = function() return pushes and { "none" } or {} end
    run.stop = function(ctx) return ctx.updates >= steps end
  end
  engine.run(run)
  return 1e6 * (ended - began) / (steps - 1)
end

for _, size in ipairs(sizes) do
  local peers, server = {}, {}
  for turn = 1, 5 do
    peers[turn] = measured(actor.peer, unpack(size))
    server[turn] = measured(actor.param, unpack(size))
  end
  table.sort(peers)
  table.sort(server)
  if pushes then print(("%7d numbers: peers %7.0f us, server %7.0f us, ratio %.2f"):format(size[1], peers[3], server[3], peers[3] / server[3])) end
end
