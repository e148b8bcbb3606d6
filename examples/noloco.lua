-- NoLoCo (Kolehmainen et al., arXiv 2506.10911; definition: the authors' code): DiLoCo without a call of all workers.
-- After local steps a worker exchanges two things with one random partner: its progress and its weights before the
-- steps. The outer momentum follows the mean of both. No server. Run it with
--     actorhost -n 4 examples/noloco.lua
local actor = require "actor"
local collective, optim, tensor = actor.collective, actor.optim, actor.tensor

local opt = actor.options {
  data = "", small = false, rounds = { 40, least = 1, whole = true }, steps = { 50, least = 1, whole = true },
  batch = { 32, least = 1, whole = true }, lr = { 1e-3, above = 0 }, outer_lr = { 0.7, above = 0 },
  momentum = { 0.5, least = 0 },
}
local task = require "models.federated"(opt)
local weights = task.net.flat_params -- changed by the local steps
local slow, momentum = weights:clone(), tensor.zeros_like(weights) -- changed once in a round
local inner = optim.adamw { lr = opt.lr }

-- A group with each other worker. A lost member leaves its groups, so its partners average with themselves.
local n, me, pairs_with = actor.size, actor.rank, {}
for other = 0, n - 1 do
  local first, second = math.min(me, other), math.max(me, other)
  if other ~= me then
    pairs_with[other] = collective.group(("pair %d %d"):format(first, second), { first, second })
  end
end

-- The pair of this round: neighbours in an order that all workers draw. With an odd number one worker has no partner.
local function pair_of(round)
  local order, place = {}, nil
  for i = 1, n do order[i] = i - 1 end
  actor.rng(actor.seed, round):shuffle(order)
  for i, worker in ipairs(order) do place = worker == me and i or place end
  return pairs_with[order[place % 2 == 1 and place + 1 or place - 1]]
end

for round = 1, opt.rounds do
  for _ = 1, opt.steps do
    task.net:loss(task.batch())
    inner:step(task.net.params, task.net.grads)
  end
  local own, pair = tensor.stack { weights - slow, slow }, pair_of(round)
  local mean = pair and pair:allreduce(own, "mean") or own
  momentum:mul_(opt.momentum):axpy_(opt.outer_lr, mean:select(1, 1) + mean:select(1, 2) - slow)
  slow:add_(momentum)
  weights:copy_(slow)
end

-- A call of all workers. It fails on all of them after the loss of a worker, and is repeated without that worker.
local function allreduce(value, op)
  local result
  repeat result = collective.allreduce(value, op) until result
  return result
end

weights:copy_(allreduce(slow, "mean"))
local apart = allreduce((slow - weights):norm() / weights:norm(), math.max)
if actor.rank == 0 then
  print(("%d rounds of %d local steps, a worker at most %.1f %% from the mean, test accuracy %.2f %%"):format(opt.rounds,
    opt.steps, 100 * apart, 100 * task.accuracy()))
end
