-- mr.load: the first argument selects the job. mapreduce_load_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local mr = require "actor.mapreduce"

local jobs = {}

function jobs.bytes_of_lines_go_through_as_they_are()
  local long, strange = 0, 0
  for _, pair in ipairs(mr.load("text"):map(function(line)
    if #line > 1000 then return #line, line:sub(-1) end
    return #line, line
  end):collect()) do
    print(("%d %q"):format(pair[1], pair[2]))
  end
end

function jobs.file_that_changes_while_job_runs_is()
  local rows = mr.load("text")
  rows:count()
  actor.collective.barrier() -- now all nodes have planned: an action may end before a node has entered it
  if actor.rank == 0 then
    local file = assert(io.open("text", "a"))
    file:write("more\n")
    file:close()
  end
  actor.collective.barrier()
  rows:count()
end

function jobs.urls_are_fetched_each_once_packed_or(...)
  local at = ...
  print("sum " .. mr.load { at .. "/a", at .. "/b.gz", at .. "/c.bz2", at .. "/empty", "file" }:map(tonumber):sum())
  print("moved " .. mr.load(at .. "/moved"):count())
  print("large " .. mr.load(at .. "/large"):count())
end

function jobs.csv_and_json()
  local function total(rows) return rows:map(function(row) return row.count end):sum() end
  local csv = { format = "csv", header = true, types = { count = "number" } }
  print("csv " .. total(mr.load("in/*.csv", csv)))
  print("packed " .. total(mr.load("in/{a.csv,b.csv.gz}", csv)))
  print("one piece " .. total(mr.load("in/a.csv", { format = "csv", names = { "word", "count", "share" }, header = true, multiline = true })))
  print("json " .. total(mr.load("in/a.jsonl", { format = "jsonl" })))
  local top = mr.load("in/a.csv", csv):top(1, function(row) return row.count end)[1]
  assert(top.word == "w100000" and top.share == 0.5)
  assert(mr.load("in/a.csv", csv).partitions > 1)
  local _, few = pcall(function() mr.load("bad/a.csv", csv):count() end)
  print("few " .. few:match("bad/a.csv, line .*expected"))
  local _, kind = pcall(function() mr.load("bad/b.csv", csv):count() end)
  print("kind " .. kind:match("bad/b.csv, line .*number"))
  local _, cut = pcall(function() mr.load("bad/a.jsonl", { format = "jsonl" }):count() end)
  print("cut " .. cut:match("bad/a.jsonl, line .*"))
  csv.on_error = "skip"
  local rows = mr.load("bad/{a,b}.csv", csv)
  print("left " .. rows:count() .. rows:explained():match(" %d+ records skipped"))
end

-- case: wrong_arguments_are_errors_at_the_line_of_the_user at: threads:2
function jobs.wrong_arguments_are_errors_at_the_line_of_the_user()
  local refused = expect.refused
  assert(io.open("a.txt", "w")):close()
  actor.collective.barrier()
  refused(function() mr.load('none.txt') end, "mapreduce.load: none.txt: cannot open for reading: No such file")
  refused(function() mr.load('*.csv') end, "mapreduce.load: *.csv: no file matches")
  refused(function() mr.load('ftp://x/y') end,
    "mapreduce.load: 'ftp://' is not supported; give file://PATH, unix://PATH or a path, s3://BUCKET/KEY, http://")
  refused(function() mr.load {} end, "mapreduce.load: no url is given")
  refused(function() mr.load(7) end, "bad argument 'url' to mapreduce.load: expected a string or an array of them, got number")
  refused(function() mr.load('a.txt', { on_error = 'ignore' }) end, "expected one of 'fail', 'skip', got 'ignore'")
  refused(function() mr.whole_files('http://127.0.0.1/') end, "mapreduce.whole_files: ")
  refused(function() mr.whole_files('a.txt', { format = 'csv' }) end, "unknown option 'format' to mapreduce.whole_files")
  refused(function() mr.load('**/*.csv') end, "mapreduce.load: **/*.csv: no file matches")
  refused(function() mr.load('{a,b}.txt') end, "mapreduce.load: b.txt: cannot open for reading: No such file")
  refused(function() mr.load('a.txt', { format = 'json' }) end, "expected one of 'text', 'csv', 'jsonl', got 'json'")
  refused(function() mr.load('a.txt', { header = true }) end, 'mapreduce.load: \'header\' is for format = "csv"')
  refused(function() mr.load('a.txt', { format = 'csv', separator = '' }) end, "expected one character, no quote or line end")
  refused(function() mr.load('a.txt', { format = 'csv', types = 'int' }) end,
    "expected one of 'any', 'boolean', 'number', 'text', got 'int'")
  refused(function() mr.load('a.txt', { format = 'csv', types = { x = 1 } }) end, "bad argument 'types' to mapreduce.load")
  refused(function() mr.load('a.txt', { format = 'csv', names = { 1 } }) end, "the names in 'names' have to be strings")
end

jobs[(...)](select(2, ...))
