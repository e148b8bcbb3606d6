-- Trains MNIST through the parameter server: server 0 deals out batches, workers send gradients, the server applies
-- them. Try --barrier bsp, ssp:4, asp, pbsp:2 or a rule of your own, -n 6, --isolate, or three machines (see the
-- README).
local actor = require "actor"
local param, optim, data, nn, tensor = actor.param, actor.optim, actor.data, actor.nn, actor.tensor

local lr = math.min(0.1, 1 / actor.size) -- the updates of all workers add up
local opt = actor.options {
  data = { "", about = "folder of the MNIST files" }, model = { "mlp", about = "mlp has a hidden layer, others none" },
  hidden = { 128, about = "width of the hidden layer" }, epochs = { 5, about = "passes over the images" },
  batch = { 32, about = "images of a push" }, lr = { lr, about = "learning rate" },
  save = { 0, about = "steps between two checkpoints, with --checkpoint" },
}
local set = data.mnist(opt.data ~= "" and opt.data or nil)
local batches = data.batches { n = set.train.n, size = opt.batch, epochs = opt.epochs, seed = actor.seed }

local layers = { nn.linear(784, opt.model == "mlp" and opt.hidden or 10, { seed = actor.seed }) }
if opt.model == "mlp" then
  layers[2], layers[3] = nn.relu(), nn.linear(opt.hidden, 10, { seed = actor.seed + 1 })
end
local net = nn.sequential(layers)
local names = {}
for name in actor.pairs(net.params) do names[#names + 1] = name end

local function test_accuracy(samples)
  local right = 0
  for first = 1, samples, 1000 do
    local last = math.min(first + 999, samples)
    right = right + net:accuracy(set.test:batch(data.range(first, last))) * (last - first + 1)
  end
  return right / samples
end

print(("data: %s, %d images to train, %d to test"):format(set.source, set.train.n, set.test.n))
local bar = actor.progress.new { total = 1, label = "training" }
local steps, epoch, sum, count, began = 0, 1, 0, 0, actor.now()

local summary = param.run {
  tasks = batches, -- records the merged batches: a resumed run, or a run with lost workers, deals out the rest
  init = function() return net.params end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do
      local number = batches:next(id)
      if number then
        tasks[id] = { task = number, { "batch", number } }
        for _, name in ipairs(names) do table.insert(tasks[id], { name }) end
      end
    end
    bar:update(batches:fraction(), "epoch " .. batches:epoch())
    return tasks
  end,
  push = function(_, entries)
    local number, values = entries[1][2], {}
    for i = 2, #entries do values[entries[i][1]] = entries[i][2] end
    net:load(values)
    if actor.rank == 0 and count > 0 and batches:where(number).epoch > epoch then
      local samples = math.min(2000, set.test.n)
      print(("epoch %d, %.1f s: loss %.4f, accuracy on %d test images %.2f %%"):format(epoch, actor.now() - began,
        sum / count, samples, 100 * test_accuracy(samples)))
      sum, count = 0, 0
    end
    epoch = batches:where(number).epoch
    local loss = net:loss(set.train:batch(batches:positions(number)))
    actor.report("loss", loss) -- for observers of the run
    steps, sum, count = steps + 1, sum + loss, count + 1
    local updates = {}
    for i, name in ipairs(names) do updates[i] = { name, net.grads[name] } end
    return updates
  end,
  pull = optim.sgd { lr = opt.lr },
  stop = function() return batches:finished() end,
  checkpoint = opt.save > 0 and { steps = opt.save } or nil, -- --save 100: every 100 steps
}
bar:finish()

local mine = tensor.zeros(actor.size)
mine:set(actor.rank + 1, steps)
local all = actor.collective.allreduce(mine)
if actor.rank == 0 then
  local values = {}
  for _, name in ipairs(names) do values[name] = param.get(name) end
  net:load(values)
  print(("%d updates in %.1f s: %.0f a second"):format(summary.updates, summary.seconds,
    summary.updates / summary.seconds))
  print(("steps of each worker: %s, spread %d"):format(table.concat(all:totable(), " "), all:max() - all:min()))
  print("weights: " .. actor.hash(values))
  print(("test accuracy: %.2f %%"):format(100 * test_accuracy(set.test.n)))
end
