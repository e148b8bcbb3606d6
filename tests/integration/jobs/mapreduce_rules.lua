-- The rules of map-reduce's README for NaN, -0, results of functions and limits of formats, in each operation.
-- case: at: threads:1 isolate:2
local actor = require "actor"
local mr = require "actor.mapreduce"
local compare = require "compare"

local text, gives, fails = compare.text, compare.gives, compare.fails
local nan = 0 / 0

local function keyed(d) return d:map(function(x) return "k", x end) end
local function values_of(d) return d:values():collect() end
local function boxed(a, b) return { a[1] + b[1] } end

-- ---- NaN is one number, greater than all others ----

for _, rows in ipairs({ { nan, 1, 2 }, { 1, nan, 2 }, { 2, 1, nan }, { nan, 2, nan, 1 } }) do
  local d = mr.parallelize(rows)
  local nans = #rows == 4 and "nan,nan" or "nan"
  gives("min", "1", d:min())
  gives("max", "nan", d:max())
  gives("reduce by min", "1", d:reduce(mr.min))
  gives("fold by max", "nan", d:fold(0, mr.max))
  gives("reduce_by_key by min", "{1}", values_of(keyed(d):reduce_by_key("min")))
  gives("reduce_by_key by max", "{nan}", values_of(keyed(d):reduce_by_key("max")))
  gives("sort", "{1,2," .. nans .. "}", d:sort():collect())
  gives("sort downwards", "{" .. nans .. ",2,1}", d:sort({ descending = true }):collect())
  gives("top", "{nan," .. (#rows == 4 and "nan" or "2") .. "}", d:top(2))
  gives("top_by_key", "{{nan," .. (#rows == 4 and "nan" or "2") .. "}}", values_of(keyed(d):top_by_key(2)))
  gives("subtract_by_key", "{1,2}", d:key_by(mr.identity):subtract_by_key(mr.parallelize({ { nan, 0 } })):values():sort():collect())
  gives("combine_by_key of NaN", "{" .. (#rows == 4 and 2 or 1) .. ",1,1}",
    d:map(function(x) return x, 1 end):combine_by_key(mr.identity, mr.sum, mr.sum):sort_by_key({ descending = true }):values():collect())
  gives("variance", "true", d:variance() ~= d:variance())
  gives("stdev", "true", d:stdev() ~= d:stdev())
  gives("histogram with edges", "{{1,2,3},{1,1}}", { d:histogram({ 1, 2, 3 }) })
  fails("histogram without", "needs edges where numbers are not finite, got nan", function() d:histogram(2) end)
  gives("distinct", "{1,2,nan}", d:distinct():sort():collect())
  gives("intersection", "{nan}", d:intersection(mr.parallelize({ nan })):collect())
  gives("subtract", "{1,2}", d:subtract(mr.parallelize({ nan })):sort():collect())
  local ones = d:map(function(x) return x, 1 end)
  gives("keys", "{1,2,nan}", ones:reduce_by_key(mr.sum):keys():sort():collect())
  gives("keys of groups", "{1,2,nan}", ones:group_by_key():keys():sort():collect())
  gives("keys of tables", "{1,2,nan}", ones:map_values(function(v) return { v } end):reduce_by_key(boxed):keys():sort():collect())
  gives("joined", "1", ones:reduce_by_key(mr.sum):join(mr.parallelize({ { nan, "x" } })):count())
  fails("count_by_value", "NaN is no key of a Lua table", function() d:count_by_value() end)
  fails("count_by_key", "NaN is no key of a Lua table", function() ones:count_by_key() end)
end
gives("min of nothing else", "nan", mr.parallelize({ nan, nan }):min())

-- ---- -0 is preserved; as a key it is 0 ----

local zeros = mr.parallelize({ -0, 0 })
local function inverse(x) return 1 / x end
gives("in one stage", "{-inf,inf}", zeros:map(inverse):collect())
gives("behind a stage", "{-inf,inf}", zeros:coalesce(1):map(inverse):collect())
gives("in a table", "{-inf,inf}", zeros:map(function(x) return { x } end):coalesce(1):map(function(t) return 1 / t[1] end):collect())
gives("collected", "{-0,0}", zeros:coalesce(1):collect())
gives("sorted, in the order of the rows", "{-0,0}", zeros:sort():collect())
gives("distinct ones", "{inf}", zeros:distinct():map(inverse):collect())
gives("of both", "{inf}", zeros:intersection(zeros):map(inverse):collect())
for name, keys in actor.pairs({
  combine_by_key = zeros:map(function(x) return x, 1 end):combine_by_key(mr.identity, mr.sum, mr.sum),
  top_by_key = zeros:map(function(x) return x, 1 end):top_by_key(1),
  reduce_by_key = zeros:map(function(x) return x, 1 end):reduce_by_key(mr.sum),
  tables = zeros:map(function(x) return x, { 1 } end):reduce_by_key(boxed),
  group_by_key = zeros:map(function(x) return x, 1 end):group_by_key(),
  join = zeros:map(function(x) return x, 1 end):distinct():join(mr.parallelize({ { -0, 1 } })),
}) do
  gives("a key of " .. name, "{inf}", keys:keys():map(inverse):collect())
end

-- ---- no result of a function is lost ----

local one = mr.range(1, 3)
local pairs_of = one:map(function(x) return x, x end)
local array, three, two = "the table is no array without gaps", "it returned three values", "it returned two values"
local function returning(...)
  local results = { n = select("#", ...), ... }
  return function() return unpack(results, 1, results.n) end
end
fails("flatmap with a gap", array, function() one:flatmap(returning({ 1, nil, 3 })):count() end)
fails("flatmap with a longer gap", array, function() one:flatmap(function() return { 1, nil, 3, nil } end):count() end)
fails("flatmap with a key", array, function() one:flatmap(returning({ a = 1 })):count() end)
fails("flatmap with both", array, function() one:flatmap(returning({ 1, 2, a = 1 })):count() end)
fails("flatmap_values", array, function() pairs_of:flatmap_values(returning({ 1, nil, 3 })):count() end)
fails("map_partition", array, function() one:map_partition(returning({ a = 1 })):count() end)
fails("apply", array, function() mr.apply(returning({ 1, nil, 3 }), { rows = one }):count() end)
fails("flatten", array, function() mr.parallelize({ { 1, x = 2 } }):flatten():count() end)
fails("flatten with a gap", array, function() one:map(returning({ 1, nil, 3 })):flatten():count() end)
fails("a pair with more", array, function() mr.parallelize({ { 1, 2, x = 3 } }):group_by_key():count() end)
fails("keys of a pair with more", "a pair is needed", function()
  mr.parallelize({ { 1, 2, x = 3 }, { 1, 2 } }, 2):coalesce(1):keys():count()
end)
gives("an array made from its end", "9", one:flatmap(function()
  local t = {}
  for i = 3, 1, -1 do t[i] = i end
  return t
end):count())
gives("results that are nil are no rows", "{1,3,1,3,1,3}", one:flatmap(returning(1, nil, 3)):collect())
fails("map", three, function() one:map(returning(1, 2, 3)):count() end)
fails("gmatch of three", three, function() mr.parallelize({ "a b c" }):flatmap(function(s) return s:gmatch("(%w) (%w) (%w)") end):count() end)
fails("map_values", two, function() pairs_of:map_values(returning(1, 2)):count() end)
fails("key_by", two, function() one:key_by(returning(1, 2)):count() end)
fails("sort_by", two, function() one:sort_by(returning(1, 2)):count() end)
fails("top by", two, function() one:top(1, returning(1, 2)) end)
fails("reduce", two, function() one:reduce(returning(1, 2)) end)
fails("fold", two, function() one:fold(0, returning(1, 2)) end)
fails("reduce_by_key", two, function() one:map(function(x) return 1, x end):reduce_by_key(returning(1, 2)):count() end)
fails("combine_by_key", two, function() pairs_of:combine_by_key(returning(1, 2), mr.sum, mr.sum):count() end)
fails("top_by_key", two, function() pairs_of:top_by_key(1, returning(1, 2)):count() end)
fails("prefix_sum", two, function() one:prefix_sum(returning(1, 2)):count() end)

-- ---- values that JSON cannot hold ----

local function json(rows) mr.parallelize(rows):save("json", { format = "jsonl", overwrite = true }) end
fails("NaN", "JSON has no number 'nan'", function() json({ 1, nan }) end)
fails("infinite", "JSON has no number '-inf'", function() json({ { x = -1 / 0 } }) end)
fails("no UTF-8", "byte 2 of this text is not: \"a\\xff\"", function() json({ "a\255" }) end)
fails("no UTF-8 in a key", "JSON's texts are UTF-8", function() json({ { ["\255"] = 1 } }) end)
mr.parallelize({ nan, -0, 1 / 0, "a\255" }, 1):save("text")
gives("as text", "{nan,-0,inf,a\255}", mr.load("text"):collect())

-- ---- native functions give the same results as in Lua ----

local texts = { "1", " -2.5e3\n", "0x1p4", "0XfF", "-0x.8", "0b101", "inf", "-Infinity", "nan", "1e400", "-1e-400", "5e-324", ".5", "5.", "+7", "-0",
  "123456789012345678901234567890", "0x123456789abcdef12345", "\v\f1\r ", "1e+5", "007" }
local rng = actor.rng(3)
for _ = 1, 3000 do
  local chars = {}
  for i = 1, rng:int(1, 6) do
    local at = rng:int(1, 25)
    chars[i] = ("0123456789.eExX+-bpinfa \t"):sub(at, at)
  end
  texts[#texts + 1] = table.concat(chars)
end
local good, bad = {}, {}
for _, s in ipairs(texts) do table.insert(tonumber(s) and good or bad, s) end
local function exactly(x) return ("%a"):format(x) end
local natively, in_lua = mr.parallelize(good):map(tonumber):collect(), mr.parallelize(good):map(function(s) return tonumber(s) end):collect()
for i, s in ipairs(good) do compare.equal("tonumber of '" .. s .. "'", exactly(natively[i]):gsub("-nan", "nan"), exactly(in_lua[i]):gsub("-nan", "nan")) end
for i = 1, #bad, 100 do
  fails("tonumber of '" .. bad[i] .. "'", "tonumber gives nothing for text '", function() mr.parallelize({ bad[i] }):map(tonumber):count() end)
end
gives("tonumber of others", "{5,7}", mr.parallelize({ 5, 7LL }):map("tonumber"):collect())
fails("tonumber of a pair", "tonumber takes single values here, got a pair", function() one:map("one"):map(tonumber):count() end)

-- ---- functions of actions are frozen like all others ----

local count = 0
local function counting() count = count + 1 end
one:foreach(counting)
local function counting_key(x)
  count = count + 1
  return x
end
one:top(1, counting_key)
one:reduce(function(a)
  count = count + 1
  return a
end)
gives("foreach, top and reduce have variables of their own", "0", count)

compare.finish()
