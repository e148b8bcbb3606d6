-- Jobs of mapreduce_room_test.cpp; the first argument selects the job.
local actor = require "actor"
local mr = require "actor.mapreduce"

local jobs = {}

function jobs.sorted()
  local pad = ("x"):rep(300)
  local rows = mr.range(1, 160000, 1, 24):map(function(i) return ("%06d%s"):format(i * 7919 % 160000, pad), i end)
  local numbers = rows:sort_by_key({ partitions = 6 }):values()
  print('sum ' .. numbers:sum())
end

function jobs.grouped()
  local pad = ("x"):rep(60)
  local rows = mr.range(1, 400000, 1, 24):map(function(i) return ("%06d%s"):format(i * 7919 % 400000, pad), i end)
  local numbers = rows:group_by_key():map(function(_, values) return values[1] end)
  print('sum ' .. numbers:sum())
end

function jobs.wide()
  local pad = ("x"):rep(1000)
  print(mr.range(1, 3e6, 1, 1):map(function(i) return i .. pad end):sort_by(tostring):count())
end

actor.collective.barrier() -- no host is too late for a task
jobs[(...)](select(2, ...))
