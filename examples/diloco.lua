-- DiLoCo (Douillard et al., arXiv 2023): workers train with AdamW for many steps, and an outer optimiser with Nesterov
-- momentum applies the mean of their differences, so they rarely communicate. Run it with
--     actorhost -n 4 examples/diloco.lua
-- --fragments 4 sends a quarter of the parameters four times as often; with --overlap 1 the workers train on meanwhile
-- (streaming DiLoCo: Douillard et al., arXiv 2025). Without a barrier, --barrier asp --merge delayed_nesterov:4, the
-- server applies each difference as it arrives.
local actor = require "actor"
local param, optim = actor.param, actor.optim

local opt = actor.options {
  data = "", small = false, net = { "mlp", "cnn" },
  rounds = { 20, least = 1, whole = true }, steps = { 50, least = 1, whole = true },
  batch = { 32, least = 1, whole = true }, lr = { 1e-3, above = 0 }, outer_lr = { 0.7, above = 0 },
  momentum = { 0.9, least = 0 }, fragments = { 1, least = 1, whole = true }, overlap = { 0, least = 0, whole = true },
  mix = { 0, least = 0, about = "own share of a received fragment; 0: the default, which is 0.5 with --overlap" },
}
local task = require "models.federated"(opt)

local summary = param.local_steps {
  net = task.net, batch = task.batch, steps = opt.steps, inner = optim.adamw { lr = opt.lr },
  outer = optim.sgd { lr = opt.outer_lr, momentum = opt.momentum, nesterov = opt.momentum > 0 },
  fragments = opt.fragments, overlap = opt.overlap, mix = opt.mix > 0 and opt.mix or nil,
  stop = function(ctx) return ctx.step >= opt.rounds * opt.fragments end,
}
if actor.rank == 0 then
  local weights = 0
  for _, value in actor.pairs(task.net.params) do weights = weights + value.size end
  local bytes = 4 * weights * summary.updates / opt.fragments
  print(("%d rounds of %d local steps, %.1f MB pushed, test accuracy %.2f %%"):format(summary.steps,
    opt.steps / opt.fragments, bytes / 1e6, 100 * task.accuracy()))
end
