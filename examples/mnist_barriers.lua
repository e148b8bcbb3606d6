-- Compares barrier rules with delayed workers: a convolutional net learns MNIST on the parameter server under each
-- rule, and every push follows a random delay from Gamma(1, --delay) seconds. Run it with
--     actorhost -n 6 examples/mnist_barriers.lua
-- It writes CSV and figures into --out, and prints which claims about the rules hold. The defaults take 18 minutes on
-- two idle cores. --push delta: a worker trains with its own optimiser and pushes the difference of the weights; --push
-- gradient: the server has the optimiser. (actorhost's own --barrier would be the rule of all runs.) All ranks must be
-- on one machine, because steps are ordered by its clock.
local actor = require "actor"
local co, data, optim, param = actor.collective, actor.data, actor.optim, actor.param
local cnn, comparison, snapshots_of = require "models.cnn", require "models.comparison", require "models.snapshots"

local function count(n) return { n, least = 1, whole = true } end
local opt = actor.options {
  data = "", barriers = { "bsp,ssp:4,asp,pbsp:2,pssp:2:4", each = actor.barrier.from }, push = { "delta", "gradient" },
  seconds = { 40, above = 0 }, updates = count(96), marks = count(8), seeds = count(5), delay = { 1, least = 0 },
  batch = count(32), lr = { 0.05, above = 0 }, sample = count(1000), out = "barriers", small = false,
}
local folder = actor.rank == 0 and require "models.folder"(opt.out)
local set = opt.small
  and { train = data.digits { n = 600 }, test = data.digits { n = 200, first = 601 }, source = "few digits" }
  or data.mnist(opt.data ~= "" and opt.data or nil)
local images, labels = set.test:batch(data.range(1, math.min(opt.sample, set.test.n)))
local bar = actor.progress.new { total = #opt.barriers * opt.seeds * opt.seconds, label = "training" }

-- The times ("seconds") or numbers of updates ("updates") at which accuracy is measured.
local function marks(by)
  local out = {}
  for k = 1, opt.marks do out[k] = opt[by] * k / opt.marks end
  return out
end

-- How a worker turns weights into an update, and how the server merges updates. Both use SGD with momentum, but with
-- deltas each worker has its own momentum. The updates of all workers add up, so each uses a part of the rate.
local function pushing(net)
  local sgd = optim.sgd { lr = opt.lr / actor.size, momentum = 0.5 }
  if opt.push == "gradient" then return function() return net.flat_grads end, sgd end
  return function(weights)
    sgd:step({ net.flat_params }, { net.flat_grads })
    return net.flat_params - weights
  end, optim.add()
end

-- Trains under one rule. Measuring accuracy does not delay the workers: the server only copies weights at the marks.
local function train(rule, seed, number)
  collectgarbage() -- frees the net of the last run
  local net, weights, steps = cnn(seed, actor.rank or 0, opt.small), "weights" .. number, {}
  local update, merge = pushing(net)
  local snapshots = snapshots_of { key = weights, seconds = marks("seconds"), updates = marks("updates") }
  if actor.role == "worker" then co.barrier() end
  local began = actor.now()
  param.run {
    init = function() return { [weights] = net.flat_params } end,
    schedule_local = function() return { weights } end,
    push = function(ctx, entries)
      -- Images and delay depend on seed, rank and step only, so they are the same for all rules.
      local rng, value, chosen = actor.rng(seed, ctx.rank * 2 ^ 32 + #steps), entries[1][2], {}
      for i = 1, opt.batch do chosen[i] = rng:int(1, set.train.n) end
      net.flat_params:copy_(value)
      net:loss(set.train:batch(chosen))
      local pushed = update(value)
      if opt.delay > 0 then actor.sleep(rng:gamma(1, opt.delay)) end
      steps[#steps + 1] = { rank = ctx.rank, step = #steps + 1, seconds = actor.now() - began }
      return { { weights, pushed } }
    end,
    pull = merge, merge = snapshots:rule(), barrier = rule, seconds = false, checkpoint = false,
    stop = function(ctx)
      bar:update((number - 1 + math.min(1, ctx.seconds / opt.seconds)) * opt.seconds, rule .. ", seed " .. seed)
      return snapshots:take(ctx)
    end,
  }
  if actor.role ~= "worker" then return end -- the server continues with the next run
  local points = snapshots:measure(function(value)
    net.flat_params:copy_(value) -- the means of the first layer are from this rank's images
    return { accuracy = net:accuracy(images, labels) }
  end)
  if actor.rank == 0 then param.set(weights, nil) end
  return { barrier = rule, points = points, steps = co.allgather(steps) }
end

print(("data: %s; %d workers, seeds %s to %s, %s pushed"):format(set.source, actor.size, actor.seed,
  actor.seed + opt.seeds - 1, opt.push))
local runs = comparison.runs(opt.barriers, actor.seed, opt.seeds, train)
bar:finish()
if actor.rank ~= 0 then return end

-- Accuracy in per cent at one mark, or at all marks: their mean is the mean of the curve, and varies less than one
-- point.
local function accuracy(by)
  return function(run, mark)
    local found = {}
    for _, point in ipairs(run.points) do
      if point.by == by and (not mark or point.mark == mark) then found[#found + 1] = 100 * point.accuracy end
    end
    return found
  end
end

-- The number of steps that each rank has completed at a time, or at the end of the measured time.
local function completed(run, seconds)
  local counts = {}
  for rank, steps in ipairs(run.steps) do
    local n = 0
    while n < #steps and steps[n + 1].seconds <= (seconds or opt.seconds) do n = n + 1 end
    counts[rank] = n
  end
  return counts
end

local steps = { text = ("steps of a worker in %g s"):format(opt.seconds), of = completed }
local updates = { text = ("accuracy %%, over %g updates"):format(opt.updates), of = accuracy("updates") }
local seconds = { text = ("accuracy %%, over %g s"):format(opt.seconds), of = accuracy("seconds") }
local found = comparison.new(runs)
print(opt.seeds == 1 and "values of one seed" or ("means of %d seeds and their 95 %% intervals"):format(opt.seeds))
print(found:table { steps, updates, seconds })
print(("accuracy over: the mean of the test accuracies at %d marks, the last of them after %g updates or %g s"):format(
  opt.marks, opt.updates, opt.seconds))
local claims = { -- from the literature on barriers
  { "asp and pssp make progress fastest", steps, more = { "asp", "pssp" }, less = { "pbsp", "ssp", "bsp" } },
  { "bsp makes progress slowest", steps, more = { "asp", "pssp", "pbsp", "ssp" }, less = { "bsp" } },
  { "bsp learns most from an update", updates, more = { "bsp" }, less = { "ssp", "pbsp", "pssp", "asp" } },
  { "asp learns least from an update", updates, more = { "bsp", "ssp", "pbsp", "pssp" }, less = { "asp" } },
  { "pbsp and pssp learn most in a time", seconds, more = { "pbsp", "pssp" }, less = { "bsp", "ssp", "asp" } },
}
for _, line in ipairs(found:claims(claims)) do print(line) end

local subtitle = ("%d workers, delays from Gamma(1, %g s), %d seeds; %s pushed"):format(actor.size, opt.delay, opt.seeds,
  opt.push)
local function figure(name, title, measure, by, x, y, band, note)
  folder:figure(name, found:lines {
    title = title, subtitle = subtitle, x = { label = x, min = 0 }, y = y, measure = measure, points = marks(by),
    band = band, notes = { note },
  })
end

local percent = { label = "test accuracy, %", min = 0, max = 100 }
figure("accuracy_updates", "Accuracy against updates", updates, "updates", "updates merged", percent)
figure("accuracy_seconds", "Accuracy against seconds", seconds, "seconds", "seconds", percent)
figure("steps", "Progress of the workers", steps, "seconds", "seconds", { label = "steps completed", min = 0 }, "range",
  "bands: from the slowest worker to the fastest")
folder:csv("accuracy.csv",
  { "barrier", "seed", "by", "mark %g", "seconds %.3f", "updates %d", "accuracy %.4f" }, found:rows("points"))
folder:csv("steps.csv", { "barrier", "seed", "rank", "step", "seconds %.3f" }, found:rows("steps"))
print("figures and numbers: " .. opt.out)
