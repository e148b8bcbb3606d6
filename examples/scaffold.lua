-- SCAFFOLD (Karimireddy et al., ICML 2020, algorithm 1 with option II): control variates correct the drift of local
-- steps on different data. The server's variate c travels with the weights; each worker has a variate of its own. Run
-- it with
--     actorhost -n 4 examples/scaffold.lua
-- beside examples/fedavg.lua with the same flags.
local actor = require "actor"
local param, optim, tensor = actor.param, actor.optim, actor.tensor

local opt = actor.options {
  data = "", small = false, rounds = { 30, least = 1, whole = true }, steps = { 20, least = 1, whole = true },
  batch = { 32, least = 1, whole = true }, lr = { 0.1, above = 0 },
}
local task = require "models.federated"(opt)
local net, names, own = task.net, {}, {}
for name, value in actor.pairs(net.params) do
  names[#names + 1], own[name] = name, tensor.zeros(value.shape)
end

local summary = param.run {
  init = function()
    local values = {}
    for _, name in ipairs(names) do
      values[name], values["c " .. name] = net.params[name], tensor.zeros(net.params[name].shape)
    end
    return values
  end,
  schedule_local = function()
    local keys = {}
    for _, name in ipairs(names) do keys[#keys + 1], keys[#keys + 2] = name, "c " .. name end
    return keys
  end,
  push = function(_, entries)
    local value, updates = {}, {}
    for _, entry in ipairs(entries) do value[entry[1]] = entry[2] end
    for _, name in ipairs(names) do net.params[name]:copy_(value[name]) end
    for _ = 1, opt.steps do
      net:loss(task.batch())
      for _, name in ipairs(names) do
        net.params[name]:axpy_(-opt.lr, net.grads[name] - own[name] + value["c " .. name])
      end
    end
    for _, name in ipairs(names) do
      local moved, c = value[name] - net.params[name], value["c " .. name]
      local next_own = own[name] - c + moved / (opt.steps * opt.lr)
      updates[#updates + 1], updates[#updates + 2] = { name, moved }, { "c " .. name, own[name] - next_own }
      own[name] = next_own
    end
    return updates
  end,
  pull = optim.sgd { lr = 1 }, merge = "mean", stop = function(ctx) return ctx.step >= opt.rounds end,
}
for _, name in ipairs(names) do net.params[name]:copy_((param.get(name))) end
if actor.rank == 0 then
  print(("%d rounds, %d pushes, test accuracy %.2f %%"):format(summary.steps, summary.updates, 100 * task.accuracy()))
end
