-- Tuples (arrays of numbers, texts and booleans) as keys: equality, order and hashes by their elements, in each keyed
-- operation; and errors for other tables.
-- case: at: threads:1 isolate:2 hosts:2
-- deep: spilled flags: --memory 16M within: 90 at: threads:2
local mr = require "actor.mapreduce"
local compare = require "compare"

local text, gives, fails = compare.text, compare.gives, compare.fails
local nan, inf = 0 / 0, 1 / 0
compare.quotes = true

-- Rows of a dataset as sorted texts, because the order by hash is arbitrary.
local function set_of(d)
  local out = {}
  for i, row in ipairs(d:collect()) do out[i] = text(row) end
  table.sort(out)
  return table.concat(out, " ")
end

-- The array {a, b}, with its elements in Lua's array or in its hash part.
local function tuple(i, a, b)
  if i % 2 == 0 then return { a, b } end
  local t = { x = 1 }
  t[2], t[1], t.x = b, a, nil
  return t
end

-- ---- each operation by key ----

local function plus(a, b) return a + b end
local function joined(a, b) return { a[1] + b[1] } end
local N = 1200
local rows = mr.range(1, N, 1, 12)
local pairs_of = rows:map(function(i) return tuple(i, i % 3, "k" .. i % 2), 1 end)
local six = '{{0,"k0"},200} {{0,"k1"},200} {{1,"k0"},200} {{1,"k1"},200} {{2,"k0"},200} {{2,"k1"},200}'

compare.equal("reduce_by_key natively", set_of(pairs_of:reduce_by_key(mr.sum)), six)
compare.equal("reduce_by_key", set_of(pairs_of:reduce_by_key(plus)), six)
compare.equal("reduce_by_key of one native operation", set_of(rows:map(function(i) return tuple(i, i % 3, "k" .. i % 2) end)
  :map(mr.one):reduce_by_key(mr.sum)), six)
compare.equal("reduce_by_key of tables", set_of(pairs_of:map_values(function(v) return { v } end):reduce_by_key(joined)
  :map_values(function(v) return v[1] end)), six)
compare.equal("aggregate_by_key", set_of(pairs_of:aggregate_by_key({}, function(s, v) return { (s[1] or 0) + v } end,
  function(a, b) return { (a[1] or 0) + (b[1] or 0) } end):map_values(function(v) return v[1] end)), six)
compare.equal("combine_by_key", set_of(pairs_of:combine_by_key(mr.identity, plus, plus)), six)
compare.equal("group_by_key", set_of(pairs_of:group_by_key():map_values(function(v) return #v end)), six)
compare.equal("rows that are arrays of key and value", set_of(rows:map(function(i) return { tuple(i, i % 3, "k" .. i % 2), 1 } end)
  :reduce_by_key(mr.sum)), six)
compare.equal("the same key by two functions of a pipeline", set_of(pairs_of:reduce_by_key(mr.sum)
  :map(function(k, v) return k, v end):reduce_by_key(mr.sum)), six)
compare.equal("a retained dataset", set_of(pairs_of:cache():reduce_by_key(mr.sum)), six)
compare.equal("partition_by", set_of(pairs_of:partition_by():map_values(mr.identity):reduce_by_key(plus)), six)

local left = mr.parallelize { { { 1, "a" }, "l1" }, { { 1, "a" }, "l2" }, { { 2, "b" }, "l3" }, { "text", "l4" } }
local right = mr.parallelize { { { 1, "a" }, "r1" }, { { 3, "c" }, "r2" }, { "text", "r3" } }
compare.equal("join", set_of(left:join(right)), '{"text",{"l4","r3"}} {{1,"a"},{"l1","r1"}} {{1,"a"},{"l2","r1"}}')
compare.equal("left_outer_join", set_of(left:left_outer_join(right)),
  '{"text",{"l4","r3"}} {{1,"a"},{"l1","r1"}} {{1,"a"},{"l2","r1"}} {{2,"b"},{"l3"}}')
compare.equal("cogroup", set_of(left:cogroup(right):map_values(function(v) return #v[1] * 10 + #v[2] end)),
  '{"text",11} {{1,"a"},21} {{2,"b"},10} {{3,"c"},1}')
compare.equal("subtract_by_key", set_of(left:subtract_by_key(right)), '{{2,"b"},"l3"}')
compare.equal("top_by_key", set_of(pairs_of:top_by_key(1)), six:gsub("200", "{1}"))

-- ---- order ----

local unordered = { { 2 }, { 1, "b" }, { 1, "a\0b" }, { 1, "a" }, { 1, "a\0" }, { 1 }, { true }, { false }, { "" }, { nan }, { inf },
  { -inf }, { -1.5 }, { 1, 2 }, { 1, false }, { 1e300 }, { -0.25 } }
local in_order = { { false }, { true }, { -inf }, { -1.5 }, { -0.25 }, { 1 }, { 1, false }, { 1, 2 }, { 1, "a" }, { 1, "a\0" },
  { 1, "a\0b" }, { 1, "b" }, { 2 }, { 1e300 }, { inf }, { nan }, { "" } }
for _, partitions in ipairs { 1, 4 } do
  local options = { partitions = partitions }
  local d = mr.parallelize(unordered, 5)
  gives("sort", text(in_order), d:sort(options):collect())
  gives("sort_by", text(in_order), d:sort_by(mr.identity, options):collect())
  gives("sort_by of a function", text(in_order), d:sort_by(function(t) return t end, options):collect())
  gives("sort_by_key", text(in_order), d:map(function(t) return t, 1 end):sort_by_key(options):keys():collect())
  local reversed = {}
  for i, t in ipairs(in_order) do reversed[#in_order + 1 - i] = t end
  gives("sort downwards", text(reversed), d:sort({ descending = true, partitions = partitions }):collect())
end
local many = mr.range(1, N, 1, 7):map(function(i) return tuple(i, i * 7919 % N, "x") end):sort():collect()
for i = 1, N do
  if many[i][1] ~= i - 1 then gives("place " .. i, text(i - 1), many[i][1]) end
end

-- ---- equality ----

compare.equal("0 and -0, NaNs", set_of(mr.parallelize { { { 0 }, 1 }, { { -0 }, 1 }, { { nan }, 1 }, { { -nan }, 1 } }:reduce_by_key(mr.sum)),
  "{{0},2} {{nan},2}")
compare.equal("kinds of elements", set_of(mr.parallelize { { { 1 }, 1 }, { { "1" }, 2 }, { { true }, 3 }, { 1, 4 }, { "1", 5 } }
  :reduce_by_key(mr.sum)), '{"1",5} {1,4} {{"1"},2} {{1},1} {{true},3}')

-- ---- errors ----

local function key_fails(name, wanted, key)
  local d = mr.range(1, 3):map(function(i) return key, i end)
  fails(name .. " in reduce_by_key", wanted, function() d:reduce_by_key(plus):collect() end)
  fails(name .. " in sum", wanted, function() d:reduce_by_key(mr.sum):collect() end)
  fails(name .. " in group_by_key", wanted, function() d:group_by_key():collect() end)
  fails(name .. " in sort_by_key", wanted, function() d:sort_by_key():collect() end)
end
local start = "a key must be a text, a number, a boolean or an array of these, not a table: "
key_fails("a table in a tuple", start .. "it has a table in it", { 1, { 2 } })
key_fails("a record", start .. "its keys are not 1 to n", { a = 1 })
key_fails("a gap", start .. "it has a nil between its elements", { 1, nil, 3 })
key_fails("an empty table", start .. "it is empty", {})
key_fails("a 64-bit integer", start .. "it has a 64-bit integer in it", { 1LL })
fails("a text and a tuple", "cannot compare", function() mr.parallelize { "a", { 1 } }:sort():collect() end)
fails("count_by_key", "a Lua table does not find an array by its elements; count with reduce_by_key", function()
  pairs_of:count_by_key()
end)

-- ---- more rows than memory ----

if (...) == "spilled" then
  local large = mr.range(1, 600000, 1, 8):map(function(i) return tuple(i, i % 200000, ("long text %d"):format(i % 200000)), 1 end)
  gives("reduce_by_key on disk", "{200000,600000}", { large:reduce_by_key(mr.sum):count(), large:reduce_by_key(plus):values():sum() })
  gives("sort on disk", '{0,"long text 0"}', large:sort_by_key():first() and large:keys():sort():first())
  gives("group_by_key on disk", "200000", large:group_by_key():filter(function(_, v) return #v == 3 end):count())
end

compare.finish()
