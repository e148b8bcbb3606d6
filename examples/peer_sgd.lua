-- Linear regression among peers, without a server: `actorhost -n 4 examples/peer_sgd.lua [--barrier pssp:2:4@sticky]`.
-- Model parallel: the ring holds the weights in blocks, and each worker trains the blocks that it owns, about the same
-- number each when there are many blocks. When a worker fails, the others train its blocks.
local actor = require "actor"
local peer, data, tensor = actor.peer, actor.data, actor.tensor
local opt = actor.options { n = 4000, dims = 96, block = 2, batch = 100, steps = 200, lr = 0.2 }

local set = data.regression { n = opt.n, dims = opt.dims, seed = actor.seed } -- y = x . weights + bias + noise
local plan = data.batches { n = opt.n, size = opt.batch, epochs = math.huge, seed = actor.seed + actor.id }
local blocks = {}
for block = 1, opt.dims / opt.block do blocks[block] = block end

local function columns(x, block) return x:slice(2, (block - 1) * opt.block + 1, block * opt.block) end

local summary = peer.run {
  init = function() -- on one worker
    local values = { bias = tensor.zeros(1) }
    for _, block in ipairs(blocks) do values[block] = tensor.zeros(opt.block) end
    return values
  end,
  schedule_local = function() -- the keys that a worker reads
    return { "bias", unpack(blocks) }
  end,
  push = function(ctx, entries) -- the updates of a worker: the gradients of its own blocks
    local positions = plan:positions(ctx.step + 1)
    local x, off, updates = data.batch(set.x, positions), entries[1][2] - data.batch(set.y, positions), {}
    for i = 2, #entries do off = off + columns(x, entries[i][1]):matmul(entries[i][2]) end
    for _, block in ipairs(blocks) do
      if ctx.owns(block) then updates[#updates + 1] = { block, columns(x, block):transpose():matmul(off) / #off } end
    end
    if ctx.owns("bias") then updates[#updates + 1] = { "bias", off:mean(1, true) } end
    return updates
  end,
  pull = function(_, updates) -- at the owner of a block: merges the updates
    local values = {}
    for i, u in ipairs(updates) do values[i] = { u[1], peer.get(u[1]) - opt.lr * u[2] } end
    return values
  end,
  stop = function(ctx) return ctx.step >= opt.steps end,
}

local weights = {}
for _, block in ipairs(blocks) do weights[block] = peer.get(block) end
print(("%d steps of %d workers, %d updates"):format(summary.steps, actor.size, summary.updates))
print(("distance to the true weights: %.4f"):format((tensor.concat(weights, 1) - set.weights):norm()))
