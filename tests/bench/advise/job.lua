-- Trains the simulator's linear model with a parameter server until the loss reaches a target, on workers of different
-- speeds. Prints the time. Arguments: --speeds KIND --rate R --loss L --limit SECONDS; the seed is the run's.
local actor = require "actor"
local param, tensor = actor.param, actor.tensor

local opt = actor.options {
  speeds = { "equal", "exponential", "pareto", "straggler", "groups", "lognormal", "changing" },
  rate = 0.05, -- of SGD
  loss = 0.1,  -- the target
  limit = 300, -- seconds at most
}

local base = 0.5 -- seconds of work in a step, on average

-- By kind: the factor of a step of worker `id`; `rng` is of the worker and the step, `own` of the worker.
local kinds = {}

function kinds.equal(rng) return 0.8 + rng:gamma(1, 0.2) end

function kinds.exponential(rng) return rng:gamma(1, 1) end

function kinds.pareto(rng) return math.min(100, 0.33 * rng:uniform() ^ (-1 / 1.5)) end

function kinds.straggler(rng, id) return (id % 4 == 1 and 5 or 0.7) * (0.8 + rng:gamma(1, 0.2)) end

function kinds.groups(rng, id) return (id % 2 == 0 and 0.6 or 1.4) * (0.8 + rng:gamma(1, 0.2)) end

function kinds.lognormal(rng, _, own) return math.exp(0.8 * own:normal()) * (0.6 + rng:gamma(1, 0.4)) end

-- A worker is slow for 15 seconds at a time.
function kinds.changing(rng, id)
  local slow = actor.rng(actor.seed, 10 ^ 6 + 1000 * math.floor(actor.now() / 15) + id):uniform() < 0.2
  return (slow and 5 or 0.8) * (0.8 + rng:gamma(1, 0.2))
end

local model = actor.sim.train.models.linear()
local start = model.init(actor.rng(actor.seed), { nodes = actor.size, seed = actor.seed, time = opt.limit })
local value = tensor(start.weights) -- on the server
local loss, reached, steps = math.huge, nil, 0

param.run {
  init = function() return { w = tensor(start.weights) } end,
  schedule_local = function() return { "w" } end,
  push = function(ctx, entries)
    local rng = actor.rng(actor.seed, (ctx.id + 1) * 2 ^ 24 + steps)
    steps = steps + 1
    local gradient = model.gradient({ weights = entries[1][2]:totable() }, ctx.id, steps, rng)
    actor.sleep(base * kinds[opt.speeds](rng, ctx.id, actor.rng(actor.seed, ctx.id + 1)))
    return { { "w", tensor(gradient) } }
  end,
  pull = function(_, updates)
    for _, update in ipairs(updates) do value:axpy_(-opt.rate * (update.weight or 1), update[2]) end
    loss = model.loss { weights = value:totable() }
    return { { "w", value:clone() } }
  end,
  stop = function(ctx)
    if loss <= opt.loss then reached = ctx.seconds end
    if not reached and ctx.seconds <= opt.limit then return false end
    actor.log.info(("reached %s"):format(reached and ("%.6f"):format(reached) or "nothing"))
    return true
  end,
}
