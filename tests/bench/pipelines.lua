-- Pipelines beside plain loops of the same functions: `actorhost -n 2 --log-level warn tests/bench/pipelines.lua
-- [--rows 2000000] [--rounds 5]`.
-- Seconds are the least of the rounds; rank 0 runs the loops alone, before and after the pipelines.
local actor = require "actor"
local mr = require "actor.mapreduce"
local tensor = actor.tensor

local opt = actor.options { rows = 2000000, rounds = 5 }
local n, float64 = opt.rows, { dtype = "float64" }

-- The rounds below start servers. A server replays the same actions in catch-up, but no collectives.
local function together()
  if actor.role == "worker" then actor.collective.barrier() end
end

local function least(fn)
  local best = math.huge
  for _ = 1, opt.rounds do
    together() -- a late joiner gets a recorded value
    local began = actor.now()
    fn()
    best = math.min(best, actor.now() - began)
  end
  return best
end

-- The other ranks wait while rank 0 works alone.
local function alone(fn)
  return least(function()
    if actor.rank == 0 then fn() end
  end)
end

local function report(name, ours, plain)
  if actor.rank == 0 then
    print(("%-44s %8.1f ms   plain loop on one core %8.1f ms   %5.2fx of its speed, %5.2fx a node"):format(name, ours * 1e3,
      plain * 1e3, plain / ours, plain / ours / actor.size))
  end
end

-- ---- five functions ----

local function half(x) return x / 2 end
local function some(x) return x % 3 ~= 0 end
local function shifted(x) return x + 0.25 end
local function squared(x) return x * x end
local function large(x) return x > 100 end

do
  local chain = mr.range(1, n):map(half):filter(some):map(shifted):map(squared):filter(large)
  local ours = least(function() chain:count() end)
  local plain = alone(function()
    local count = 0
    for i = 1, n do
      local x = half(i)
      if some(x) then
        x = squared(shifted(x))
        if large(x) then count = count + 1 end
      end
    end
    return count
  end)
  report("a chain of five functions", ours, plain)
end

-- ---- rounds ----

-- Seconds of a round, without the first round, which prepares.
local function round_of(dataset, options)
  local best = math.huge
  options.steps = 21
  for _ = 1, opt.rounds do
    local _, summary = dataset:iterate(options)
    best = math.min(best, (summary.seconds - summary.first) / 20)
  end
  return best
end

local K = 4
local function coordinates(i)
  local angle, u = 2 * math.pi * (i % K + 0.5) / K, (i * 0.6180339887) % 1
  return 10 * math.cos(angle) + 3 * u, 10 * math.sin(angle) + 3 * ((7 * u) % 1)
end

local function nearest(centroids, x, y)
  local best, apart = nil, math.huge
  for i = 1, K do
    local c = centroids[i]
    local d = (x - c.x) ^ 2 + (y - c.y) ^ 2
    if d < apart then best, apart = i, d end
  end
  return best
end

local function sums_of(rows, centroids)
  local sums = {}
  for i = 1, K do sums[i] = { x = 0, y = 0, n = 0 } end
  for i = 1, #rows.x do
    local x, y = rows.x[i], rows.y[i]
    local sum = sums[nearest(centroids, x, y)]
    sum.x, sum.y, sum.n = sum.x + x, sum.y + y, sum.n + 1
  end
  return sums
end

local function means_of(_, parts)
  local out = {}
  for i = 1, K do
    local x, y, count = 0, 0, 0
    for _, sums in ipairs(parts) do x, y, count = x + sums[i].x, y + sums[i].y, count + sums[i].n end
    out[i] = { x = x / count, y = y / count }
  end
  return out
end

local function columns(rows)
  local xs, ys = {}, {}
  for x, y in rows do xs[#xs + 1], ys[#ys + 1] = x, y end
  return { x = xs, y = ys }
end

-- Points, and the same points followed by a 1, so that sums count them.
local function points_of(rows)
  local plain, counted = {}, {}
  for x, y in rows do
    plain[#plain + 1], counted[#counted + 1] = { x, y }, { x, y, 1 }
  end
  return { plain = tensor.new(plain, float64), counted = tensor.new(counted, float64) }
end

local function tensor_sums(points, centroids, _, sums)
  sums = sums or tensor.zeros({ K, 3 }, float64)
  return sums:index_add_(points.plain:nearest(centroids), points.counted)
end

local function centroids_of(_, parts)
  local sums = parts[1]:clone()
  for i = 2, #parts do sums:add_(parts[i]) end
  return sums:slice(2, 1, 2) / sums:slice(2, 3, 3)
end

do
  local points = mr.generate(n, coordinates):cache()
  points:count()
  local first, corner = {}, {}
  for i = 1, K do
    local x, y = coordinates(i)
    first[i], corner[i] = { x = x, y = y }, { x, y }
  end
  local ours = round_of(points, { state = first, prepare = columns, step = sums_of, merge = means_of })
  local all = { x = {}, y = {} }
  for i = 1, actor.rank == 0 and n or 0 do all.x[i], all.y[i] = coordinates(i) end
  local plain = alone(function() means_of(nil, { sums_of(all, first) }) end)
  report("a round of k-means, Lua functions", ours, plain)
  local native = round_of(points, {
    state = tensor.new(corner, float64), prepare = points_of, step = tensor_sums, fold = true, merge = centroids_of, shared = true,
  })
  report("a round of k-means, tensors", native, plain)
end

local DEGREE = 10
local pages = math.floor(n / DEGREE)

local function links_of(i)
  local s, to = i * 7919 + 13, {}
  local function random(m)
    s = (s * 1103515245 + 12345) % 2147483648
    return math.floor(s / 2147483648 * m) + 1
  end
  for j = 1, DEGREE do to[j] = random(random(pages)) end
  return i, to
end

local function linked(rows)
  local out = {}
  for page, to in rows do out[#out + 1] = { at = page, to = to } end
  return out
end

local function contributions_of(rows, ranks, _, contributions)
  contributions = contributions or tensor.zeros(pages, float64)
  local rank, sums = ranks:data(), contributions:data()
  for i = 1, #rows do
    local page = rows[i]
    local to = page.to
    local each = rank[page.at - 1] / #to
    for k = 1, #to do sums[to[k] - 1] = sums[to[k] - 1] + each end
  end
  return contributions
end

-- Links, each with its share of its page's rank.
local function edges_of(rows)
  local from, to, share = {}, {}, {}
  for page, others in rows do
    for i = 1, #others do from[#from + 1], to[#to + 1], share[#share + 1] = page, others[i], 1 / #others end
  end
  return { from = tensor.new(from, float64), to = tensor.new(to, float64), share = tensor.new(share, float64) }
end

local function tensor_contributions(edges, ranks, _, contributions)
  return (contributions or tensor.zeros(pages, float64)):index_add_(edges.to, ranks:take(edges.from) * edges.share)
end

local DAMPING = 0.85

local function ranks_of(_, contributions)
  local sum = contributions[1]:clone()
  for i = 2, #contributions do sum:add_(contributions[i]) end
  local dangling = 1 - sum:sum()
  return (sum + dangling / pages) * DAMPING + (1 - DAMPING) / pages
end

do
  local links = mr.generate(pages, links_of):cache()
  links:count()
  local ranks = tensor.full(pages, 1 / pages, float64)
  local ours = round_of(links, { state = ranks, prepare = linked, step = contributions_of, fold = true, merge = ranks_of })
  local all = {}
  for i = 1, actor.rank == 0 and pages or 0 do
    local page, to = links_of(i)
    all[i] = { at = page, to = to }
  end
  local plain = alone(function() ranks_of(ranks, { contributions_of(all, ranks) }) end)
  report("a round of PageRank, Lua functions", ours, plain)
  local native = round_of(links, {
    state = ranks, prepare = edges_of, step = tensor_contributions, fold = true, merge = ranks_of, shared = true,
  })
  report("a round of PageRank, tensors", native, plain)
end
