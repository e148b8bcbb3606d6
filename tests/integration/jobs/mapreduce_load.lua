-- Jobs of mapreduce_load_test.cpp; the first argument selects the job.
local actor = require "actor"
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

jobs[(...)](select(2, ...))
