-- Rounds of iterate: the first argument selects the job. mapreduce_iterate_test.cpp has further runs of it.
local actor = require "actor"
local each = require "each_worker"
local expect = require "expect"
local mr = require "actor.mapreduce"

local jobs = {}

-- A contraction of a vector of sums, so that all rules converge to the same state; the model is a loop over all rows.
-- case: job --fold {,--tensors} at: threads:{1,3,8}
-- case: job {,--fold} --off 1e-9 flags: --servers 3 --inject straggler=0.25:4x --barrier {ssp:2,asp,pbsp:2,pssp:2:3} at: threads:4
-- case: job {,--fold} --off 1e-9 flags: --servers 3 --inject straggler=0.25:4x --barrier jobs/barrier_rules.lua:median at: threads:4
-- case: job --fold --kill 2 --at 10 --cached --off 1e-9 flags: --barrier {bsp,ssp:1,asp} at: isolate
function jobs.job()
  local opt = actor.options { "JOB",
    rows = 500, partitions = 7, steps = 60, kill = -1, at = 0, fold = false, cached = false, tensors = false, off = 1e-12,
  }
  local tensor = actor.tensor
  local rows = mr.range(1, opt.rows, 1, opt.partitions):map(function(i) return i % 5 + 1, i / 7 end)
  if opt.cached then rows = rows:cache() end

  local function zeros()
    return opt.tensors and tensor.zeros(5, { dtype = "float64" }) or { 0, 0, 0, 0, 0 }
  end

  -- The contribution of rows to each of five sums that depend on the state.
  local function add(sums, key, value, state)
    sums[key] = sums[key] + value * (1 + math.sin(state[key] + 0.1 * state[key % 5 + 1]) / 40)
  end

  local function next_state(_, all)
    local state = zeros()
    for i = 1, 5 do
      for _, sums in ipairs(all) do state[i] = state[i] + sums[i] end
      state[i] = state[i] / opt.rows
    end
    return state
  end

  local calls = 0
  local step = function(part, state, p, folded)
    calls = calls + 1
    if actor.id == opt.kill and calls > opt.at then os.execute("kill -9 $PPID") end
    local sums = folded or zeros()
    for _, row in ipairs(part) do add(sums, row[1], row[2], state) end
    return sums
  end

  local state, summary = rows:iterate {
    state = zeros(), step = step, merge = next_state, steps = opt.steps, fold = opt.fold or nil,
  }
  local digits = {}
  for i = 1, 5 do digits[i] = ("%.17g"):format(state[i]) end
  print("state " .. table.concat(digits, " "))
  assert(summary.reason == "steps" and (summary.steps == opt.steps or opt.off > 1e-12 and summary.steps > opt.steps))

  local model = zeros()
  for _ = 1, opt.steps do
    local sums = zeros()
    for i = 1, opt.rows do add(sums, i % 5 + 1, i / 7, model) end
    model = next_state(nil, { sums })
  end
  local off = 0
  for i = 1, 5 do off = math.max(off, math.abs(state[i] - model[i])) end
  assert(off <= opt.off, off)
end

-- case: iterate_over_no_rows_at_all_has_its_rounds at: threads:{1,3}
function jobs.iterate_over_no_rows_at_all_has_its_rounds()
  assert(io.open("empty.txt", "a")):close()
  local state, summary = mr.load("empty.txt"):iterate {
    state = 0, steps = 3,
    step = function(rows) return #rows end,
    merge = function(state, counts) return state + 1 + counts[1] end,
  }
  assert(state == 3 and summary.steps == 3 and summary.reason == "steps")
end

function jobs.errors_of_iterate_are_reported(case)
  local function one() return 1 end
  local function nothing() end
  local changes = {
    step = { step = function(_, _, p) if p == 2 then error("no luck") end return 1 end },
    nothing = { step = nothing }, prepare = { prepare = nothing }, merge = { merge = nothing },
    endless = { steps = false }, stop = { stop = one }, unknown = { step_size = 1 }, state = { state = print }, barrier = { barrier = "bps" },
  }
  local rows = mr.range(1, 10, 1, 2)
  if case == "row" then rows = rows:map(function(i) return i < 5 and i or nil end) end
  if case == "wide" then rows:key_by(mr.identity):reduce_by_key(mr.sum, { barrier = "ssp:2" }) end
  local options = { state = 0, step = one, merge = one, steps = 3 }
  for key, value in pairs(changes[case] or {}) do options[key] = value or nil end
  rows:iterate(options)
end

-- case: iterate_ends_after_seconds_and_action flags: --seconds 2 at: threads:2
function jobs.iterate_ends_after_seconds_and_action()
  local rows = mr.range(1, 100)
  local function step(part) return #part end
  local n, first = rows:iterate { state = 0, step = step, merge = function(n) return n + 1 end }
  expect.same(rows:count(), 100)
  local m, second = rows:iterate { state = n, step = step, merge = function(n) return n + 1 end, steps = 5 }
  assert(first.reason == "seconds" and second.reason == "steps" and m - n == second.steps)
end

-- case: map_reduce_and_parameter_server_go at: threads isolate hosts
function jobs.map_reduce_and_parameter_server_go()
  local n = mr.range(1, 100):count()
  actor.param.run {
    init = function() return { a = n } end,
    schedule = each(function(id) return { { "a" } } end),
    push = function(_, entries) return { { "a", entries[1][2] + 1 } } end,
    stop = function(ctx) return ctx.updates >= 10 end,
  }
  assert(n == 100 and actor.param.get("a") > n and mr.range(1, 50):count() == 50)
end

-- case: k_means_and_pagerank_on_tensors {1,2,3,7} at: threads:{1,3}
function jobs.k_means_and_pagerank_on_tensors(...)
  local tensor = actor.tensor
  local dims, n = tonumber((...)), 200
  local f64 = { dtype = "float64" }
  local rng = actor.rng(7)
  local points = {}
  for i = 1, n do
    points[i] = {}
    for d = 1, dims do points[i][d] = rng:normal() + 5 * (i % 3) end
  end
  local first = { points[1], points[2], points[3], points[4] }

  local rows = mr.parallelize(points, 6)
  if dims == 1 then rows = rows:map(function(p) return p[1] end) end
  if dims == 2 then rows = rows:map(function(p) return p[1], p[2] end) end
  local function points_of(all)
    local plain, counted = {}, {}
    for a, b in all do
      local point = type(a) == "table" and a or { a, b }
      plain[#plain + 1], counted[#counted + 1] = point, { unpack(point) }
      table.insert(counted[#counted], 1)
    end
    return { plain = tensor.new(plain, f64), counted = tensor.new(counted, f64) }
  end
  local centroids = rows:iterate {
    state = tensor.new(first, f64), prepare = points_of, fold = true, shared = true, steps = 6,
    step = function(part, state, _, sums)
      return (sums or tensor.zeros({ 4, dims + 1 }, f64)):index_add_(part.plain:nearest(state), part.counted)
    end,
    merge = function(before, parts)
      local sums, after = parts[1]:clone(), before:clone()
      for i = 2, #parts do sums:add_(parts[i]) end
      for i = 1, 4 do
        local count = sums:get(i, dims + 1)
        if count > 0 then after:select(1, i):copy_(sums:select(1, i):slice(1, 1, dims) / count) end
      end
      return after
    end,
  }
  for _ = 1, 6 do
    local sums = {}
    for _, point in ipairs(points) do
      local best, least = nil, math.huge
      for i, c in ipairs(first) do
        local apart = 0
        for d = 1, dims do apart = apart + (point[d] - c[d]) ^ 2 end
        if apart < least then best, least = i, apart end
      end
      local sum = sums[best] or { n = 0 }
      sums[best], sum.n = sum, sum.n + 1
      for d = 1, dims do sum[d] = (sum[d] or 0) + point[d] end
    end
    local after = {}
    for i, c in ipairs(first) do
      after[i] = {}
      for d = 1, dims do after[i][d] = sums[i] and sums[i][d] / sums[i].n or c[d] end
    end
    first = after
  end
  assert(centroids:allclose(tensor.new(first, f64), { rtol = 1e-12, atol = 0 }))

  -- Page 4 links to no page, and no page links to page 5.
  local links = { { 1, { 2, 3 } }, { 2, { 3 } }, { 3, { 1 } }, { 4, {} }, { 5, { 4, 4, 1 } } }
  local function edges_of(all)
    local from, to, share = {}, {}, {}
    for row in all do
      local page, others = row[1], row[2]
      for _, other in ipairs(others) do from[#from + 1], to[#to + 1], share[#share + 1] = page, other, 1 / #others end
    end
    return { from = tensor.new(from, f64), to = tensor.new(to, f64), share = tensor.new(share, f64) }
  end
  local ranks = mr.parallelize(links, 3):iterate {
    state = tensor.full(5, 0.2, f64), prepare = edges_of, fold = true, shared = true, steps = 30,
    step = function(edges, state, _, contributions)
      return (contributions or tensor.zeros(5, f64)):index_add_(edges.to, state:take(edges.from) * edges.share)
    end,
    merge = function(_, contributions)
      local sum = contributions[1]:clone()
      for i = 2, #contributions do sum:add_(contributions[i]) end
      return (sum + (1 - sum:sum()) / 5) * 0.9 + 0.1 / 5
    end,
  }
  local r = { 0.2, 0.2, 0.2, 0.2, 0.2 }
  for _ = 1, 30 do
    local contributions, dangling = { 0, 0, 0, 0, 0 }, 0
    for _, link in ipairs(links) do
      for _, to in ipairs(link[2]) do contributions[to] = contributions[to] + r[link[1]] / #link[2] end
      if #link[2] == 0 then dangling = dangling + r[link[1]] end
    end
    for i = 1, 5 do r[i] = 0.9 * (contributions[i] + dangling / 5) + 0.1 / 5 end
  end
  assert(ranks:allclose(tensor.new(r, f64), { rtol = 1e-12, atol = 0 }))
end

-- case: rounds_with_tensors_that_are_not_copied at: threads isolate hosts
function jobs.rounds_with_tensors_that_are_not_copied()
  local n, f64 = 300000, { dtype = "float64" }
  local links = mr.generate(3000, function(i) return i * 100, { (i * 7919) % n + 1, (i * 104729) % n + 1, 5 } end, 7):cache()
  local function edges_of(rows)
    local from, to = {}, {}
    for page, others in rows do
      for _, other in ipairs(others) do from[#from + 1], to[#to + 1] = page, other end
    end
    return { from = actor.tensor.new(from, f64), to = actor.tensor.new(to, f64) }
  end
  local function ranks_of(shared)
    local ranks, summary = links:iterate {
      state = actor.tensor.full(n, 1 / n, f64), prepare = edges_of, fold = true, steps = 5, shared = shared,
      step = function(edges, state, _, contributions)
        return (contributions or actor.tensor.zeros(n, f64)):index_add_(edges.to, state:take(edges.from) / 3)
      end,
      merge = function(_, contributions)
        local sum = contributions[1]:clone()
        for i = 2, #contributions do sum:add_(contributions[i]) end
        return (sum + (1 - sum:sum()) / n) * 0.85 + 0.15 / n
      end,
    }
    assert(summary.steps == 5)
    return ranks
  end
  local shared = ranks_of(true)
  assert(shared:equal(ranks_of(false)) and math.abs(shared:sum() - 1) < 5e-7)
end

function jobs.iterate_before_checkpointed_run_is_done()
  local start = mr.range(1, 10):iterate {
    state = 0, step = function(part) return #part end, steps = 3,
    merge = function(state, parts)
      for _, n in ipairs(parts) do state = state + n end
      return state
    end,
  }
  local summary = actor.param.run {
    init = function() return { a = start } end,
    schedule = each(function(id) return { { "a" } } end),
    push = function(_, entries) return { { "a", entries[1][2] + 1 } } end,
    stop = function(ctx) return ctx.step >= 5 end,
    checkpoint = { steps = 2 },
  }
  local again = mr.range(1, 10):iterate {
    state = start, step = function() return 1 end, merge = function(state) return state + 1 end, steps = 2,
  }
  print(("%d %d %d %d"):format(start, summary.steps, actor.param.get("a"), again))
end

jobs[(...)](select(2, ...))
