-- MNIST among peers, data parallel: each worker takes its own batches; the ring holds the parameters. Try --barrier
-- bsp, ssp:4, pssp:2:4@sticky, -n 6, --isolate, or three machines.
local actor = require "actor"
local peer, optim, data, nn = actor.peer, actor.optim, actor.data, actor.nn
local opt = actor.options { data = "", hidden = 64, epochs = 2, batch = 32, lr = math.min(0.1, 1 / actor.size) }

local set = data.mnist(opt.data ~= "" and opt.data or nil)
local net = nn.sequential {
  nn.linear(784, opt.hidden, { seed = actor.seed }), nn.relu(), nn.linear(opt.hidden, 10, { seed = actor.seed + 1 }),
}
local names = {}
for name in actor.pairs(net.params) do names[#names + 1] = name end
local plan = data.batches { n = set.train.n, size = opt.batch, epochs = math.huge, seed = actor.seed + actor.id }
local steps = math.floor(opt.epochs * set.train.n / opt.batch / actor.size)

local function load(entries)
  local values = {}
  for _, e in ipairs(entries) do values[e[1]] = e[2] end
  net:load(values)
end

local summary = peer.run {
  init = function() return net.params end,
  schedule_local = function() return names end,
  push = function(ctx, entries)
    load(entries)
    actor.report("loss", net:loss(set.train:batch(plan:positions(ctx.step + 1))))
    local updates = {}
    for i, name in ipairs(names) do updates[i] = { name, net.grads[name] } end
    return updates
  end,
  pull = optim.sgd { lr = opt.lr },
  stop = function(ctx) return ctx.step >= steps end,
}

local entries = {}
for i, name in ipairs(names) do entries[i] = { name, peer.get(name) } end
load(entries)
print(("%d updates by %d workers in %.1f s"):format(summary.updates, actor.size, summary.seconds))
print(("test accuracy: %.2f %%"):format(100 * net:accuracy(set.test:batch(data.range(1, set.test.n)))))
