-- Trains MNIST with a straggler, twice from the same start: synchronously, with an all-reduce of the gradients in each
-- step, and by asynchronous model averaging, without waiting. Prints the time of each to reach --target per cent. Try
-- -n 4, --algorithm async or allreduce, --lock gradient, --straggler 1, --interval 100, --peers ring or random,
-- --isolate.
local actor = require "actor"
local co, data, nn, optim, tensor = actor.collective, actor.data, actor.nn, actor.optim, actor.tensor

local opt = actor.options {
  data = "", hidden = 128, batch = 32, lr = 0.1, straggler = 8, target = 97, seconds = 120, interval = 200, peers = "all",
  algorithm = { "both", "async", "allreduce" }, lock = "step",
}
local set = data.mnist(opt.data ~= "" and opt.data or nil)
local images, labels = set.test:batch(data.range(1, math.min(2000, set.test.n)))
local straggles = actor.size > 1 and actor.rank == actor.size - 1

local function new_net()
  return nn.sequential {
    nn.linear(784, opt.hidden, { seed = actor.seed }), nn.relu(), nn.linear(opt.hidden, 10, { seed = actor.seed + 1 }),
  }
end

-- Computes the gradient of this worker's next batch in net.grads. The straggler then pauses for several times as long.
local function gradient(net, rng)
  local from, positions = actor.now(), {}
  for i = 1, opt.batch do positions[i] = rng:int(1, set.train.n) end
  net:loss(set.train:batch(positions))
  if straggles then co.wait_event("never", { timeout = (opt.straggler - 1) * (actor.now() - from) }) end
end

local function enough(net, since)
  return 100 * net:accuracy(images, labels) >= opt.target or actor.now() - since > opt.seconds
end

local function synchronously(net)
  local rng, sgd = actor.rng(actor.seed, actor.rank), optim.sgd { lr = opt.lr }
  local steps, began, done = 0, actor.now(), false
  repeat
    gradient(net, rng)
    for _, grad in actor.pairs(net.grads) do co.allreduce(grad, "mean", { inplace = true }) end
    sgd:step(net.params, net.grads)
    steps = steps + 1
    if steps % 50 == 0 then done = co.broadcast(enough(net, began), 0) end -- equal models, but different clocks
  until done
  return steps, actor.now() - began
end

local function asynchronously(net)
  local rng, sgd = actor.rng(actor.seed, actor.rank), optim.sgd { lr = opt.lr }
  local handle = actor.average.start(net.params, { sync_interval_ms = opt.interval, peers = opt.peers, lock = opt.lock })
  local steps, began = 0, actor.now()
  repeat
    handle:step(function() gradient(net, rng) end, function() sgd:step(net.params, net.grads) end)
    steps = steps + 1
    local is_due = actor.rank == 0 and steps % 50 == 0
    if is_due then
      handle:lock() -- no round changes the model meanwhile
      if enough(net, began) then co.send_event("enough", true) end
      handle:unlock()
    end
  until co.get_event("enough")
  handle:abort() -- all ranks have the same model now
  return steps, actor.now() - began, handle:stats()
end

print(("data: %s, %d images to train; the last of %d workers takes %g times as long"):format(set.source, set.train.n,
  actor.size, opt.straggler))
local ways = { allreduce = { "synchronous", synchronously }, async = { "averaging", asynchronously } }
local chosen = opt.algorithm == "both" and { ways.allreduce, ways.async } or { ways[opt.algorithm] }
for _, way in ipairs(chosen) do
  local net = new_net()
  co.barrier()
  local steps, seconds, stats = way[2](net)
  local all = co.allgather(tensor.full({ 1 }, steps))
  print(("%s: %.1f s %s %g %%, then %.2f %%; steps of each worker: %s"):format(way[1], seconds,
    seconds > opt.seconds and "without" or "to", opt.target, 100 * net:accuracy(images, labels),
    table.concat(all:totable(), " ")))
  if stats then
    print(("%d rounds, %d steps during each; %.3f s of waiting, %.3f s of copying"):format(stats.rounds,
      stats.mean_staleness, stats.waiting, stats.copying))
  end
end
