--- Graphs of averaging: exact means, connections, wrong graphs.
local graph = require("actor.graph")
local matchings = require("actor.graph.matchings")
local rng = require("actor.rng")

local function random_values(n)
  local values, random, sum = {}, rng(n, 7), 0
  for i = 1, n do
    values[i] = random:normal()
    sum = sum + values[i]
  end
  return values, sum / n
end

test("base-(k+1) is exact after its rounds for every number of workers up to 64, with at most k partners", function()
  for k = 1, 4 do
    local base = graph.base(k)
    for n = 1, 64 do
      local values, mean = random_values(n)
      local rounds = base.period(n)
      local distances, out = graph.spread(base, values, rounds)
      holds(distances[rounds], "<", 1e-12, ("k %d, n %d"):format(k, n))
      near(out[1], mean, 1e-12)
      for round = 0, rounds - 1 do
        local rows = graph.shares(base, round, n)
        for i = 0, n - 1 do
          local partners = 0
          for j, share in pairs(rows[i]) do
            partners = partners + 1
            near(rows[j][i], share, 1e-15, "symmetric")
          end
          holds(partners, "<=", k, ("k %d, n %d, round %d"):format(k, n, round))
        end
      end
      holds(rounds, "<=", math.max(1, 2 * math.log(n) / math.log(k + 1) + 2), ("k %d, n %d"):format(k, n))
    end
  end
  -- Lengths of the authors' code.
  local lengths = {}
  for _, n in ipairs { 5, 6, 10, 12, 24, 25, 32 } do lengths[#lengths + 1] = graph.base(1).period(n) end
  equal(lengths, { 5, 4, 6, 5, 6, 9, 5 })
end)

test("the one-peer exponential graph is exact for powers of two, and push-sum keeps the mean otherwise", function()
  for _, n in ipairs { 2, 4, 8, 64 } do
    local values, mean = random_values(n)
    local p = graph.one_peer.period(n)
    local distances, out = graph.spread("one_peer", values, p)
    holds(distances[p], "<", 1e-12)
    near(out[n], mean, 1e-12)
  end
  for _, n in ipairs { 3, 5, 7, 12 } do
    local values, mean = random_values(n)
    local _, out = graph.spread("one_peer", values, 60)
    near(out[1], mean, 1e-6, "n " .. n)
  end
end)

test("every graph is connected and reaches the mean, for any number of workers", function()
  local unequal = graph.of(function(round, id, n) -- directed, with different shares
    return n > 1 and { [(id + 1) % n] = 0.1 + 0.05 * (id % 3), [(id + 1 + round % 2) % n ~= id and (id + 1 + round % 2) % n or (id + 1) % n] = 0.2 } or {}
  end, "test")
  for _, spec in ipairs { "ring", "complete", "exponential", "one_peer", "pairs", "base:1", "base:3", "regular:4",
    "matcha:0.5", graph.matcha("regular:4", 0.3), graph.periodic("ring", 5), unequal } do
    for _, n in ipairs { 1, 2, 3, 5, 8, 16 } do
      local made = graph.of(spec, "test")
      equal(graph.is_connected(made, n), true, made.name .. " " .. n)
      local values, mean = random_values(n)
      local distances, out = graph.spread(made, values, 800)
      holds(distances[800], "<", 1e-6, made.name .. " " .. n)
      near(out[1], mean, 1e-6, made.name .. " " .. n)
    end
  end
  equal(graph.is_connected(function(_, id, n) return id < 2 and n > 1 and { [1 - id] = 0.5 } or {} end, 4), false)
  equal(graph.is_connected(function(_, id) return id > 0 and { [0] = 0.5 } or {} end, 3), false) -- none receives from 0
  equal(graph.is_connected(function(_, id, n) return { [(id + 1) % n] = 0.5 } end, 3), true)
  equal(graph.is_connected("ring", 3), true)
  equal(graph.shares(function(_, id, n) return { [(id + 1) % n] = 0.5 } end, 0, 1), { [0] = {} })
  raises(function() graph.of("base:.", "t") end, "there is no graph 'base:.'")
end)

test("periodic averages all workers in every so many rounds", function()
  local distances = graph.spread(graph.periodic("ring", 3), { 1, 0, 0, 0, 0, 0 }, 3)
  holds(distances[2], ">", 0.1)
  near(distances[3], 0, 1e-15)
end)

-- All pairs of 10 workers on a ring with chords.
local function chords()
  local edges = {}
  for i = 0, 9 do
    edges[#edges + 1] = { i, (i + 1) % 10 }
    if i % 3 == 0 then edges[#edges + 1] = { i, (i + 5) % 10 } end
  end
  return edges
end

test("matchings have each edge once and no worker twice, and their probabilities keep the budget", function()
  local edges, count = chords(), 0
  local plan = matchings.plan(10, edges, 0.5)
  for _, matching in ipairs(plan.parts) do
    local used = {}
    for _, e in ipairs(matching) do
      equal({ used[e[1]], used[e[2]] }, {})
      used[e[1]], used[e[2]], count = true, true, count + 1
    end
  end
  equal(count, #edges)
  local sum = 0
  for _, chance in ipairs(plan.chances) do sum = sum + chance end
  near(sum, 0.5 * #plan.parts, 1e-9)
  holds(plan.connectivity, ">", 0)
  holds(plan.share, ">", 0)
  holds(plan.bound, "<", 1)
end)

test("a bridge between two parts of a graph is active more often than any other matching", function()
  local edges = { { 0, 3 } } -- two triangles with a bridge
  for _, first in ipairs { 0, 3 } do
    for i = 0, 2 do edges[#edges + 1] = { first + i, first + (i + 1) % 3 } end
  end
  local plan = matchings.plan(6, edges, 0.5)
  local bridge, others = 0, 0
  for k, matching in ipairs(plan.parts) do
    local has_bridge = false
    for _, e in ipairs(matching) do has_bridge = has_bridge or e[1] == 0 and e[2] == 3 end
    if has_bridge then bridge = plan.chances[k] else others = math.max(others, plan.chances[k]) end
  end
  holds(bridge, ">", others)
end)

test("the bound of the consensus rate holds for the mean of many rounds", function()
  local plan, sum = matchings.plan(10, chords(), 0.5), 0
  for trial = 1, 400 do
    local values, laplacian = {}, {}
    local random, mean = rng(trial, 3), 0
    for i = 0, 9 do
      values[i], laplacian[i] = random:normal(), 0
      mean = mean + values[i] / 10
    end
    for _, matching in ipairs(matchings.active(plan, 1, trial)) do
      for _, e in ipairs(matching) do
        local flow = plan.share * (values[e[2]] - values[e[1]])
        laplacian[e[1]], laplacian[e[2]] = laplacian[e[1]] + flow, laplacian[e[2]] - flow
      end
    end
    local before, after = 0, 0
    for i = 0, 9 do
      before = before + (values[i] - mean) ^ 2
      after = after + (values[i] + laplacian[i] - mean) ^ 2
    end
    sum = sum + after / before / 400
  end
  holds(sum, "<", plan.bound)
  holds(sum, ">", 0.1)
end)

test("wrong graphs are errors with their name, round and worker", function()
  local function spread(fn) return function() graph.spread(fn, { 1, 2 }, 1) end end
  raises(spread(function() return { [2] = 0.5 } end), "graph 'graph_spec.lua:%d+': in round 0 worker 0 of 2 sends to worker 2")
  raises(spread(function(_, id) return { [id] = 0.5 } end), "worker 0 of 2 sends to worker 0")
  raises(spread(function(_, id) return { [1 - id] = -1 } end), "worker 0 sends the share %-1")
  raises(spread(function(_, id) return { [1 - id] = 2 } end), "worker 0 sends the share 2")
  raises(spread(function() end), "returned nil, expected a table")
  raises(function() graph.of("rng", "average.start") end, "average.start: there is no graph 'rng'.*did you mean ring")
  raises(function() graph.of(3, "average.start") end, "bad argument 'graph' to average.start")
  raises(function() graph.regular(3) end, "expected an even number, got 3")
  raises(function() graph.matcha("ring", 0) end, "bad argument 'budget' to graph.matcha: expected a number above 0, got 0")
  raises(function() graph.matcha("ring", 2) end, "bad argument 'budget' to graph.matcha")
  raises(function() graph.of("matcha:x", "t") end, "there is no graph 'matcha:x'.*matcha:BUDGET; did you mean matcha")
  raises(function() graph.base(0) end, "bad argument 'k' to graph.base")
  equal(tostring(graph.of("base:2", "t")), "base(2)")
  equal(tostring(graph.of("matcha:0.3", "t")), "matcha(complete, 0.3)")
end)
