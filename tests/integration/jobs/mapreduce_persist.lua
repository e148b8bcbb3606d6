-- Retained rows: the first argument selects the job. mapreduce_persist_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local mr = require "actor.mapreduce"
local meeting = require "meeting"
local rows_of = require "noted_rows"
local noted, write, made = rows_of.noted, rows_of.write, rows_of.made

local jobs = {}

-- Worker 2 has computed some rows once all workers have; it is then lost before any other worker continues.
local function wait_for_worker_2()
  if actor.id == 2 then
    write("two", "")
  else
    repeat until io.open("two")
  end
end
local function lose_worker_2()
  if actor.id == 2 then
    repeat until io.open("has-0") and io.open("has-1") -- the previous actions are complete
    write("process", require("ffi").C.getpid() .. "\n")
    meeting.die()
  end
  write("has-" .. actor.id, "")
  local process
  repeat
    local file = io.open("process")
    process = file and file:read("*l")
    if file then file:close() end
  until process
  repeat
    local file = io.open("/proc/" .. process .. "/stat")
    local text = file and file:read("*a") -- nil if the process ends at this moment
    local state = text and text:match('%) (%a)')
    if file then file:close() end
  until not state or state == "Z"
end

-- The ways to retain rows.
local keeps = {
  none = function(rows) return rows end,
  cache = function(rows) return rows:cache() end,
  persist = function(rows) return rows:persist() end,
  disk = function(rows) return rows:persist { disk = true } end,
}

-- Retained rows are computed once, in any storage, until they are released.
-- case: persisted {cache,persist,disk} at: threads isolate hosts
function jobs.persisted(keep)
  local rows = keeps[keep](noted())
  expect.same(rows:sum(), 4501500)
  expect.same(rows:map(function(x) return x % 7, x end):reduce_by_key(mr.sum):count(), 7)
  expect.same(rows:sum(), 4501500)
  local plan = rows:explained()
  assert(plan:find(keep == "disk" and ", kept on disk\n" or ", kept\n", 1, true), plan)
  assert(plan:find("; 30 tasks' rows were there", 1, true), plan)
  actor.collective.barrier() -- all have used the retained rows
  rows:unpersist()
  expect.same(rows:sum(), 4501500)
  expect.same(made(), 60)
end

-- Only the retained rows of a lost worker are recomputed.
-- case: persisted_and_lost {cache,disk} at: isolate
function jobs.persisted_and_lost(keep)
  local rows = keeps[keep](noted(wait_for_worker_2))
  expect.same(rows:count(), 3000)
  lose_worker_2()
  if actor.id == 0 then
    write("made", "--\n")
    write("go", "")
  end
  repeat until io.open("go")
  expect.same(rows:sum(), 4501500)
  local count, _, lost = made()
  assert(count == 30 and next(lost))
  local _, again = made(true)
  for part in pairs(again) do assert(lost[part], part) end
  for part in pairs(lost) do assert(again[part], part) end
end

-- Every node iterates over rows in order, one partition at a time.
-- case: iterated {none,cache} at: threads isolate hosts
function jobs.iterated(keep)
  local rows = keeps[keep](noted())
  local seen = {}
  for x in rows:to_local_iterator() do seen[#seen + 1] = x end
  for i = 1, 3000 do assert(seen[i] == i) end
  assert(#seen == 3000)
  local sorted, last, n = rows:map(function(x) return x * 7919 % 3001, x end):sort_by_key(), -1, 0
  for pair in sorted:to_local_iterator() do
    assert(pair[1] > last and pair[1] == pair[2] * 7919 % 3001)
    last, n = pair[1], n + 1
    if n == 1000 then break end -- all stop at the same row
  end
  for _ in mr.range(1, 0):to_local_iterator() do error("there is none") end
  for value in mr.parallelize({ false, true }):to_local_iterator() do n = n + (value and 10000 or 100000) end
  expect.same(n + rows:count(), 114000)
  expect.same(made(), keep == "none" and 90 or 30)
end

-- The last part fails while there is a file "broken".
function jobs.checkpoint_of_200_parts()
  local rows = mr.range(1, 200, 1, 200):map(function(x)
    if x == 200 and io.open("broken") then error("the disk is full") end
    return x
  end):checkpoint("ck", { resume = true })
  print(rows:sum())
end

function jobs.rows_persisted_on_disk_are_written_at_once()
  local function print_spilled(what, rows)
    rows:count()
    print(what .. " " .. tostring(rows:explained():find("spilled") ~= nil) .. " " .. rows:values():sum())
  end
  local rows = mr.range(1, 1e6):map(function(x) return x, x end)
  print_spilled("memory", rows:cache())
  rows:unpersist()
  print_spilled("disk", rows:persist { disk = true })
end

-- Cached datasets that are garbage or unpersisted release their rows on every node: 200 MB in all, 4 MB at a time.
-- Unreleased rows would be spilled.
-- case: cached_datasets_that_are_garbage_or_not {garbage,unpersist,held} flags: --memory 128M at: threads:2 isolate:2
function jobs.cached_datasets_that_are_garbage_or_not(how)
  local held, spilled = {}, 0
  for i = 1, 100 do
    local rows = mr.range(1, 4000, 1, 4):map(function(x) return x, ("x"):rep(1000) .. i end):cache()
    assert(rows:count() == 4000)
    if rows:explained():find("spilled") then spilled = spilled + 1 end
    if how ~= "garbage" then held[i] = rows end
    if how == "unpersist" then rows:unpersist() end
    actor.collective.barrier() -- limits how far nodes lag: the outputs that a lagging node has yet to read stay
  end
  if actor.rank == 0 then expect.same(spilled > 0, how == "held") end
end

-- A dataset that one node has released is available to pending actions: rank 1 enters each action long after rank 0 has
-- released the rows.
-- case: dataset_that_one_node_no_longer_holds at: threads:2
function jobs.dataset_that_one_node_no_longer_holds()
  for i = 1, 4 do
    if actor.rank == 1 then repeat until io.open("done-" .. i) end
    local rows = noted():cache()
    assert(rows:sum() == 4501500)
    assert(rows:map(function(x) return 2 * x end):sum() == 9003000)
    if i % 2 == 0 then rows:unpersist() end
    rows = nil
    collectgarbage()
    collectgarbage()
    assert(mr.range(1, 10):count() == 10)
    if actor.rank == 0 then write("done-" .. i, "") end
  end
  expect.same(made(), 4 * 30)
end

-- case: one_node_may_explain_plan at: threads:2
function jobs.one_node_may_explain_plan()
  local rows = noted():cache()
  if actor.rank == 0 then rows:map(function(x) return x, 1 end):reduce_by_key(mr.sum):explained() end
  assert(rows:sum() == 4501500 and rows:sum() == 4501500)
  expect.same(made(), 30)
end

-- case: operations_before_checkpoint_are_not_repeated at: isolate
function jobs.operations_before_checkpoint_are_not_repeated()
  local rows = noted(wait_for_worker_2):checkpoint("safe")
  lose_worker_2()
  expect.same(rows:sum(), 4501500)
  expect.same(rows:map(function(x) return x % 10, x end):reduce_by_key(mr.sum):values():sum(), 4501500)
  local plan = rows:explained()
  assert(plan:find("stage 1: checkpoint; 30 tasks", 1, true) and not plan:find("range", 1, true), plan)
  local count, _, of_2 = made()
  assert(count == 30 and next(of_2))
  expect.same(#expect.names("safe"), 31)
end

-- A checkpoint during which a worker is lost holds each row once.
-- case: checkpoint_during_which_worker_is_lost at: isolate
function jobs.checkpoint_during_which_worker_is_lost()
  local seen = 0
  local rows = mr.range(1, 4000, 1, 40):map(function(x)
    seen = seen + 1
    if actor.id == 2 and seen == 150 then meeting.die() end
    if actor.id ~= 2 and seen == 1 then wait_for_worker_2() end
    if actor.id == 2 and seen == 1 then write("two", "") end
    return x
  end):checkpoint("safe")
  assert(rows:count() == 4000 and rows:sum() == 8002000)
  expect.same(#expect.names("safe"), 41)
  expect.names(".", "saving")
end

-- Worker 2 does all the work and is then lost, with its state; the others enter the same actions after that.
-- case: output_of_one_worker_is_found {save,overwrite,checkpoint} at: isolate
function jobs.output_of_one_worker_is_found(what)
  if actor.id ~= 2 then lose_worker_2() end
  local rows = noted()
  local done = what == "checkpoint" and rows:checkpoint("out") or rows:save("out", { overwrite = what == "overwrite" })
  if actor.id == 2 then lose_worker_2() end
  expect.same((what == "checkpoint" and done or mr.load("out"):map(tonumber)):sum(), 4501500)
  expect.same(#expect.names("out"), 31)
  expect.names(".", "saving")
end

-- case: values_and_pairs_are_restored at: threads isolate hosts
function jobs.values_and_pairs_are_restored()
  local codec = require "actor.codec"
  local values = { 1, -0.5, 1 / 0, "text", "\0\255", "", true, false, { 1, { a = "b" } }, actor.tensor.ones(3) }
  local rows = mr.parallelize(values, 4)
  local both = rows:union(rows:map(function(x) return "key", x end))
  local back = both:checkpoint("deep/er/ck")
  assert(codec.hash(back:collect()) == codec.hash(both:collect()))
  local summed = mr.range(1, 1000):map(function(x) return x % 10, x end):reduce_by_key(mr.sum):checkpoint("keyed")
  local again = summed:reduce_by_key(mr.sum)
  expect.same(again:values():sum(), 500500)
  -- Its keys are in the right partitions.
  assert(again:explained():find("stage 2: reduce_by_key; 16 tasks  <- stage 1", 1, true))
end

function jobs.checkpoint_that_is_damaged_cut_short()
  local rows = mr.range(1, 100):checkpoint("other")
  mr.range(1, 100):map(function(x) return -x end):checkpoint("other", { overwrite = true })
  print("sum " .. rows:sum())
end

-- case: iteration_goes_on_when_worker_is_lost at: isolate
function jobs.iteration_goes_on_when_worker_is_lost()
  local sum, n = 0, 0
  for x in noted(wait_for_worker_2):to_local_iterator() do
    sum, n = sum + x, n + 1
    if n == 450 then lose_worker_2() end
  end
  expect.same(sum, 4501500)
end

-- "soon": rank 0 enters the action when three processes have failed; "late": when the action has failed.
function jobs.task_that_ends_each_process_that_runs(when)
  local function size_of(path)
    local file = io.open(path)
    local text = file and file:read("*a") or ""
    if file then file:close() end
    return #text
  end
  local function run()
    mr.range(1, 8, 1, 8):foreach(function(x)
      if x ~= 5 then return end
      write("deaths", "x")
      meeting.die()
    end)
  end
  if actor.id == 0 then
    local sign, size = "deaths", 3
    if when == "late" then sign, size = "failed", 1 end
    repeat until size_of(sign) == size
  elseif when == "late" then
    pcall(run)
    write("failed", "x")
    while true do actor.sleep(1) end -- until rank 0 has ended the run
  end
  run()
end

-- case: wrong_arguments_are_errors_at_the_line_of_the_user at: threads:2
function jobs.wrong_arguments_are_errors_at_the_line_of_the_user()
  local refused = expect.refused
  write("made", "no folder")
  refused(function() mr.range(1, 4):persist { disc = true } end, "unknown option 'disc' to mapreduce.persist")
  refused(function() mr.range(1, 4):persist { disk = 1 } end, "expected boolean")
  refused(function() mr.range(1, 4):cache():persist { disk = true } end, "are kept in memory; unpersist() first")
  refused(function() mr.range(1, 4).unpersist() end, "call unpersist with a colon")
  refused(function() mr.range(1, 4):checkpoint() end, "bad argument 'url' to mapreduce.checkpoint: expected string, got nil")
  refused(function() mr.range(1, 4):checkpoint('s3://out') end, "mapreduce.checkpoint: 's3://' is not supported")
  refused(function() mr.range(1, 4):checkpoint('ck', { again = true }) end, "unknown option 'again' to mapreduce.checkpoint")
  refused(function() mr.range(1, 4):checkpoint('made/ck') end, "made/ck: cannot be written: ")
  refused(function() mr.range(1, 4).to_local_iterator() end, "call to_local_iterator with a colon")
end

jobs[(...)](select(2, ...))
