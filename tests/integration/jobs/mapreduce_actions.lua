-- Actions and narrow operations: the first argument selects the job. mapreduce_actions_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local mr = require "actor.mapreduce"
local codec = require "actor.codec"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Compares actions with a model on random rows, over many partitionings.
-- case: model 11 at: threads isolate hosts
function jobs.model(...)
  local rng = actor.rng(tonumber((...)))

  local function same(what, got, wanted)
    if codec.hash({ got }) ~= codec.hash({ wanted }) then
      error(what .. ": " .. tostring(got) .. " instead of " .. tostring(wanted), 2)
    end
  end

  local function model_fold(rows, zero, fn)
    for _, x in ipairs(rows) do zero = fn(zero, x) end
    return zero
  end

  for round = 1, 4 do
    local rows = {}
    for i = 1, ({ 0, 1, 7, 300 })[round] do rows[i] = rng:int(-50, 50) end
    local data = mr.parallelize(rows, ({ 1, 3, 16, 5 })[round])
    -- Not associative, so the order matters, and the start value is not neutral.
    local function halved(a, x) return a / 2 + x end
    same("fold", data:fold(1000, halved), model_fold(rows, 1000, halved))
    same("fold into a table", data:fold({}, function(t, x) t[#t + 1] = x return t end), rows)
    same("fold by mr.max", data:fold(7, mr.max), model_fold(rows, 7, math.max))
    same("aggregate", data:aggregate({ 0, 0 }, function(t, x) return { t[1] + 1, t[2] + x } end,
      function(a, b) return { a[1] + b[1], a[2] + b[2] } end), { #rows, model_fold(rows, 0, mr.sum) })
    same("count", data:count(), #rows)
    same("sum", data:sum(), model_fold(rows, 0, mr.sum))
    same("mean", data:mean(), #rows > 0 and model_fold(rows, 0, mr.sum) / #rows or nil)
    local sorted = {}
    for i, x in ipairs(rows) do sorted[i] = x end
    table.sort(sorted)
    same("min", data:min(), sorted[1])
    same("max", data:max(), sorted[#sorted])
    for _, n in ipairs { 0, 1, 5, 1000 } do
      local first, top = {}, {}
      for i = 1, math.min(n, #rows) do first[i], top[i] = rows[i], sorted[#sorted + 1 - i] end
      same("take", data:take(n), first)
      same("top", data:top(n), top)
    end
    same("first", data:first(), rows[1])
    same("first behind a shuffle", data:shuffle(3):fold(0, mr.sum), model_fold(rows, 0, mr.sum))
    local counts = {}
    for _, x in ipairs(rows) do counts[x] = (counts[x] or 0) + 1 end
    same("count_by_value", data:count_by_value(), counts)
    local added = mr.accumulator(100)
    local most = mr.accumulator(-1000, math.max)
    data:foreach(function(x) added:add(x) most:add(x) end)
    same("accumulator", added:value(), 100 + model_fold(rows, 0, mr.sum))
    same("accumulator by math.max", most:value(), sorted[#sorted] or -1000)
    local weights = mr.broadcast { factor = round }
    same("broadcast", data:map(function(x) return x * weights:get_value().factor end):sum(), round * data:sum())
    same("flatten", data:map(function(x) return { x, { x } } end):flatten():count(), 2 * #rows)
    local seen = data:map_partition(function(each, i)
      local n = 0
      for _ in each do n = n + 1 end
      return { i, n }
    end):collect()
    local partitions, total = 0, 0
    for i = 1, #seen, 2 do partitions, total = partitions + seen[i], total + seen[i + 1] end
    same("map_partition", { partitions, total }, { ({ 1, 6, 136, 15 })[round], #rows })
    -- Lazy results of map_partition, chained.
    local chained = data:filter(function(x) return x > 0 end)
      :map_partition(function(each) return function() return each() end end)
      :map_partition(function(each) return function() local x = each() return x and x + 1 end end):collect()
    local wanted = {}
    for _, x in ipairs(rows) do if x > 0 then wanted[#wanted + 1] = x + 1 end end
    same("map_partition of map_partition", chained, wanted)
  end

  local pairs_of = mr.parallelize({ "a", "bb", "ccc" }):map(function(s) return s, #s end)
  same("top of pairs", pairs_of:top(2, function(_, n) return n end), { { "ccc", 3 }, { "bb", 2 } })
  same("fold of pairs", pairs_of:fold("", function(text, s, n) return text .. s .. n end), "a1bb2ccc3")
  same("workers", #mr.workers(), actor.size)

  local function apart(inputs, i)
    local even, odd = {}, {}
    for x in inputs.left do (x % 2 == 0 and even or odd)[#(x % 2 == 0 and even or odd) + 1] = x end
    local first = true
    return { even = even, odd = function()
      local x = inputs.right()
      if first then odd, first = i, false end
      if x then return x, i end
    end, none = nil }
  end
  local out = mr.apply(apart, { left = mr.range(1, 20, 1, 4), right = mr.parallelize({ "a", "b", "c", "d" }, 4) },
    { "even", "odd", "none" })
  same("apply: even", out.even:collect(), { 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 })
  same("apply: pairs", out.odd:collect(), { { "a", 1 }, { "b", 2 }, { "c", 3 }, { "d", 4 } })
  same("apply: none", out.none:count(), 0)
  same("apply: both", out.even:union(out.odd:values()):count(), 14)
  same("apply: rows", mr.apply(function(inputs) return { inputs.rows() } end, { rows = mr.range(1, 20, 1, 4) }):collect(),
    { 1, 6, 11, 16 })
end

function jobs.samples()
  local rows = mr.range(1, 20000)
  local function show(what, dataset) print(what .. ": " .. dataset:count() .. " " .. codec.hash(dataset:collect())) end
  show("native", rows:sample(0.3, { seed = 5 }))
  show("Lua", rows:map(function(x) return x end):sample(0.3, { seed = 5 }))
  show("twice", rows:sample(0.3, { seed = 5 }):sample(0.5, { seed = 5 }))
  show("again", rows:sample(2.5, { seed = 5, replacement = true }))
end

-- case: hundred_narrow_operations_behind_each at: threads:2
function jobs.hundred_narrow_operations_behind_each()
  local a, b, c = mr.range(1, 10), mr.range(1, 10), mr.range(1, 10):map(function(x) return x, x end)
  for _ = 1, 100 do
    a = a:map(function(x) return x + 1 end):filter(function(x) return x > 0 end)
    b = b:flatmap(function(x) return { x + 1 } end)
    c = c:flatmap_values(function(x) return { x + 1 } end)
  end
  assert(a:sum() == 1055 and b:sum() == 1055 and c:values():sum() == 1055)
end

-- case: operations_behind_and_before_many at: threads:2
function jobs.operations_behind_and_before_many()
  local a, b = mr.range(1, 10), mr.parallelize { "A b", "c" }
  for _ = 1, 5 do
    for _ = 1, 20 do a = a:map(function(x) return x + 1 end) end
    a = a:union(mr.range(1, 2))
  end
  for _ = 1, 20 do
    b = b:flatmap(function(text) return text:gmatch("%S+") end):map(string.upper)
      :flatmap(function(text) return text:gmatch("%a+") end):map(string.lower)
  end
  assert(a:count() == 20 and a:sum() == 1470 and table.concat(b:collect(), " ") == "a b c")
end

-- case: functions_with_native_twin_are_given_by_name at: threads:2
function jobs.functions_with_native_twin_are_given_by_name()
  local lines = mr.parallelize { "a B", "b c b", "" }
  local pairs_of = lines:flatmap("words"):map("lower"):map("one")
  local function gives(dataset, wanted)
    local rows = dataset:sort_by_key():collect()
    for i, row in ipairs(rows) do rows[i] = row[1] .. row[2] end
    expect.same(table.concat(rows, " "), wanted)
  end
  gives(pairs_of:reduce_by_key("sum"), "a1 b3 c1")
  gives(pairs_of:aggregate_by_key(0, mr.count, mr.sum), "a1 b3 c1")
  gives(pairs_of:aggregate_by_key(0, "count", "max"), "a1 b2 c1")
  gives(pairs_of:fold_by_key(5, "sum"), "a6 b8 c6")
  local four = mr.range(1, 4)
  assert(four:reduce("max") == 4 and four:fold(1, "sum") == 11 and four:aggregate(0, "count", "sum") == 4)
  assert(four:fold(0, "count") == 4 and four:prefix_sum("sum"):max() == 10 and four:sort_by("identity"):first() == 1)
  expect.refused(function() lines:map("loewer") end, "mapreduce.map: 'loewer' is the name of no function for 'fn' (known: count, "
    .. "identity, lower, max, min, one, sum, tonumber, upper, words)")
end

-- case: take_reads_few_partitions at: threads:2
function jobs.take_reads_few_partitions()
  local seen = mr.accumulator(0)
  local rows = mr.range(1, 1000000, 1, 100):map(function(x) seen:add(1) return x end)
  local three = rows:take(3)
  assert(three[1] == 1 and three[2] == 2 and three[3] == 3)
  assert(seen:value() <= 256, seen:value()) -- a batch of one partition
end

function jobs.accumulations_of_task_count_once()
  local added, tasks = mr.accumulator(0), 0
  local rows = mr.range(1, 400, 1, 40):map_partition(function(each)
    tasks = tasks + 1
    for x in each do added:add(x) end
    actor.log.info("a task")
    if actor.rank == 1 and tasks == 3 then
      announce("rank 1 is at its third task")
      meeting.die()
    end
    if actor.rank ~= 1 then await("rank 1 is at its third task") end
    return 1
  end)
  print("partitions: " .. rows:count())
  print("added: " .. added:value())
end

-- A script that catches an action's error continues, and so do its servers.
-- case: script_continues_after_caught_error flags: --servers 2 at: threads:2
function jobs.script_continues_after_caught_error()
  local rows = mr.range(1, 6, 1, 3)
  local bad = rows:map(function() error("no luck") end)
  local rounds = { state = 0, steps = 4, step = function(part) return #part end, merge = function(state) return state + 1 end }
  expect.raises(function() bad:collect() end, "no luck")
  expect.raises(function() bad:iterate(rounds) end, "no luck")
  expect.raises(function() bad:save("parts") end, "no luck")
  assert(rows:count() == 6 and rows:iterate(rounds) == 4)
end

-- case: tables_of_every_shape_pass_through_lua SEED at: threads:{1,3}
function jobs.tables_of_every_shape_pass_through_lua(...)
  local rng = actor.rng(tonumber((...)))
  local plain = {
    function() return rng:int(-9, 9) end,
    function() return rng:normal() end,
    function() return ("text"):rep(rng:int(0, 12)) end,
    function() return rng:int(0, 1) == 1 end,
    function() return ({ 0 / 0, 1 / 0, -0.0, 2 ^ 40, -2 ^ 31 })[rng:int(1, 5)] end,
  }
  local names = { "x", "y", "end", "a b", "\n\"\\\0", "1", "", ("long"):rep(30), "\195\164" }
  local function value(depth)
    local kind = rng:int(1, depth > 3 and 5 or 9)
    if kind <= 5 then return plain[kind]() end
    local out = {}
    if kind ~= 6 then
      for i = 1, rng:int(0, 7) do out[i] = value(depth + 1) end
    end
    if kind ~= 7 then
      for _ = 1, rng:int(0, 4) do out[names[rng:int(1, #names)]] = value(depth + 1) end
    end
    if kind == 9 and rng:int(1, 3) == 1 then out[rng:int(-3, 30)] = value(depth + 1) end
    return out
  end
  local rows = {}
  for i = 1, 3000 do rows[i] = { value(0), i, value(1) } end
  local wanted = codec.hash(rows)
  local data = mr.parallelize(rows, 5)
  for _, way in ipairs { data, data:map(function(row) return row end), data:cache(), data:sort_by(function(row) return row[2] end) } do
    assert(codec.hash(way:collect()) == wanted)
  end
  local pairs_of = data:map(function(row) return row[2], row end):reduce_by_key(function(a) return a end):collect()
  table.sort(pairs_of, function(a, b) return a[1] < b[1] end)
  for i, pair in ipairs(pairs_of) do pairs_of[i] = pair[2] end
  assert(codec.hash(pairs_of) == wanted)
end

-- case: frozen_function_makes_tables_as_its at: threads:1
function jobs.frozen_function_makes_tables_as_its()
  local functions = require "actor.mapreduce.functions"
  jit.off()
  local one = 1
  local originals = {
    function(a, b) return { x = a, y = b, n = one } end,
    function(a, b) return { a, b, name = a, deep = { p = a, q = { r = b } }, flag = true, [a] = one } end,
    function(a, b)
      local function inner(c) return { c = c, one = one, two = 2 } end
      return { inner(a), inner(b), z = a }
    end,
    function(a, b) return { f1 = a, f2 = b, f3 = a, f4 = b, f5 = a, f6 = b, f7 = a, f8 = b, f9 = one } end,
  }
  local function bytes_of(fn)
    local kept = { fn(1, 2) }
    for i = 2, 100 do kept[i] = false end
    collectgarbage()
    collectgarbage("stop")
    local before = collectgarbage("count")
    for i = 2, 100 do kept[i] = fn(i, 2) end
    local bytes = collectgarbage("count") - before
    collectgarbage("restart")
    return bytes
  end
  for i, fn in ipairs(originals) do
    local frozen = functions.freeze(fn)
    assert(frozen ~= fn)
    assert(codec.hash(frozen(3, 4)) == codec.hash(fn(3, 4)))
    assert(bytes_of(frozen) == bytes_of(fn), ("%d: %g %g"):format(i, bytes_of(frozen), bytes_of(fn)))
  end
  one = 7
  assert(functions.freeze(originals[1])(3, 4).n == 7)
end

function jobs.broadcasts_differ()
  local b = mr.broadcast { actor.rank }
  local function inner(x) return b:get_value()[1] + x end
  mr.range(1, 20):map(function(x) return inner(x) end):count()
end

-- An error of a task names the operation, the line ("@" here) and the record. If it names the record, all rows are in
-- one partition: with several partitions, any may fail first.
-- case: errors_of_tasks_name_operation_line_and_record flags: --memory 20M at: threads:2
function jobs.errors_of_tasks_name_operation_line_and_record()
  local function fails(fn, text)
    text = text:gsub("@", "mapreduce_actions.lua:" .. debug.getinfo(fn, "S").linedefined)
    expect.raises(fn, text, text:find(" failed: ", 1, true) and "first on rank " or "")
  end
  fails(function() mr.parallelize({ ('\nx'):rep(100) }):filter(function(x) error('no good') end):count() end,
    'filter (@) failed: @: no good; record: "\\nx\\nx')
  fails(function() mr.range(1, 9, 1, 1):map(function(x) if x < 5 then return x end end):count() end,
    "map (@) failed: it returned nothing (filter and flatmap leave rows out); record: 5")
  fails(function() mr.range(1, 9):map(function(x) return nil, x end):keys():collect() end,
    "map (@) failed: it returned nil and a value: a pair has a key; record: ")
  fails(function() mr.range(1, 6, 1, 3):reduce(function(a, b) if b ~= 4 then return a + b end end) end,
    "reduce (@) failed: it returned nothing (is a 'return' missing?); record: 4")
  fails(function() mr.range(1, 6, 1, 3):reduce(function(a, b) if b ~= 11 then return a + b end end) end,
    "@: mapreduce.reduce: it returned nothing (is a 'return' missing?)")
  fails(function() mr.range(1, 6, 1, 1):fold({}, function(t, x) t[x] = true end) end,
    "fold (@) failed: it returned nothing (is a 'return' missing?); record: 1")
  fails(function() mr.range(1, 6, 1, 3):aggregate(0, function(a, b) return a + b end, function() end) end,
    "@: mapreduce.aggregate: it returned nothing (is a 'return' missing?)")
  fails(function() mr.range(1, 6, 1, 1):prefix_sum(function(a, b) if b ~= 3 then return a + b end end):collect() end,
    "prefix_sum (@) failed: it returned nothing (is a 'return' missing?); record: 3")
  fails(function() mr.range(1, 9):filter(string.rep):count() end, "filter (@) failed: bad argument #2")
  fails(function() mr.range(1, 9, 1, 1):flatmap(function(x) return function() error('inside') end end):count() end,
    "flatmap (@) failed: @: inside; record: 1")
  fails(function() mr.range(1, 9):map(function(x) return 'k', x end):reduce_by_key(function(a, b) return a .. {} end):count() end,
    "reduce_by_key (@) failed: @: attempt to concatenate a table value")
  fails(function() mr.range(1, 9):flatten():count() end, "flatten (@) failed: flatten takes rows that are arrays, got a number")
  fails(function() mr.range(1, 9, 1, 1):map(tostring):sum() end, "sum (@) failed: sum takes numbers, got a string; record: 1")
  fails(function() mr.range(1, 9, 1, 1):map(function(x) return x, x end):top(1) end,
    "top (@) failed: pairs need a function that gives what they are compared by; record: 1")
  fails(function() mr.parallelize({ a = 1, b = 2 }):count() end, "@: mapreduce.parallelize: the table is no array without gaps")
  fails(function() mr.parallelize({ 1, nil, 3 }):count() end, "@: mapreduce.parallelize: the table is no array without gaps")
  fails(function() mr.parallelize({ 1, 'a' }, 2):top(1) end, "@: mapreduce.top: a number and a string cannot be compared")
  fails(function() local other = mr.range(1, 3) mr.range(1, 9):map(function(x) return x + other:count() end):sum() end,
    "map (@) failed: @: mapreduce.count: a function of an operation cannot run an action")
  fails(function() local other = mr.range(1, 3) mr.range(1, 9, 1, 2):reduce(function(a, b) return a + other:count() end) end,
    "@: mapreduce.count: a function of an operation cannot run an action")
  fails(function() mr.range(1, 9, 1, 1):map_partition(function(rows) rows() error('part') end):map_partition(function(rows) rows() end):count() end,
    "map_partition (@) failed: @: part; record: 1")
  fails(function() mr.range(1, 9):foreach(function(x) if x == 7 then error('seven') end end) end,
    "foreach (@) failed: @: seven; record: 7")
  fails(function() mr.range(1, 9):take(-1) end,
    "@: bad argument 'n' to mapreduce.take: expected an integer of at least 0, got -1")
  fails(function() mr.range(1, 9):sample(1.5) end, "@: bad argument 'fraction' to mapreduce.sample")
  fails(function() mr.apply(function(inputs) return 7 end, { a = mr.range(1, 9) }):count() end,
    "apply (@) failed: what it returns has to be an array or an iterator, got a number")
  fails(function() mr.apply(function(inputs) return { y = {} } end, { a = mr.range(1, 9) }, { 'x' }).x:count() end,
    "apply (@) failed: it returned 'y', which is no output")
  fails(function() mr.apply(print, { a = mr.range(1, 9, 1, 2), b = mr.range(1, 9, 1, 3) }):count() end,
    "@: mapreduce.apply: input 'a' has 2 partitions and 'b' 3; coalesce or shuffle them to as many")
  fails(function() mr.accumulator(0):add(1) end, "@: accumulators are added to by functions of operations")
  fails(function() mr.accumulator({}) end, "@: mapreduce.accumulator: a zero of type table needs a function")
  fails(function() mr.range(1, 1000000):collect() end, "@: mapreduce.collect: the result has")
end

jobs[(...)](select(2, ...))
