-- Wide operations on more rows than fit into --memory 16M: the results are right, and some rows were spilled.
-- case: flags: --memory 16M within: 60 at: threads:2
local mr = require "actor.mapreduce"

local N, FEW = 60000, { partitions = 2 }
local pad = ("x"):rep(80)
local rows = mr.range(1, N):map(function(i) return ("%06d%s"):format(i * 7919 % N, pad), i end)
local total = N * (N + 1) / 2
local failures = 0

local function check(name, dataset, action, wanted)
  local got = dataset[action](dataset)
  local spilled = dataset:explained():find("spilled") ~= nil
  if got == wanted and spilled then return end
  failures = failures + 1
  print(("%s: got %s, not %s%s"):format(name, got, wanted, spilled and "" or "; nothing was spilled"))
end

-- The number of rows; raises an error if a row is out of order.
local function ordered(dataset)
  return dataset:map_partition(function(each)
    local last, n = "", 0
    for key in each do
      assert(last <= key, "not in order")
      last, n = key, n + 1
    end
    return n
  end)
end

local function add(a, b) return a + b end

check("sort_by_key", ordered(rows:sort_by_key(FEW)), "sum", N)
check("sort_by", ordered(rows:sort_by(function(key) return key end, FEW)), "sum", N)
check("group_by_key", rows:union(rows):group_by_key(FEW):values():map(function(v) return v[1] + v[2] end), "sum", 2 * total)
check("reduce_by_key", rows:union(rows):reduce_by_key(add, FEW):values(), "sum", 2 * total)
check("aggregate_by_key", rows:union(rows):aggregate_by_key({ 0 }, function(state, v)
  state[1] = state[1] + v
  return state
end, function(a, b) return { a[1] + b[1] } end, FEW):values():map(function(state) return state[1] end), "sum", 2 * total)
check("join", rows:join(rows:map_values(function(v) return -v end), FEW):values():map(function(v) return v[1] + v[2] + 1 end), "sum", N)
check("distinct", rows:union(rows):distinct(FEW), "count", N)
check("intersection", rows:intersection(rows:filter(function(_, v) return v % 2 == 0 end), FEW), "count", N / 2)

assert(failures == 0, failures .. " are wrong")
