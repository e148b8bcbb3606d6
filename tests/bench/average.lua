-- The cost of averaging for computing workers: `actorhost -n 2 [--isolate] --log-level warn tests/bench/average.lua
-- [flags]`.
-- Every worker trains a model of 26 MB, in turns some seconds without averaging and some with averaging every 500 ms.
-- Each line shows one pair of turns. The last line shows the medians of two ratios: of steps a second (the worker with
-- the highest cost), and of steps a second of processor time (all workers), which other load on the machine disturbs
-- less. --straggler 8 makes the last worker 8 times slower by sleeping; the first ratio is then the other workers'
-- ratio.
local actor = require "actor"
local co, tensor, nn, optim = actor.collective, actor.tensor, actor.nn, actor.optim
local opt = actor.options {
  seconds = 3, turns = 7, batch = 32, width = 1470, layers = 3, interval = 500, peers = "all", straggler = 1,
}

local layers = {}
for i = 1, opt.layers do layers[i] = nn.linear(opt.width, opt.width, { seed = i }) end
local net, sgd = nn.sequential(layers), optim.sgd { lr = 1e-6 }
local x, y = tensor.normal({ opt.batch, opt.width }, { seed = actor.rank + 1 }), tensor.ones { opt.batch }
local slow = actor.rank == actor.size - 1 and opt.straggler > 1
local bytes = 0
for _, t in actor.pairs(net.params) do bytes = bytes + 4 * t.size end

local function train()
  local from = actor.now()
  net:loss(x, y)
  sgd:step(net.params, net.grads)
  if slow then co.wait_event("never", { timeout = (opt.straggler - 1) * (actor.now() - from) }) end
end

local function all(value, op) return co.allreduce(tensor.full({ 1 }, value, { dtype = "float64" }), op):get(1) end

-- Steps a second, and steps a second of processor time, over about the given time.
local function pace(seconds, step)
  co.barrier()
  local from, processor, steps = actor.now(), os.clock(), 0
  while actor.now() < from + seconds do
    step()
    steps = steps + 1
  end
  local took = actor.now() - from
  return steps / took, all(steps, "sum") / all(os.clock() - processor, "sum")
end

local handle = actor.average.start(net.params, { sync_interval_ms = opt.interval, peers = opt.peers })
handle:abort()
pace(0.5, train)
local ratios, efficiencies = {}, {}
if actor.rank == 0 then
  print(("%d workers, %.1f MB, averaged every %g ms, peers %s"):format(actor.size, bytes / 1e6, opt.interval,
    opt.peers))
  print(("%10s %12s %8s %8s %8s %10s %10s %10s"):format("alone", "averaging", "ratio", "by cpu", "rounds", "MB sent", "waiting", "copying"))
end
for turn = 1, opt.turns do
  local alone, alone_cpu = pace(opt.seconds, train)
  handle:resume()
  local before = handle:stats()
  local averaging, averaging_cpu = pace(opt.seconds, function() handle:step(train) end)
  local after = handle:stats()
  handle:abort()
  local ratio = slow and 1e9 or averaging / alone
  ratios[turn], efficiencies[turn] = all(ratio, "min"), averaging_cpu / alone_cpu
  if actor.rank == 0 then
    print(("%10.2f %12.2f %8.3f %8.3f %8d %10.1f %10.4f %10.4f"):format(alone, averaging, ratios[turn], efficiencies[turn],
      after.rounds - before.rounds,
      (after.bytes - before.bytes) / 1e6, after.waiting - before.waiting, after.copying - before.copying))
  end
end
local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end
print(("median ratio %.3f, by processor time %.3f"):format(median(ratios), median(efficiencies)))
