-- Jobs of mapreduce_save_test.cpp; the first argument selects the job.
local actor = require "actor"
local mr = require "actor.mapreduce"
local ffi = require "ffi"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

function jobs.saved_rows_can_be_loaded()
  for _, name in ipairs { "plain", "a.gz", "b.zst", "c.xz", "d.bz2" } do
    local done = mr.range(1, 5000):map(function(x) return "line " .. x end):save("out/" .. name)
    local back = mr.load("out/" .. name)
    local sum = back:map(function(line) return tonumber(line:match("^line (%d+)$")) end):sum()
    print(("%s: %d files, %d rows, sum %d"):format(name, done.files, done.rows, sum))
  end
end

function jobs.csv_and_json_lines_are_read_back()
  local util = require "actor.util"
  local function text(value)
    if type(value) ~= "table" then return type(value) == "string" and ("%q"):format(value) or tostring(value) end
    local out = {}
    for k, v in util.pairs(value) do out[#out + 1] = tostring(k) .. "=" .. text(v) end
    return "{" .. table.concat(out, ",") .. "}"
  end
  local function compare(rows, options, load, name)
    rows:save(name, options)
    local got, wanted = text(mr.load(name, load):collect()), text(rows:collect())
    assert(got == wanted, ("%s: %s\nnot %s"):format(name, got:sub(1, 2000), wanted:sub(1, 2000)))
  end
  local csv, json = { format = "csv" }, { format = "jsonl" }
  local texts = { "", "1", "x,y", 'say "x"', "true", "nan", "-inf", " 7", "007", "two\nlines", "a;b", "\xc3\xa9", "\r", "12345678901234567890" }
  local values = {}
  for i, s in ipairs(texts) do values[i] = { i, s, i % 2 == 0, -0.1 * i } end
  values[#values + 1] = { 1e300, "x", true, -0 }
  compare(mr.parallelize(values, 3), csv, csv, "table")
  local people = mr.parallelize({ { name = "A;B", age = 7 }, { name = "7" }, { age = -0.5, name = "", ["x;y"] = { 1 } } }, 2)
  compare(people:map(function(row) return { name = row.name, age = row.age } end), { format = "csv", separator = ";", header = { "name", "age" } },
    { format = "csv", separator = ";", header = true, types = { age = "number" } }, "named")
  local ok, message = pcall(function() people:save("unnamed", { format = "csv", header = { "name", "age" } }) end)
  assert(not ok and message:find("a row has the field 'x;y', which is not a name in `header`", 1, true), message)
  compare(mr.range(1, 1000):map(function(x) return "k" .. x % 7, x end):reduce_by_key(mr.sum), csv, csv, "pairs.gz")
  compare(mr.parallelize({ { 1, 0 / 0 }, { -1 / 0, 1 / 0 } }), csv, csv, "nan")
  local records = mr.range(1, 1000):map(function(x) return { id = x, name = "n" .. x, tags = { "a", x / 3 }, [x % 2 == 0 and "even" or "odd"] = true } end)
  compare(records, json, json, "records.zst")
  compare(mr.parallelize({ 1, "x", true, {}, { 1, { 2 } }, 2 ^ 60, -0, 2 ^ 53 + 1, { n = 9007199254740993LL }, "\0\xf0\x9f\x98\x80" }), json, json, "values")
  compare(mr.parallelize({}), json, json, "empty")
  print("all the same")
end

function jobs.text_csv_and_json_lines_are_written_as()
  local rows = mr.parallelize({ 1, 0.1, -1e300, "a,b", 'say "x"', "two\nlines", "", { 1, "x;y", { b = 1, a = { 1, 2 } } }, true,
    "\xff\xc3\xa9\0" }, 1)
  rows:save("text")
  rows:save("csv", { format = "csv" })
  rows:map(function(x) return x == "\xff\xc3\xa9\0" and "\xc3\xa9\0" or x end):save("json", { format = "jsonl" })
  local pairs_of = mr.parallelize({ "k" }, 1):map(function(k) return k, { 1, 2 } end)
  pairs_of:save("pairs_text", { separator = "=" })
  pairs_of:save("pairs_csv", { format = "csv", separator = ";", header = { "key", "a;b" } })
  pairs_of:save("pairs_json", { format = "jsonl" })
  local names = { "a;b", 'say "x"', "plain" }
  mr.parallelize({ { 1, 2.5, -0 } }, 1):save("numbers", { format = "csv", separator = ";", header = names })
  local read, found = require "actor".data.csv("numbers/part-00000.csv", { delimiter = ";", header = true })
  for i, name in ipairs(names) do assert(found[i] == name, found[i]) end
  assert(1 / read:get(1, 3) == -1 / 0)
end

function jobs.part_of_lost_worker_is_written_once()
  ffi.cdef "int getpid(void); int kill(int, int);"
  local rows = 0
  local done = mr.range(1, 4000, 1, 40):map(function(x)
    rows = rows + 1
    if actor.rank == 1 and rows == 250 then
      announce("rank 1 is in its third part")
      ffi.C.kill(ffi.C.getpid(), 9)
    end
    if actor.rank ~= 1 and rows == 1 then await("rank 1 is in its third part") end
    return x
  end):save("out")
  print(("saved %d %d"):format(done.files, done.rows))
  print("sum " .. mr.load("out"):map(tonumber):sum())
end

function jobs.save_with_lost_beginning_is_single(...)
  local node, c = require "actor.c.node", require "actor.c.mapreduce"
  local begin, begin_save, next_task = c.begin, c.begin_save, c.next_task
  ffi.cdef "int getpid(void); int kill(int, int);"

  if actor.id == 1 then
    function c.begin_save(...)
      announce("worker 1 begins the save")
      await("worker 2 is there")
      return begin_save(...)
    end
  else
    await("worker 1 begins the save")
  end
  if actor.id == 2 then
    local first = true
    function c.begin(...)
      begin(...)
      announce("worker 2 is there")
    end
    function c.next_task()
      local stage, task, attempt = next_task()
      if first and not stage then
        first = false
        await("worker 1 goes")
        repeat node.refresh() until actor.size == 2
      end
      return stage, task, attempt
    end
  end

  local done = mr.range(1, 400, 1, 40):map(function(x)
    if actor.id == 1 then
      await("worker 0 writes")
      announce("worker 1 goes")
      ffi.C.kill(ffi.C.getpid(), 9)
    end
    if actor.id == 0 then announce("worker 0 writes") end
    return x
  end):save("out")
  print(("saved %d %d"):format(done.files, done.rows))
end

function jobs.failed_host_does_not_touch_output()
  local actor, c = require "actor", require "actor.c.mapreduce"
  local next_task = c.next_task
  function c.next_task()
    if actor.id == 2 and io.open("2 writes") then announce("worker 2 waits in " .. io.open("/proc/self/stat"):read("*n")) end
    return next_task()
  end
  mr.range(1, 3, 1, 3):map(function(x)
    announce(actor.id .. " writes")
    for _, name in ipairs(actor.id == 2 and { "0 writes", "1 writes" } or { "worker 2 has ended" }) do await(name) end
    return x
  end):save("out")
end

jobs[(...)](select(2, ...))
