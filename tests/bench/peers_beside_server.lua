-- The problems of peer_sgd.lua and peer_mnist.lua, trained on the parameter server and among peers: the loss over the
-- whole training set after equally many steps of each worker, under each barrier rule. Delays (--inject) make steps so
-- long that the scheduling of the machine's cores does not matter.
-- Usage: actorhost -n 64 --inject "delay=0.1+exp(0.03)" peers_beside_server.lua [--problem sgd|mnist] [--steps N]
-- [--rule NAME]
local actor = require("actor")
local data, nn, optim, tensor, co = actor.data, actor.nn, actor.optim, actor.tensor, actor.collective

local rules = {
  "bsp", "ssp:4", "asp", "pbsp:4@sticky", "pbsp:4@poll:0.05", "pssp:4:4@sticky", "pssp:4:4@poll:0.05",
}
local options = actor.options {
  problem = { "sgd", "mnist" },
  steps = { 0, least = 0, whole = true }, -- of each worker; 0: the default of the problem
  rule = { "all", unpack(rules) },
}

local problems = {}

-- Blocks of weights. Each worker updates its own blocks.
function problems.sgd()
  local width, blocks = 3, math.max(8, actor.size)
  local dims = blocks * width
  local set = data.regression { n = 20 * dims, dims = dims, seed = 1 }
  local keys, values = { "bias" }, { bias = tensor.zeros(1) }
  for block = 1, blocks do
    keys[block + 1], values[block] = block, tensor.zeros(width)
  end
  local function columns(x, block) return x:slice(2, (block - 1) * width + 1, block * width) end
  local function misses(x, y, entries)
    local weights = {}
    for i = 2, #entries do weights[i - 1] = entries[i][2] end
    return x:matmul(tensor.concat(weights, 1)) + entries[1][2] - y
  end
  local problem = { keys = keys, values = values, steps = 100 }
  function problem.start(seed)
    problem.plan = data.batches { n = set.n, size = 2 * dims, epochs = math.huge, seed = seed }
  end
  function problem.push(step, entries)
    local positions = problem.plan:positions(step)
    local x = data.batch(set.x, positions)
    local off, updates = misses(x, data.batch(set.y, positions), entries), {}
    for i = 2 + actor.rank, #entries, actor.size do
      local block = entries[i][1]
      updates[#updates + 1] = { block, columns(x, block):transpose():matmul(off) / #off }
    end
    if actor.rank == 0 then updates[#updates + 1] = { "bias", off:mean(1, true) } end
    return updates
  end
  function problem.pull(updates, get)
    local new, out = {}, {}
    for _, u in ipairs(updates) do new[u[1]] = (new[u[1]] or get(u[1])) - 0.1 * u[2] end
    for key, value in actor.pairs(new) do out[#out + 1] = { key, value } end
    return out
  end
  function problem.loss(entries) return misses(set.x, set.y, entries):norm() ^ 2 / set.n end
  return problem
end

-- Each worker updates all parameters in each step, with its own batches.
function problems.mnist()
  local set = data.mnist()
  local net = nn.sequential {
    nn.linear(784, 32, { seed = 1 }), nn.relu(), nn.linear(32, 10, { seed = 2 }),
  }
  local keys, values = {}, {}
  for name in actor.pairs(net.params) do
    keys[#keys + 1], values[name] = name, net.params[name]:clone()
  end
  local function load(entries)
    local loaded = {}
    for _, e in ipairs(entries) do loaded[e[1]] = e[2] end
    net:load(loaded)
  end
  local problem = { keys = keys, values = values, steps = 150 }
  function problem.start(seed)
    problem.plan = data.batches { n = set.train.n, size = 32, epochs = math.huge, seed = seed }
  end
  function problem.push(step, entries)
    load(entries)
    net:loss(set.train:batch(problem.plan:positions(step)))
    local updates = {}
    for i, name in ipairs(keys) do updates[i] = { name, net.grads[name] } end
    return updates
  end
  problem.pull = optim.sgd { lr = 0.5 / actor.size }
  function problem.loss(entries)
    load(entries)
    local sum, part = 0, set.train.n / 60
    for i = 1, 60 do sum = sum + net:loss(set.train:batch(data.range((i - 1) * part + 1, i * part))) end
    return sum / 60
  end
  return problem
end

local problem = problems[options.problem]()
local steps = options.steps > 0 and options.steps or problem.steps

local function pull_of(engine)
  if type(problem.pull) == "table" then return problem.pull end
  return function(_, updates) return problem.pull(updates, engine.get) end
end

-- Resets all keys, since a previous run may have left values.
local function initial(engine)
  return function()
    for key, value in actor.pairs(problem.values) do engine.set(key, value) end
    return {}
  end
end

local function by_peers(rule)
  return actor.peer.run {
    init = initial(actor.peer),
    schedule = function() return problem.keys end,
    push = function(ctx, entries) return problem.push(ctx.step + 1, entries) end,
    pull = pull_of(actor.peer),
    barrier = rule,
    stop = function(ctx) return ctx.step >= steps end,
  }
end

-- The server schedules each worker for as many steps as it takes among peers.
local function by_server(rule)
  local given, step, all = {}, 0, {}
  for i, key in ipairs(problem.keys) do all[i] = { key } end
  return actor.param.run {
    init = initial(actor.param),
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do
        given[id] = (given[id] or 0) + 1
        tasks[id] = given[id] <= steps and all or nil
      end
      return tasks
    end,
    push = function(_, entries)
      step = step + 1
      return problem.push(step, entries)
    end,
    pull = pull_of(actor.param),
    barrier = (rule:gsub("@.*", "")),
    stop = function(ctx) return ctx.updates >= steps * ctx.workers end,
  }
end

-- The loss after a run and the run's seconds, on rank 0.
local function trained(engine, run, rule)
  problem.start(actor.seed + (actor.id or 0))
  local summary = run(rule)
  local entries = {}
  if actor.rank ~= 0 then return 0, 0 end
  for i, key in ipairs(problem.keys) do entries[i] = { key, (engine.get(key)) } end
  return problem.loss(entries), summary.seconds
end

print(("%s: %d workers, %d steps of each, seed %d"):format(options.problem, actor.size, steps, actor.seed))
print("rule                    peers   server    ratio    seconds")
for _, rule in ipairs(options.rule == "all" and rules or { options.rule }) do
  local server, server_seconds = trained(actor.param, by_server, rule)
  local peers, peers_seconds = trained(actor.peer, by_peers, rule)
  print(("%-20s %8.5f %8.5f %8.3f    %.1f, %.1f"):format(rule, peers, server, peers / server, peers_seconds, server_seconds))
end
