-- Federated averaging (McMahan et al., AISTATS 2017): workers with different digits make local steps, and the server
-- averages their models, each by its number of images. --prox 0.1 keeps the local models near the server's (FedProx:
-- Li et al., MLSys 2020). Run it with
--     actorhost -n 4 examples/fedavg.lua
-- and compare --steps 1 and --steps 50. With slow workers (--inject straggler=0.5:4x before the script) compare
-- --by-speed after it, and --barrier grace:0.05 before it.
local actor = require "actor"
local param, optim = actor.param, actor.optim

local opt = actor.options {
  data = "", small = false, rounds = { 30, least = 1, whole = true }, steps = { 20, least = 1, whole = true },
  batch = { 32, least = 1, whole = true }, lr = { 0.1, above = 0 }, prox = { 0, least = 0 }, by_speed = false,
}
local task = require "models.federated"(opt)

local summary = param.local_steps {
  net = task.net, batch = task.batch, steps = opt.steps, by_speed = opt.by_speed,
  inner = optim.sgd { lr = opt.lr }, prox = opt.prox > 0 and opt.prox or nil,
  weight = task.examples * actor.size / task.total,
  stop = function(ctx) return ctx.step >= opt.rounds end,
}
if actor.rank == 0 then
  print(("%d rounds, %d pushes, test accuracy %.2f %%"):format(summary.steps, summary.updates, 100 * task.accuracy()))
end
