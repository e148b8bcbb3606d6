-- Saved rows: the first argument selects the job. mapreduce_save_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local mr = require "actor.mapreduce"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

local function text_of(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- Saved rows can be loaded, with any compression.
-- case: saved_rows_can_be_loaded at: threads isolate hosts
function jobs.saved_rows_can_be_loaded()
  for _, name in ipairs { "plain", "a.gz", "b.zst", "c.xz", "d.bz2" } do
    local done = mr.range(1, 5000):map(function(x) return "line " .. x end):save("out/" .. name)
    local back = mr.load("out/" .. name)
    local sum = back:map(function(line) return tonumber(line:match("^line (%d+)$")) end):sum()
    assert(done.files == 16 and done.rows == 5000 and sum == 12502500, name)
  end
  expect.same(#expect.names("out"), 5)
  local names = expect.names("out/b.zst")
  assert(#names == 17 and names[17] == "part-00015.zst")
end

-- A reader returns no byte order mark.
-- case: no_reader_returns_byte_order_mark at: threads:2
function jobs.no_reader_returns_byte_order_mark()
  if actor.rank == 0 then
    local file = assert(io.open("bom", "wb"))
    file:write("\239\187\191[1]\n")
    file:close()
  end
  actor.collective.barrier()
  expect.same(mr.load("bom"):first(), "[1]")
  expect.same(mr.load("bom"):flatmap(mr.words):first(), "[1]")
  expect.same(#mr.load("bom", { format = "jsonl" }):first(), 1)
  expect.same(mr.whole_files("bom"):values():first(), "[1]\n")
end

-- case: csv_and_json_lines_are_read_back at: threads:{1,2} isolate
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
  expect.raises(function() people:save("unnamed", { format = "csv", header = { "name", "age" } }) end,
    "a row has the field 'x;y', which is not a name in `header`")
  compare(mr.range(1, 1000):map(function(x) return "k" .. x % 7, x end):reduce_by_key(mr.sum), csv, csv, "pairs.gz")
  compare(mr.parallelize({ { 1, 0 / 0 }, { -1 / 0, 1 / 0 } }), csv, csv, "nan")
  local records = mr.range(1, 1000):map(function(x) return { id = x, name = "n" .. x, tags = { "a", x / 3 }, [x % 2 == 0 and "even" or "odd"] = true } end)
  compare(records, json, json, "records.zst")
  compare(mr.parallelize({ 1, "x", true, {}, { 1, { 2 } }, 2 ^ 60, -0, 2 ^ 53 + 1, { n = 9007199254740993LL }, "\0\xf0\x9f\x98\x80" }), json, json, "values")
  compare(mr.parallelize({}), json, json, "empty")
end

-- case: text_csv_and_json_lines_are_written_as at: threads:2
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
  local raw = "\xff\xc3\xa9\0"
  expect.same(text_of("text/part-00000"), '1\n0.1\n-1e+300\na,b\nsay "x"\ntwo\nlines\n\n[1,"x;y",{"a":[1,2],"b":1}]\ntrue\n' .. raw .. "\n")
  expect.same(text_of("csv/part-00000.csv"), '1\n0.1\n-1e+300\n"a,b"\n"say ""x"""\n"two\nlines"\n""\n1,x;y,"{""a"":[1,2],""b"":1}"\ntrue\n'
    .. raw .. "\n")
  expect.same(text_of("json/part-00000.jsonl"), '1\n0.1\n-1e+300\n"a,b"\n"say \\"x\\""\n"two\\nlines"\n""\n[1,"x;y",{"a":[1,2],"b":1}]\ntrue\n'
    .. '"\xc3\xa9\\u0000"\n')
  expect.same(text_of("pairs_text/part-00000"), "k=[1,2]\n")
  expect.same(text_of("pairs_csv/part-00000.csv"), 'key;"a;b"\nk;[1,2]\n')
  expect.same(text_of("pairs_json/part-00000.jsonl"), '["k",[1,2]]\n')
end

-- A part of a lost worker is written once.
-- case: part_of_lost_worker_is_written_once at: isolate
function jobs.part_of_lost_worker_is_written_once()
  local rows = 0
  local done = mr.range(1, 4000, 1, 40):map(function(x)
    rows = rows + 1
    if actor.rank == 1 and rows == 250 then
      announce("rank 1 is in its third part")
      meeting.die()
    end
    if actor.rank ~= 1 and rows == 1 then await("rank 1 is in its third part") end
    return x
  end):save("out")
  assert(done.files == 40 and done.rows == 4000)
  expect.same(mr.load("out"):map(tonumber):sum(), 8002000)
  expect.same(#expect.names("out"), 41)
  expect.names(".", "saving")
end

function jobs.save_with_lost_beginning_is_single(...)
  local node, c = require "actor.c.node", require "actor.c.mapreduce"
  local begin, begin_save, next_task = c.begin, c.begin_save, c.next_task

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
      meeting.die()
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

-- case: wrong_arguments_are_errors_at_the_line_of_the_user at: threads:2
function jobs.wrong_arguments_are_errors_at_the_line_of_the_user()
  local refused = expect.refused
  refused(function() mr.range(1, 4):save('out', { format = 'xml' }) end, "expected one of 'text', 'csv', 'jsonl', got 'xml'")
  refused(function() mr.range(1, 4):save('out', { overwite = true }) end, "unknown option 'overwite' to mapreduce.save")
  refused(function() mr.range(1, 4):save('gs://out') end, "mapreduce.save: 'gs://' is not supported")
  refused(function() mr.range(1, 4):save('') end, "names no path")
  refused(function() mr.range(1, 4):save('out', { header = { 'a' } }) end, "only CSV has a header")
  refused(function() mr.range(1, 4):save('out', { format = 'csv', separator = ', ' }) end, "expected one character")
end

jobs[(...)](select(2, ...))
