-- Habits of scripts: counters, failed rows in the result (on_error = "keep"), and texts for missing values in CSV.
-- case: at: threads:1 isolate:2
local actor = require "actor"
local mr = require "actor.mapreduce"

local function check_equal(got, wanted, name)
  if got ~= wanted then error(("%s: got %s, not %s"):format(name, actor.show(got), actor.show(wanted)), 2) end
end

-- ---- counters ----

local even, bytes = mr.counter(), mr.counter()
local rows = mr.range(1, 1000, 1, 7):filter(function(i)
  bytes:add(#tostring(i))
  if i % 2 == 0 then even:add() end
  return i % 5 == 0
end)
check_equal(rows:count(), 200, "rows")
check_equal(even:value(), 500, "counted rows")
check_equal(bytes:value(), 2893, "counted bytes")
rows:count()
check_equal(even:value(), 1000, "counted rows after a second action")
check_equal(tostring(even), "accumulator (1000)", "the text of a counter")
local ok, message = pcall(function() mr.range(1, 1):map(function(i) even:add("1") return i end):count() end)
check_equal(ok, false, "a text is added")
assert(message:find("bad argument 'x' to counter:add: expected a number, got string", 1, true), message)

-- ---- on_error = "keep" ----

local function trial(setting)
  if setting.rate > 1 then error("the loss is NaN at rate " .. setting.rate) end
  return { rate = setting.rate, loss = 1 / setting.rate }
end
local settings = { { rate = 0.5 }, { rate = 2 }, { rate = 1 } }
local results = mr.parallelize(settings):map(trial, { on_error = "keep" }):collect()
check_equal(results[1].loss, 2, "a trial")
check_equal(results[3].loss, 1, "a trial after a failed trial")
check_equal(results[2].row.rate, 2, "the row of a failed trial")
assert(results[2].error:find("mapreduce_habits.lua:%d+: the loss is NaN at rate 2$"), results[2].error)

local by_name = mr.parallelize { { "a", 1 }, { "b", "x" } }
local values = by_name:map_values(function(v) return v + 1 end, { on_error = "keep" }):sort_by_key():collect()
check_equal(values[1][2], 2, "a value")
check_equal(values[2][2].row, "x", "the value of a failed row")
assert(values[2][2].error:find("attempt to perform arithmetic", 1, true), values[2][2].error)
local pair = by_name:map(function(k, v) return k, v * 2 end, { on_error = "keep" }):collect()[2]
check_equal(actor.show(pair.row), '{ "b", "x" }', "a pair that failed")
check_equal(mr.parallelize { "1", "x" }:map("tonumber", { on_error = "fail" }):first(), 1, "a native function")

ok, message = pcall(function() mr.parallelize(settings):map(trial):collect() end)
check_equal(ok, false, "without the option a failed trial fails the job")
assert(message:find("the loss is NaN", 1, true), message)
ok, message = pcall(function() mr.parallelize(settings):map(trial, { on_error = "skip" }) end)
assert(not ok and message:find("bad argument 'on_error' to mapreduce.map: expected one of 'fail', 'keep', got 'skip'", 1, true), message)
ok, message = pcall(function() mr.parallelize(settings):map(function() end, { on_error = "keep" }):collect() end)
assert(not ok and message:find("it returned nothing", 1, true), message)

-- ---- na ----

if actor.rank == 0 then
  local file = assert(io.open("na.csv", "w"))
  file:write('name,x,y\nNA,1,-\n"NA",NA,3\nb,,"-"\n')
  file:close()
end
require("actor").collective.barrier()
local function load(options)
  options.format, options.header = "csv", true
  local texts = {}
  for i, row in ipairs(mr.load("na.csv", options):collect()) do texts[i] = actor.show(row) end
  return table.concat(texts, " ")
end
check_equal(load { na = { "NA", "-" } }, '{ x = 1 } { name = "NA", y = 3 } { name = "b", y = "-" }', "na")
check_equal(load { na = { "NA" }, missing = -1 },
  '{ name = -1, x = 1, y = "-" } { name = "NA", x = -1, y = 3 } { name = "b", x = -1, y = "-" }', "na with missing")
check_equal(load { na = { "NA", "-" }, types = { x = "number", name = "text" } },
  '{ x = 1 } { name = "NA", y = 3 } { name = "b", y = "-" }', "na of typed columns")
ok, message = pcall(load, { na = "NA" })
assert(not ok and message:find("bad option 'na'", 1, true) or message:find("expected table", 1, true), message)
ok, message = pcall(load, { na = { 1 } })
assert(not ok and message:find("bad argument 'na' to mapreduce.load: expected an array of strings, got number", 1, true), message)
