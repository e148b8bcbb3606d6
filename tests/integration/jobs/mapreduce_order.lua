-- Prints rows that have been in Lua tables, in the order of the result: the same line on every node. `pairs` uses a new
-- order each time here, as it does in another VM.
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

-- Every other operation that reads a table.
local lists = mr.accumulator("", function(a, b) return a .. "," .. b end)
local some = mr.range(1, 200):map(function(i) return "k" .. i % 37, { at = i, [i % 3] = "x" } end)
local function at(values)
  local out = {}
  for i, v in ipairs(values) do out[i] = v.at end
  return table.concat(out, " ")
end
print("groups", seen(some:group_by_key():map_values(at)), seen(some:cogroup(some):map_values(function(v) return at(v[1]) .. at(v[2]) end)))
print("joins", seen(some:join(some):map_values(at)), seen(some:left_outer_join(some:filter(function(k) return k > "k2" end)):map_values(at)))
print("distinct", seen(some:keys():distinct()), seen(some:keys():subtract(mr.parallelize({ "k1" }))))
print("top", at(some:values():top(20, function(v) return v.at % 3 end)))
some:foreach(function(k) lists:add(k) end)
print("accumulated", actor.codec.hash(lists:value()))
local counts = some:count_by_key()
local counted = {}
for key, n in actor.pairs(counts) do counted[#counted + 1] = key .. n end
print("counted", table.concat(counted, " "))
local kept = some:values():shuffle(3):cache()
print("kept", seen(kept:map(function(v) return v.at end)), seen(kept:map(function(v) return v.at end)))
local sum = some:iterate({
  state = { 0 }, steps = 3,
  step = function(all, state) return { #all / 7 + state[1] } end,
  merge = function(_, parts)
    local total = 0
    for _, part in ipairs(parts) do total = total / 3 + part[1] end
    return { total }
  end,
})
print("iterated", ("%.17g"):format(sum[1]))
