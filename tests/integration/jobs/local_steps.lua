-- Rounds of local steps (param.local_steps, peer.local_steps), compared with plain loops. The first argument selects
-- the job.
local actor = require "actor"
local expect = require "expect"
local tensor, optim = actor.tensor, actor.optim

local jobs = {}
local names = { "a", "b", "c" }

-- A model with the loss |w - target|^2 / 2 for each parameter; the target depends on the worker.
local function model()
  local net = { params = {}, grads = {} }
  for i, name in ipairs(names) do
    net.params[name] = tensor.full({ 2 }, i, { dtype = "float64" })
    net.grads[name] = tensor.zeros(2, { dtype = "float64" })
  end
  function net:load(values)
    for name, value in pairs(values) do self.params[name]:copy_(value) end
  end
  function net:loss(target)
    for i, name in ipairs(names) do self.grads[name]:copy_(self.params[name] - target * i) end
    return 0
  end
  return net
end

local function target_of(rank) return rank * rank - 1 end

-- The values of the parameters, in order, after `rounds` of `settings`, by a loop over `n` workers.
local function reference(n, rounds, settings)
  local global, velocity, workers = { 1, 2, 3 }, { 0, 0, 0 }, {}
  for r = 0, n - 1 do workers[r] = { own = { 1, 2, 3 }, start = { 1, 2, 3 } } end
  local fragments, overlap = settings.fragments or 1, settings.overlap or 0
  local mix = settings.mix or overlap > 0 and 0.5 or 0
  local steps = math.max(1, math.floor(settings.steps / fragments))
  for round = 0, rounds - 1 do
    local sum = { 0, 0, 0 }
    for r = 0, n - 1 do
      local w = workers[r]
      for i = 1, 3 do
        local sent = round - 1 - overlap
        local received = round == 0 or sent >= 0 and (i - 1) % fragments == sent % fragments
        if received then
          w.own[i] = round == 0 and global[i] or mix * w.own[i] + (1 - mix) * global[i]
          w.start[i] = global[i]
        end
        for _ = 1, steps do
          local slope = w.own[i] - target_of(r) * i + (settings.prox or 0) * (w.own[i] - w.start[i])
          w.own[i] = w.own[i] - 0.1 * slope
        end
        sum[i] = sum[i] + (w.start[i] - w.own[i]) * (settings.weights and settings.weights[r + 1] or 1)
      end
    end
    for i = 1, 3 do
      if (i - 1) % fragments == round % fragments then
        local slope, momentum = sum[i] / n, settings.momentum or 0
        velocity[i] = momentum * velocity[i] + slope
        local move = momentum > 0 and slope + momentum * velocity[i] or slope
        global[i] = global[i] - (settings.lr or 1) * move
      end
    end
  end
  return global
end

local function check(net, expected)
  for i, name in ipairs(names) do
    local got = net.params[name]
    assert(math.abs(got[1] - expected[i]) < 1e-9 and got[1] == got[2], ("%s: %.12f, expected %.12f"):format(name, got[1], expected[i]))
  end
end

-- Makes rounds of a method, and compares the values.
local function check_rounds(engine, method)
  local settings = ({
    fedavg = { steps = 4 },
    prox = { steps = 4, prox = 0.5 },
    diloco = { steps = 3, momentum = 0.9, lr = 0.7 },
    fragments = { steps = 7, fragments = 3 },
    mixed = { steps = 6, fragments = 2, mix = 0.25, lr = 0.7, momentum = 0.5 },
    overlap = { steps = 6, fragments = 3, overlap = 1, momentum = 0.9, lr = 0.7 },
    overlap_two = { steps = 3, fragments = 3, overlap = 2, mix = 0.25 },
    weighted = { steps = 2, weights = { 0.5, 2, 1, 0.25, 1.5 } },
  })[method]
  local net, rounds, size = model(), 6, actor.size
  actor[engine].local_steps {
    net = net, steps = settings.steps, inner = optim.sgd { lr = 0.1 }, batch = function() return target_of(actor.rank) end,
    outer = (settings.lr or settings.momentum) and optim.sgd {
      lr = settings.lr or 1, momentum = settings.momentum, nesterov = settings.momentum and true or nil,
    } or nil,
    prox = settings.prox, fragments = settings.fragments, overlap = settings.overlap, mix = settings.mix,
    weight = settings.weights and function(ctx) return settings.weights[ctx.rank + 1] end or nil,
    barrier = not settings.overlap and "bsp" or nil, stop = function(ctx) return ctx.step >= rounds end,
  }
  if actor.role ~= "worker" then return end -- a server, which goes on to the next run
  check(net, reference(size, rounds, settings))
  actor.collective.barrier()
  if actor.rank == 0 then -- for the next method
    for _, name in ipairs(names) do actor[engine].set(name, nil) end
  end
  actor.collective.barrier()
end

-- The rounds of several methods have the values of the loop.
-- case: rounds param fedavg,prox,diloco,fragments,mixed,overlap,overlap_two,weighted at: rehearsal:{1,2,5}
-- case: rounds param overlap,overlap_two flags: --inject delay=exp(0.05) at: rehearsal:5
-- case: rounds param fedavg,diloco,overlap at: {threads,isolate,hosts}
-- case: rounds peer fedavg,prox,fragments,weighted at: rehearsal:{1,3,4}
function jobs.rounds(engine, methods)
  for method in methods:gmatch("[^,]+") do check_rounds(engine, method) end
end

-- Peers receive newer differences of fast workers with a fragment, so the values are not those of the loop; they end at
-- the mean of the targets.
-- case: overlap_of_peers at: rehearsal:{1,2,4}
-- case: overlap_of_peers flags: --inject delay=exp(0.02) at: rehearsal:4
function jobs.overlap_of_peers()
  local net, mean = model(), 0
  for rank = 0, actor.size - 1 do mean = mean + target_of(rank) / actor.size end
  actor.peer.local_steps {
    net = net, steps = 6, fragments = 3, overlap = 1, inner = optim.sgd { lr = 0.1 },
    batch = function() return target_of(actor.rank) end, stop = function(ctx) return ctx.step >= 150 end,
  }
  for i, name in ipairs(names) do
    assert(math.abs(net.params[name][1] - mean * i) < 0.02 * i * math.max(1, math.abs(mean)), net.params[name][1] .. " " .. mean * i)
  end
end

-- adjust changes the gradients of each local step.
-- case: adjusted at: rehearsal:2
function jobs.adjusted()
  local net = model()
  actor.param.local_steps {
    net = net, steps = 4, inner = optim.sgd { lr = 0.1 }, batch = function() return target_of(actor.rank) end,
    adjust = function(model_, start)
      for _, name in ipairs(names) do model_.grads[name]:axpy_(0.5, model_.params[name] - start[name]) end
    end,
    stop = function(ctx) return ctx.step >= 6 end,
  }
  check(net, reference(actor.size, 6, { steps = 4, prox = 0.5 }))
end

-- A slow worker makes fewer steps in a round, so no worker waits long.
-- case: by_speed {param,peer} flags: --barrier {bsp,asp} at: rehearsal:3
function jobs.by_speed(engine)
  local net, batches, rounds = model(), 0, 0
  actor[engine].local_steps {
    net = net, steps = 12, by_speed = true, inner = optim.sgd { lr = 0.1 },
    batch = function()
      batches = batches + 1
      actor.sleep(actor.rank == 0 and 0.01 or 0.04)
      return 1
    end,
    weight = function(ctx)
      rounds = ctx.step + 1
      return 1
    end,
    stop = function(ctx) return ctx.step >= 10 end,
  }
  local mean = batches / rounds -- 12 for the fast worker; 12 in the first rounds and then 3 for the others
  assert(actor.rank == 0 and mean == 12 or actor.rank > 0 and mean >= 3 and mean < 6, mean)
end

-- After an infinite loss or NaN with on_nan = "skip" the difference is 0.
-- case: not_finite flags: --barrier bsp at: rehearsal:2
function jobs.not_finite()
  local net = model()
  function net:loss() return 0 / 0 end
  actor.param.local_steps {
    net = net, steps = 2, inner = optim.sgd { lr = 0.1 }, batch = function() return 1 end, on_nan = "skip",
    stop = function(ctx) return ctx.step >= 3 end,
  }
  check(net, { 1, 2, 3 })
end

-- A loss of NaN restores all parameters, also those of fragments that later rounds send.
-- case: restored flags: --barrier bsp at: rehearsal:2
function jobs.restored()
  local net, calls = model(), 0
  function net:loss()
    calls = calls + 1
    for _, name in ipairs(names) do self.grads[name]:zero_() end
    if calls > 1 then return 0 end
    self.params.b:fill_(0 / 0)
    return 0 / 0
  end
  actor.param.local_steps {
    net = net, steps = 3, fragments = 3, inner = optim.sgd { lr = 0.1 }, batch = function() return 1 end,
    on_nan = "skip", stop = function(ctx) return ctx.step >= 4 end,
  }
  check(net, { 1, 2, 3 })
end

-- Wrong options are errors at the call.
-- case: wrong at: rehearsal:1
function jobs.wrong()
  local function call(engine, changes)
    local options = { net = model(), steps = 2, inner = optim.sgd { lr = 0.1 }, batch = function() end }
    for name, value in pairs(changes) do options[name] = value end
    return function() actor[engine].local_steps(options) end
  end
  expect.raises(call("param", { pull = optim.sgd { lr = 1 } }), "makes 'pull' itself; the outer optimiser is `outer`")
  expect.raises(call("param", { steps = 0 }), "bad argument 'steps' to param.local_steps")
  expect.raises(call("param", { innner = 3 }), "unknown option 'innner' to param.local_steps")
  expect.raises(call("param", { fragments = 4 }), "bad argument 'fragments' to param.local_steps")
  expect.raises(call("param", { mix = 2 }), "bad argument 'mix' to param.local_steps")
  expect.raises(call("param", { overlap = 2, fragments = 2 }), "fragments must be at least 3; it is 2")
  expect.raises(call("param", { inner = {} }), "bad argument 'inner' to param.local_steps")
  expect.raises(call("param", { net = {} }), "bad argument 'net' to param.local_steps")
  expect.raises(call("peer", { outer = optim.sgd { lr = 1, momentum = 0.5 } }), "so it has no momentum here")
end

jobs[(...)](select(2, ...))
