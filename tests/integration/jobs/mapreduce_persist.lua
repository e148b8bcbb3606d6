-- Jobs of mapreduce_persist_test.cpp; the first argument selects the job.
local actor = require "actor"
local mr = require "actor.mapreduce"
local ffi = require "ffi"
local rows_of = require "noted_rows"
local noted, write = rows_of.noted, rows_of.write

local jobs = {}

ffi.cdef "int getpid(void); int kill(int, int);"

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
    write("process", ffi.C.getpid() .. "\n")
    ffi.C.kill(ffi.C.getpid(), 9)
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
  [""] = function(rows) return rows end,
  ["cache()"] = function(rows) return rows:cache() end,
  ["persist()"] = function(rows) return rows:persist() end,
  ["persist { disk = true }"] = function(rows) return rows:persist { disk = true } end,
}

function jobs.persisted(keep)
  local rows = keeps[keep](noted())
  print("sum " .. rows:sum() .. " " .. rows:map(function(x) return x % 7, x end):reduce_by_key(mr.sum):count())
  print("sum " .. rows:sum())
  print(rows:explained())
  rows:unpersist()
  print("again " .. rows:sum())
  print(rows:explained())
end

function jobs.persisted_and_lost(keep)
  local rows = keeps[keep](noted(wait_for_worker_2))
  print("count " .. rows:count())
  lose_worker_2()
  if actor.id == 0 then
    write("made", "--\n")
    write("go", "")
  end
  repeat until io.open("go")
  print("sum " .. rows:sum())
end

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
  actor.log.info("rank %d has %d.", actor.rank, n + rows:count())
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

function jobs.cached_datasets_that_are_garbage_or_not(...)
  local how, held, spilled = ..., {}, 0
  for i = 1, 100 do
    local rows = mr.range(1, 4000, 1, 4):map(function(x) return x, ("x"):rep(1000) .. i end):cache()
    assert(rows:count() == 4000)
    if rows:explained():find("spilled") then spilled = spilled + 1 end
    if how ~= "garbage" then held[i] = rows end
    if how == "unpersist" then rows:unpersist() end
    actor.collective.barrier() -- limits how far nodes lag: the outputs that a lagging node has yet to read stay
  end
  print("spilled " .. tostring(spilled > 0))
end

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
  print("all there")
end

function jobs.one_node_may_explain_plan()
  local rows = noted():cache()
  if actor.rank == 0 then print(rows:map(function(x) return x, 1 end):reduce_by_key(mr.sum):explained()) end
  print("sum " .. rows:sum() .. " " .. rows:sum())
end

function jobs.operations_before_checkpoint_are_not_repeated()
  local rows = noted(wait_for_worker_2):checkpoint("safe")
  lose_worker_2()
  print("sum " .. rows:sum())
  print("sum by key " .. rows:map(function(x) return x % 10, x end):reduce_by_key(mr.sum):values():sum())
  print(rows:explained())
end

function jobs.checkpoint_during_which_worker_is_lost()
  local seen = 0
  local rows = mr.range(1, 4000, 1, 40):map(function(x)
    seen = seen + 1
    if actor.id == 2 and seen == 150 then ffi.C.kill(ffi.C.getpid(), 9) end
    if actor.id ~= 2 and seen == 1 then wait_for_worker_2() end
    if actor.id == 2 and seen == 1 then write("two", "") end
    return x
  end):checkpoint("safe")
  print("sum " .. rows:count() .. " " .. rows:sum())
end

function jobs.output_of_one_worker_is_found(...)
  if actor.id ~= 2 then lose_worker_2() end
  local what = ...
  local rows = noted()
  local done = what == "checkpoint" and rows:checkpoint("out") or rows:save("out", { overwrite = what == "overwrite" })
  if actor.id == 2 then lose_worker_2() end
  print("sum " .. (what == "checkpoint" and done or mr.load("out"):map(tonumber)):sum())
end

function jobs.values_and_pairs_are_restored()
  local codec = require "actor.codec"
  local values = { 1, -0.5, 1 / 0, "text", "\0\255", "", true, false, { 1, { a = "b" } }, actor.tensor.ones(3) }
  local rows = mr.parallelize(values, 4)
  local both = rows:union(rows:map(function(x) return "key", x end))
  local back = both:checkpoint("deep/er/ck")
  assert(codec.hash(back:collect()) == codec.hash(both:collect()))
  local summed = mr.range(1, 1000):map(function(x) return x % 10, x end):reduce_by_key(mr.sum):checkpoint("keyed")
  local again = summed:reduce_by_key(mr.sum)
  print("values " .. again:values():sum())
  print(again:explained())
end

function jobs.checkpoint_that_is_damaged_cut_short()
  local rows = mr.range(1, 100):checkpoint("other")
  mr.range(1, 100):map(function(x) return -x end):checkpoint("other", { overwrite = true })
  print("sum " .. rows:sum())
end

function jobs.iteration_goes_on_when_worker_is_lost()
  local sum, n = 0, 0
  for x in noted(wait_for_worker_2):to_local_iterator() do
    sum, n = sum + x, n + 1
    if n == 450 then lose_worker_2() end
  end
  print("sum " .. sum)
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
      ffi.C.kill(ffi.C.getpid(), 9)
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

jobs[(...)](select(2, ...))
