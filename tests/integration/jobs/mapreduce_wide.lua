-- Each wide operation once, with its result; and the text of its errors.
-- case: at: threads:1 threads isolate:2
local actor = require "actor"
local mr = require "actor.mapreduce"
local compare = require "compare"

local text, fails = compare.text, compare.fails

-- Compares rows in order.
local function in_order(name, dataset, wanted) compare.equal(name, text(dataset:collect()), wanted) end

-- Compares rows in any order.
local function rows(name, dataset, wanted)
  local out = {}
  for i, row in ipairs(dataset:collect()) do out[i] = text(row) end
  table.sort(out)
  compare.equal(name, table.concat(out, " "), wanted)
end

local a = mr.range(1, 6):map(function(x) return x % 3, x end)
local b = mr.parallelize({ { 0, "z" }, { 1, "o" }, { 7, "s" } }) -- tables that stand for pairs

-- ---- by key ----

rows("group_by_key", a:group_by_key(), "{0,{3,6}} {1,{1,4}} {2,{2,5}}")
rows("aggregate_by_key", a:aggregate_by_key({}, function(list, v)
  list[#list + 1] = v
  return list
end, function(x, y)
  for _, v in ipairs(y) do x[#x + 1] = v end
  return x
end), "{0,{3,6}} {1,{1,4}} {2,{2,5}}")
rows("combine_by_key", a:combine_by_key(function(v) return { v, 1 } end, function(state, v)
  state[1], state[2] = state[1] + v, state[2] + 1
  return state
end, function(x, y) return { x[1] + y[1], x[2] + y[2] } end), "{0,{9,2}} {1,{5,2}} {2,{7,2}}")
rows("combine_by_key of numbers", a:combine_by_key("identity", "sum", "sum", { partitions = 3 }), "{0,9} {1,5} {2,7}")
rows("combine_by_key of texts", a:partition_by(2):combine_by_key(tostring, function(s, v) return s .. v end, function() error("one task a key") end,
  { partitions = 2 }), "{0,36} {1,14} {2,25}")
rows("combine_by_key of nothing", mr.parallelize({}):combine_by_key("identity", "sum", "sum"), "")
rows("subtract_by_key", a:union(a):subtract_by_key(b), "{2,2} {2,2} {2,5} {2,5}")
rows("subtract_by_key of nothing", b:subtract_by_key(mr.parallelize({}), { partitions = 2 }), "{0,z} {1,o} {7,s}")
rows("top_by_key", a:union(a):top_by_key(3), "{0,{6,6,3}} {1,{4,4,1}} {2,{5,5,2}}")
rows("top_by_key of texts", mr.parallelize({ { 1, "b" }, { 1, "c" }, { 1, "a" } }):top_by_key(2, nil, { partitions = 1 }), "{1,{c,b}}")
rows("top_by_key of equal ones, whatever the partitions", mr.range(1, 9, 1, 1):union(mr.range(10, 99, 1, 7)):map(function(x) return x % 2, { x } end)
  :top_by_key(3, function(v) return v[1] > 5 and 1 or 0 end):map_values(function(v) return v[1][1] .. v[2][1] .. v[3][1] end), "{0,6810} {1,7911}")
rows("fold_by_key", a:fold_by_key(100, function(x, y) return x + y end), "{0,109} {1,105} {2,107}")
rows("join", a:join(b), "{0,{3,z}} {0,{6,z}} {1,{1,o}} {1,{4,o}}")
rows("left_outer_join", a:left_outer_join(b), "{0,{3,z}} {0,{6,z}} {1,{1,o}} {1,{4,o}} {2,{2}} {2,{5}}")
rows("right_outer_join", a:right_outer_join(b), "{0,{3,z}} {0,{6,z}} {1,{1,o}} {1,{4,o}} {7,{nil,s}}")
rows("full_outer_join", a:full_outer_join(b), "{0,{3,z}} {0,{6,z}} {1,{1,o}} {1,{4,o}} {2,{2}} {2,{5}} {7,{nil,s}}")
rows("cogroup", a:cogroup(b), "{0,{{3,6},{z}}} {1,{{1,4},{o}}} {2,{{2,5},{}}} {7,{{},{s}}}")
rows("cogroup of three", b:cogroup(b, b:map_values(string.upper), { partitions = 2 }),
  "{0,{{z},{z},{Z}}} {1,{{o},{o},{O}}} {7,{{s},{s},{S}}}")
rows("partition_by", b:partition_by(3), "{0,z} {1,o} {7,s}")
rows("keys", b:keys(), "0 1 7")
rows("values", b:values(), "o s z")
rows("key_by", mr.range(1, 2):key_by(function(x) return -x end), "{-1,1} {-2,2}")
rows("key_by of pairs", b:partition_by(2):key_by(function(_, v) return v end), "{o,{1,o}} {s,{7,s}} {z,{0,z}}")
rows("map_values", b:map_values(function(v) return v .. "!" end), "{0,z!} {1,o!} {7,s!}")
rows("flatmap_values", b:flatmap_values(function(v) return (v .. " " .. v):gmatch("%S+") end), "{0,z} {0,z} {1,o} {1,o} {7,s} {7,s}")
rows("flatmap_values twice", b:flatmap_values(function(v) return { v, 1 } end):flatmap_values(function(v) return v, v end),
  "{0,1} {0,1} {0,z} {0,z} {1,1} {1,1} {1,o} {1,o} {7,1} {7,1} {7,s} {7,s}")
local counts = a:count_by_key()
compare.equal("count_by_key", text({ counts[0], counts[1], counts[2], counts[7] }), "{2,2,2}")

-- ---- numbers ----

local function near(name, got, wanted) compare.equal(name, math.abs(got - wanted) < 1e-12 * wanted and wanted or got, wanted) end
for _, partitions in ipairs({ 1, 3, 16, 40 }) do
  local d = mr.range(1, 10, 1, partitions)
  near("variance", d:variance(), 8.25)
  near("stdev", d:stdev(), math.sqrt(8.25))
  near("variance of a sample", d:variance({ sample = true }), 82.5 / 9)
  near("stdev of large ones", d:map(function(x) return 1e12 + x end):stdev(), math.sqrt(8.25))
  compare.equal("histogram", text({ d:histogram(3) }), "{{1,4,7,10},{3,3,4}}")
  compare.equal("histogram by edges", text({ d:histogram({ 2, 4, 4.5, 9 }) }), "{{2,4,4.5,9},{2,1,5}}")
  compare.equal("histogram of one number", text({ d:map(function() return 7 end):histogram(5) }), "{{7,7},{10}}")
end
local none, three = mr.parallelize({}), mr.parallelize({ 3 })
compare.equal("without rows", text({ tostring(none:variance()), tostring(none:stdev()), tostring(none:histogram(3)) }), "{nil,nil,nil}")
compare.equal("edges without rows", text({ none:histogram({ 1, 2 }) }), "{{1,2},{0}}")
compare.equal("one row", text({ three:variance(), three:stdev(), tostring(three:stdev({ sample = true })) }), "{0,0,nil}")

-- ---- whole rows ----

in_order("union", mr.range(1, 3):union(mr.parallelize({}), mr.parallelize({ "x", "y" }, 1), mr.range(8, 9)), "{1,2,3,x,y,8,9}")
local twice = mr.range(1, 3):map(function(x) return 2 * x end)
in_order("union with itself", twice:union(twice):filter(function(x) return x ~= 4 end), "{2,6,2,6}")
rows("union of wide ones", a:reduce_by_key(mr.sum):union(a:group_by_key():keys(), b), "0 1 2 {0,9} {0,z} {1,5} {1,o} {2,7} {7,s}")
rows("distinct", mr.parallelize({ 1, 2, 2, "a", "a", true, 0, -0 }):union(a, a):distinct(),
  "0 1 2 a true {0,3} {0,6} {1,1} {1,4} {2,2} {2,5}")
rows("intersection", a:union(a):intersection(a:filter(function(k) return k == 1 end)), "{1,1} {1,4}")
rows("subtract", a:union(a):subtract(a:filter(function(k) return k == 1 end)), "{0,3} {0,6} {2,2} {2,5}")
rows("cartesian", mr.range(1, 2):cartesian(mr.parallelize({ "x", { 3, 4 } })), "{1,x} {1,{3,4}} {2,x} {2,{3,4}}")
rows("shuffle", mr.parallelize({ {}, 1, "a", false }):shuffle(3), "1 a false {}")
in_order("coalesce", mr.range(1, 20):coalesce(3), text(mr.range(1, 20):collect()))

-- ---- in order ----

local some = mr.parallelize({ 5, 3, 9, 1, 7, 2, 2, 8, 0, 6, 4, -1, 3.5, 1 / 0 })
in_order("sort", some:sort(), "{-1,0,1,2,2,3,3.5,4,5,6,7,8,9,inf}")
in_order("sort downwards", some:sort({ descending = true, partitions = 3 }), "{inf,9,8,7,6,5,4,3.5,3,2,2,1,0,-1}")
in_order("sort of one partition", some:sort({ partitions = 1 }), "{-1,0,1,2,2,3,3.5,4,5,6,7,8,9,inf}")
in_order("sort_by", some:sort_by(function(x) return tostring(x) end, { partitions = 4 }), "{-1,0,1,2,2,3,3.5,4,5,6,7,8,9,inf}")
in_order("sort_by the row", some:sort_by(mr.identity), "{-1,0,1,2,2,3,3.5,4,5,6,7,8,9,inf}")
in_order("sort_by_key", b:sort_by_key({ descending = true }), "{{7,s},{1,o},{0,z}}")
in_order("sort_by_key of equal ones", mr.range(1, 6):map(function(x) return x % 2, x end):sort_by_key(),
  "{{0,2},{0,4},{0,6},{1,1},{1,3},{1,5}}")
in_order("sort_by of tables", mr.parallelize({ { x = 1, 3 }, { 2 }, { 1 } }):sort_by(function(t) return t[1] end):map(function(t) return t[1] end),
  "{1,2,3}")
in_order("sort of nothing", mr.parallelize({}):sort(), "{}")
in_order("zip_with_index", mr.parallelize({ "a", "b", "c" }):zip_with_index(), "{{a,1},{b,2},{c,3}}")
in_order("prefix_sum", mr.range(1, 10):prefix_sum(), "{1,3,6,10,15,21,28,36,45,55}")
in_order("prefix_sum of others", mr.range(1, 5):prefix_sum(function(x, y) return x * y end), "{1,2,6,24,120}")
in_order("window", mr.range(1, 6):window(4), "{{1,2,3,4},{2,3,4,5},{3,4,5,6}}")
in_order("window of one", mr.range(1, 3):window(1), "{{1},{2},{3}}")
in_order("window longer than all", mr.range(1, 3):window(9), "{}")
in_order("zip", mr.range(1, 5):zip(mr.parallelize({ "a", "b", "c", "d", "e" }, 2)), "{{1,a},{2,b},{3,c},{4,d},{5,e}}")
in_order("zip the other way", mr.range(1, 5, 1, 2):zip(mr.range(6, 10, 1, 5)), "{{1,6},{2,7},{3,8},{4,9},{5,10}}")
in_order("zip of nothing", mr.parallelize({}):zip(mr.parallelize({})), "{}")

-- ---- operations that run once ----

local function stages(dataset) return select(2, dataset:explained():gsub("stage %d+:", "")) end

local sums = a:reduce_by_key(mr.sum, { partitions = 4 })
local again = sums:filter(function(_, v) return v > 5 end):join(sums:map_values(function(v) return -v end), { partitions = 4 })
rows("a join of what is spread by key", again, "{0,{9,-9}} {2,{7,-7}}")
compare.equal("no second shuffle", select(2, again:explained():gsub("by buckets", "")), 1)
compare.equal("another number of partitions", select(2, sums:join(sums, { partitions = 5 }):explained():gsub("by buckets", "")), 3)
rows("reduce_by_key of what is spread by key", a:group_by_key():flatmap_values(function(v) return v end):reduce_by_key(mr.sum),
  "{0,9} {1,5} {2,7}")
rows("aggregate_by_key of what is spread by key", a:partition_by(3):aggregate_by_key(0, function(n) return n + 1 end, mr.sum),
  "{0,2} {1,2} {2,2}")
compare.equal("a diamond", stages(twice:union(twice)), 2)

local calls = mr.accumulator(0)
local counted = mr.range(1, 10):map(function(x)
  calls:add(1)
  return x
end)
counted:union(counted):zip(counted:union(counted)):count()
compare.equal("a shared dataset is made once", calls:value(), 10)

-- ---- errors ----

fails("which top_by_key", "top_by_key (mapreduce_wide.lua:", function() mr.parallelize({ { 1, {} } }):top_by_key(1):count() end)
fails("values that cannot be compared", "a number and a string cannot be compared", function()
  mr.parallelize({ { 1, 1 }, { 1, "x" } }):top_by_key(1):count()
end)
rows("values of other keys are not compared", mr.parallelize({ { 1, 1 }, { 2, "x" } }):top_by_key(1), "{1,{1}} {2,{x}}")
fails("no dataset to subtract", "bad argument 'other' to mapreduce.subtract_by_key: expected a dataset, got number", function() a:subtract_by_key(1) end)
fails("no function to combine", "bad argument 'merge_value' to mapreduce.combine_by_key", function() a:combine_by_key(tostring) end)
fails("no numbers", "stdev takes numbers, got a string", function() mr.parallelize({ "x" }):stdev() end)
fails("no buckets", "expected an integer from 1 to 1000000, got 0", function() three:histogram(0) end)
fails("edges that do not ascend", "got table whose edge 3 is 2", function() three:histogram({ 1, 2, 2 }) end)
fails("keys that cannot be compared", "cannot compare text 'x' with number 1", function() mr.parallelize({ 1, "x" }):sort():count() end)
fails("which sort", "sort (mapreduce_wide.lua:", function() mr.parallelize({ 1, "x" }):sort():count() end)
fails("keys that are none", "a key must be a text, a number, a boolean or an array of these, not a table: it is empty", function()
  mr.parallelize({ 1, 2, {} }, 1):sort_by(function(x) return x end):count()
end)
fails("rows that are no pairs", "a pair is needed here", function() mr.range(1, 3):group_by_key():count() end)
fails("rows that are no pairs in Lua", "a pair is needed here", function()
  mr.range(1, 3):map(function(x) return x end):join(b):count()
end)
fails("a key that is a table", "not a table", function() mr.parallelize({ { {}, 2 } }, 1):map(function(t) return t[1], 2 end):group_by_key():count() end)
fails("tables that are to be distinct", "tables cannot be compared", function() mr.parallelize({ { 1, 2 } }):distinct():count() end)
fails("what could be distinct", "a function gives a pair as two results, not as {a, b}", function()
  mr.parallelize({ { 1 } }):intersection(mr.range(1, 2)):count()
end)
fails("a 64-bit key", "not a 64-bit integer (tonumber() or tostring() makes a key of it)", function()
  mr.range(1, 3):map(function(x) return x + 0LL, x end):reduce_by_key(mr.sum):count()
end)
fails("a tensor as a key", "not a tensor", function()
  mr.range(1, 3):map(function(x) return actor.tensor.ones(2), x end):reduce_by_key(mr.sum):count()
end)
fails("zip of different ones", "the datasets have 3 and 5 rows", function() mr.range(1, 3):zip(mr.range(1, 5)):count() end)
fails("a value that is nothing", "map_values (mapreduce_wide.lua:", function() b:map_values(function() end):count() end)
fails("no dataset", "bad argument 'other' to mapreduce.join: expected a dataset, got number", function() a:join(3) end)
fails("nothing", "bad argument 'other' to mapreduce.join: expected a dataset, got nil", function() a:join() end)
fails("a wrong option", "unknown option 'ascending' to mapreduce.sort", function() a:sort({ ascending = true }) end)

compare.finish()
