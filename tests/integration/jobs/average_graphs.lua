-- Averaging with graphs (actor.graph). The first argument selects the job.
local actor = require "actor"
local graph = require "actor.graph"
local expect = require "expect"
local average, co = actor.average, actor.collective

local jobs = {}

local graphs = {
  directed = function(round, id, n) -- unequal shares in one direction, so it needs push-sum
    return n > 1 and { [(id + 1 + round % 2) % n ~= id and (id + 1 + round % 2) % n or (id + 1) % n] = 0.2 + 0.1 * (id % 3) } or {}
  end,
  periodic = graph.periodic("ring", 4),
}

local function sum_of(x) return co.allreduce(actor.tensor.full({ 1 }, x, { dtype = "float64" }))[1] end

-- Without steps all models reach the mean; exact graphs reach it after one period.
-- case: reach_the_mean ring,pairs,exponential,one_peer,base:1,base:2,regular:4,matcha:0.5,directed,periodic at: rehearsal:{1,2,3,5,8}
-- case: reach_the_mean one_peer,base:2,directed at: {threads,isolate,hosts}
function jobs.reach_the_mean(names)
  for name in names:gmatch("[^,]+") do
    local made = graph.of(graphs[name] or name, "test")
    local x = actor.tensor.full({ 3000 }, actor.rank ^ 2, { dtype = "float64" })
    local handle = average.start(x, { sync_interval_ms = 5, peers = graphs[name] or name })
    local n, mean = actor.size, 0
    for rank = 0, n - 1 do mean = mean + rank ^ 2 / n end
    local power_of_two = 2 ^ math.floor(math.log(n) / math.log(2) + 0.5) == n
    local exact = name:find("base", 1, true) or name == "one_peer" and power_of_two
    local wanted = exact and made.period(n) or 120
    repeat actor.sleep(0.001) until handle:stats().rounds >= wanted
    handle:lock()
    local error = math.abs(x[1] - mean)
    assert(x:min() == x:max() and error < (exact and 1e-9 or 1e-3), name .. " " .. error)
    assert(exact or handle:stats().distance < 1e-3, handle:stats().distance)
    handle:unlock()
    handle:abort()
    assert(math.abs(x[1] - mean) < 1e-3)
  end
end

-- Steps add up: rounds of every graph with equal shares keep the sum of the models.
-- case: keep_the_sum ring,pairs,base:1,regular:2,matcha:0.4,periodic at: rehearsal:{2,5}
function jobs.keep_the_sum(names)
  local rng = actor.rng(actor.seed, actor.rank)
  for name in names:gmatch("[^,]+") do
    local x, steps = actor.tensor.zeros(500, { dtype = "float64" }), 0
    local handle = average.start(x, { sync_interval_ms = 3, peers = graphs[name] or name })
    while steps < 60 do
      steps = steps + 1
      handle:step(function()
        actor.sleep(rng:uniform(0, 0.004))
        x:add_(1)
      end)
    end
    handle:abort()
    assert(math.abs(x[1] - sum_of(steps) / actor.size) < 1e-9, name .. " " .. x[1])
  end
end

-- A worker that fails: the graph is made for the remaining workers, and they continue.
-- case: a_worker_fails {base:1,one_peer,pairs,matcha:0.5} flags: --codes 0,3 --faults kill=1,within=100ms at: rehearsal:4
function jobs.a_worker_fails(name)
  local x = actor.tensor.full({ 100 }, actor.rank, { dtype = "float64" })
  local handle = average.start(x, { sync_interval_ms = 10, peers = name })
  local till = actor.now() + 3
  while actor.now() < till do
    handle:step(function() actor.sleep(0.005) end)
  end
  handle:lock()
  assert(x[1] >= 0 and x[1] <= 3)
  handle:unlock()
  assert(handle:stats().rounds > 50, handle:stats().rounds)
  handle:abort()
end

-- After a loss the graph is made for the remaining workers.
-- case: a_graph_follows_a_loss flags: --codes 0,3 --faults kill=1,within=100ms at: rehearsal:{2,4}
function jobs.a_graph_follows_a_loss()
  local seen = {}
  local x = actor.tensor.zeros(10)
  local handle = average.start(x, { sync_interval_ms = 10, peers = function(_, id, n)
    seen[n] = true
    return { [(id + 1) % n] = 0.5 } -- of one worker too
  end })
  local size, till = actor.size, actor.now() + 8
  while actor.now() < till do
    handle:step(function() actor.sleep(0.01) end)
  end
  assert(actor.size < size, actor.size)
  assert(actor.rank > 0 or actor.size == 1 or seen[actor.size], actor.size)
  handle:abort()
end

-- A graph without a period does not repeat: workers exchange their models in odd rounds below 64, and never after them.
-- case: without_a_period at: rehearsal:{2,3}
function jobs.without_a_period()
  local x, most = actor.tensor.zeros(10), 0
  local handle = average.start(x, { sync_interval_ms = 5, peers = function(round, id, n)
    most = math.max(most, round)
    return round < 64 and round % 2 == 1 and { [(id + 1) % n] = 0.5 } or {}
  end })
  local function step_until(rounds)
    while handle:stats().rounds < rounds do
      handle:step(function() actor.sleep(0.001) end)
    end
  end
  step_until(100)
  local bytes = handle:stats().bytes
  step_until(200)
  assert(handle:stats().bytes == bytes and bytes > 0, handle:stats().bytes - bytes)
  assert(actor.rank > 0 or most >= 200, most)
  handle:abort()
end

-- Wrong graphs are refused at the start.
-- case: wrong at: rehearsal:3
function jobs.wrong()
  local x = actor.tensor.zeros(2)
  expect.raises(function() average.start(x, { peers = function(_, id) return id == 0 and { [1] = 2 } or {} end }) end,
    "worker 0 sends the share 2")
  expect.raises(function() average.start(x, { peers = function(_, id) return id < 2 and { [1 - id] = 0.5 } or {} end }) end,
    "does not connect 3 workers, so their models never meet")
  expect.raises(function() average.start(x, { peers = "rng" }) end, "there is no graph 'rng'")
end

jobs[(...)](select(2, ...))
