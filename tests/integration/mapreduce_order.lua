-- Rows that have been in tables of Lua, in the order in which they come out; the same line whoever runs it. `pairs` gives
-- another order each time here, as it does in another VM.
local actor = require "actor"
require "shuffled_pairs"
local mr = require "actor.mapreduce"

local function add(a, b) return { a[1] + b[1] } end
local N = 3000
local rows = mr.range(1, N):map(function(i) return "key" .. i * 7919 % 1501, { i / 7 } end)
local states = {
  reduce = rows:reduce_by_key(add),
  aggregate = rows:aggregate_by_key({ 0 }, add, add),
  fold = rows:fold_by_key({ 0 }, add),
  tensors = rows:map_values(function(v) return actor.tensor.new(v) end):reduce_by_key(function(a, b) return a + b end)
    :map_values(function(t) return { t:item() } end),
}
local records = mr.range(1, N):map(function(i) return { alpha = i, beta = i % 7, gamma = "x" .. i, [i % 5] = true } end)
local packed = mr.range(1, 60):map(function(i) return { one = actor.tensor.full(2, i), two = actor.tensor.zeros(1), i = i } end)

local function seen(dataset)
  local parts = dataset:map_partition(function(it, i)
    local n = 0
    for _ in it do n = n + 1 end
    return { i .. ":" .. n }
  end)
  return actor.codec.hash({ dataset:collect(), parts:collect() })
end

for name, dataset in actor.pairs(states) do
  local keys = dataset:keys()
  local sums = dataset:map(function(_, v) return v[1] end)
  print(name, seen(keys), seen(keys:sample(0.3, { seed = 1 })), seen(keys:zip_with_index()), ("%.17g"):format(sums:sum()))
  assert(seen(keys) == seen(keys), name .. ": two actions differ")
end
local alphas = function(dataset) return dataset:map(function(r) return r.alpha end) end
print("shuffle", seen(alphas(records:shuffle(5))), seen(packed:shuffle(7):map(function(r) return r.i end)))
print("sort", seen(alphas(records:sort_by(function(r) return r.beta end, { partitions = 5 }))))
