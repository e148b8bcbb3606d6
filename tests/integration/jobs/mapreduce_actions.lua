-- Jobs of mapreduce_actions_test.cpp; the first argument selects the job.
local actor = require "actor"
local mr = require "actor.mapreduce"
local codec = require "actor.codec"
local ffi = require "ffi"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Compares actions with a model on random rows, over many partitionings; prints the differences.
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
  print("the model agrees")
end

function jobs.samples()
  local rows = mr.range(1, 20000)
  local function show(what, dataset) print(what .. ": " .. dataset:count() .. " " .. codec.hash(dataset:collect())) end
  show("native", rows:sample(0.3, { seed = 5 }))
  show("Lua", rows:map(function(x) return x end):sample(0.3, { seed = 5 }))
  show("twice", rows:sample(0.3, { seed = 5 }):sample(0.5, { seed = 5 }))
  show("again", rows:sample(2.5, { seed = 5, replacement = true }))
end

function jobs.hundred_narrow_operations_behind_each()
  local a, b, c = mr.range(1, 10), mr.range(1, 10), mr.range(1, 10):map(function(x) return x, x end)
  for _ = 1, 100 do
    a = a:map(function(x) return x + 1 end):filter(function(x) return x > 0 end)
    b = b:flatmap(function(x) return { x + 1 } end)
    c = c:flatmap_values(function(x) return { x + 1 } end)
  end
  print(a:sum(), b:sum(), c:values():sum())
end

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
  print(a:count(), a:sum(), table.concat(b:collect(), " "))
end

function jobs.functions_with_native_twin_are_given_by()
  local lines = mr.parallelize { "a B", "b c b", "" }
  local pairs_of = lines:flatmap("words"):map("lower"):map("one")
  local function show(rows)
    for i, row in ipairs(rows) do rows[i] = row[1] .. row[2] end
    print(table.concat(rows, " "))
  end
  show(pairs_of:reduce_by_key("sum"):sort_by_key():collect())
  show(pairs_of:aggregate_by_key(0, mr.count, mr.sum):sort_by_key():collect())
  show(pairs_of:aggregate_by_key(0, "count", "max"):sort_by_key():collect())
  show(pairs_of:fold_by_key(5, "sum"):sort_by_key():collect())
  print(mr.range(1, 4):reduce("max"), mr.range(1, 4):fold(1, "sum"), mr.range(1, 4):aggregate(0, "count", "sum"),
    mr.range(1, 4):fold(0, "count"), mr.range(1, 4):prefix_sum("sum"):max(), mr.range(1, 4):sort_by("identity"):first())
  print(select(2, pcall(lines.map, lines, "loewer")))
end

function jobs.take_reads_few_partitions()
  local seen = mr.accumulator(0)
  local rows = mr.range(1, 1000000, 1, 100):map(function(x) seen:add(1) return x end)
  local three = rows:take(3)
  print(("took %d %d %d"):format(three[1], three[2], three[3]))
  print("looked at " .. seen:value())
end

function jobs.accumulations_of_task_count_once()
  ffi.cdef "int getpid(void); int kill(int, int);"
  local added, tasks = mr.accumulator(0), 0
  local rows = mr.range(1, 400, 1, 40):map_partition(function(each)
    tasks = tasks + 1
    for x in each do added:add(x) end
    actor.log.info("a task")
    if actor.rank == 1 and tasks == 3 then
      announce("rank 1 is at its third task")
      ffi.C.kill(ffi.C.getpid(), 9)
    end
    if actor.rank ~= 1 then await("rank 1 is at its third task") end
    return 1
  end)
  print("partitions: " .. rows:count())
  print("added: " .. added:value())
end

function jobs.script_continues_after_caught_error(...)
  local rows = mr.range(1, 6, 1, 3)
  local function bad() return rows:map(function() error("no luck") end) end
  local step, merge = function(part) return #part end, function(state) return state + 1 end
  local function fails_as_expected(fn, ...)
    local ok, message = pcall(fn, ...)
    return not ok and message:find("no luck", 1, true) ~= nil
  end
  local collected = fails_as_expected(bad().collect, bad())
  local iterated = fails_as_expected(bad().iterate, bad(), { state = 0, steps = 1, step = step, merge = merge })
  local saved = fails_as_expected(bad().save, bad(), "parts")
  print(collected, iterated, saved, rows:count(), (rows:iterate { state = 0, steps = 4, step = step, merge = merge }))
end

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
  print("ok")
end

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
  print("ok")
end

function jobs.broadcasts_differ()
  local b = mr.broadcast { actor.rank }
  local function inner(x) return b:get_value()[1] + x end
  mr.range(1, 20):map(function(x) return inner(x) end):count()
end

jobs[(...)](select(2, ...))
