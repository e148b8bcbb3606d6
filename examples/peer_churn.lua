-- Nodes join and leave during training: `actorhost -n 8 examples/peer_churn.lua`. Each worker trains its own model,
-- mixes it with the model of a random other worker (gossip SGD: Blot et al., 2016), and stores it on the ring, where it
-- stays available after the worker has left. Every two seconds another quarter of the workers leaves. Rank 0 prints its
-- estimate of the number of workers beside the true number. Hosts, including the first, may also join and be killed:
-- start the job with --nnodes 1:4 --rdzv-endpoint HOST:PORT, and run the same command on other machines.
local actor = require "actor"
local peer, data, tensor = actor.peer, actor.data, actor.tensor
local opt = actor.options { seconds = 12, dims = 20, batch = 20, lr = 0.01 }

local set = data.regression { n = 2000, dims = opt.dims, seed = actor.seed } -- y = x . weights + bias + noise
local plan = data.batches { n = set.n, size = opt.batch, epochs = math.huge, seed = actor.seed + actor.id }
local mine = "model of " .. actor.id
local model = { weights = tensor.zeros(opt.dims), bias = 0 }

local function misses(x, y) return x:matmul(model.weights) + model.bias - y end

local function train(step)
  local positions = plan:positions(step)
  local x, y = data.batch(set.x, positions), data.batch(set.y, positions)
  local off = misses(x, y)
  model.weights = model.weights - opt.lr / #off * x:transpose():matmul(off)
  model.bias = model.bias - opt.lr * off:mean()
end

local function mix()
  local other = assert(peer.sample(1))[1]
  local theirs = other and peer.get("model of " .. other.id)
  if theirs then
    model.weights, model.bias = (model.weights + theirs.weights) / 2, (model.bias + theirs.bias) / 2
  end
  peer.set(mine, model)
end

local function shift() return math.floor(os.time() / 2) end

local function away(rank) return rank > 0 and (rank + shift()) % 4 == 0 end

local function report(step)
  local truth, counted, error = 0, peer.size_estimate()
  for rank = 0, actor.size - 1 do truth = truth + (away(rank) and 0 or 1) end
  print(("step %d: %d peers, counted %.1f +- %.1f, loss %.4f"):format(step, truth, counted, error,
    misses(set.x, set.y):norm() ^ 2 / set.n))
end

local began, reported, step = actor.now(), shift(), 0
while actor.now() - began < opt.seconds do
  if away(actor.rank) then
    peer.leave()
    while away(actor.rank) do actor.sleep(0.1) end
    model = peer.get(mine) or model -- rejoins, and reads the model that it stored
  end
  step = step + 1
  train(step)
  mix()
  actor.sleep(0.02) -- simulates a longer step
  if actor.rank == 0 and reported < shift() and os.time() % 2 == 1 then -- in the middle of a shift
    report(step)
    reported = shift()
  end
end
