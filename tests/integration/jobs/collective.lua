-- Jobs of collective_test.cpp; the first argument selects the job.
local actor = require "actor"
local ffi = require "ffi"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

function jobs.sixty_four_ranks_combine()
  local co, tensor = actor.collective, actor.tensor
  for _, count in ipairs { 1, 100000 } do
    local got = co.allreduce(tensor.full({ count }, actor.rank))
    assert(got:get(1) == 64 * 63 / 2 and got:get(count) == 64 * 63 / 2)
  end
  assert(co.allgather(tensor.full({ 1 }, actor.rank)):get(64) == 63)
  print "combined"
end

function jobs.rank_that_is_killed_between_or_in(...)
  local co, tensor = actor.collective, actor.tensor
  ffi.cdef "int getpid(); int kill(int, int);"
  local count, seed = tonumber((...)), tonumber((select(2, ...)))
  local last = actor.rng(seed):int(20, 200)
  local i, failures = 0, {}
  while i < 300 do
    i = i + 1
    if actor.id == 2 and i == last then ffi.C.kill(ffi.C.getpid(), 9) end
    local mine = tensor.full({ count }, i)
    local got, message, code = co.allreduce(mine)
    if not got then
      failures[#failures + 1] = ("call %d: %s (%s)"):format(i, message, code)
      assert(mine:get(1) == i and mine:get(count) == i)
      got = assert(co.allreduce(mine))
    end
    assert(got:get(1) == i * actor.size and got:get(count) == i * actor.size, i)
  end
  local all = assert(co.allgather(table.concat(failures, "; ")))
  for r = 2, all.n do assert(all[r] == all[1], all[r]) end
  print(actor.size .. " ranks: " .. (all[1]:gsub("call %d+: ", "")))
end

function jobs.collective_that_does_not_fit_with()
  local co, tensor = require("actor").collective, require("actor").tensor
  if require("actor").rank == 0 then
    co.allreduce(tensor.ones { 3 })
  else
    co.allgather(tensor.ones { 3 })
  end
end

function jobs.collective_that_has_failed_holds_up(...)
  local co, tensor = actor.collective, actor.tensor
  local odd, algorithm, async = tonumber((...)), (select(2, ...)), select(3, ...) == "async"
  local large = tensor.ones { 300000 }
  local function disagree()
    local options = { algorithm = algorithm, async = async }
    local fine, message = pcall(function()
      local result = co.allreduce(large, actor.rank == odd and "max" or "sum", options)
      return async and result:wait() or result
    end)
    assert(not fine and message:find("ranks disagree on a collective.*actor.pairs, not pairs"), message)
  end
  for _ = 1, 10 do
    disagree()
    assert(co.barrier())
  end
  disagree() -- some ranks end before others arrive
  print "at the end"
end

function jobs.timeout_names_missing_rank()
  local co = require("actor").collective
  local rank = require("actor").rank
  if rank == 1 then await "given up" end
  local passed, message, code = co.barrier { timeout = 0.2 }
  if rank == 0 then
    print(passed, message, code)
    announce "given up"
  end
  assert(co.barrier())
  print "and on"
end

function jobs.loss_that_asynchronous_collective_has()
  local co, tensor = actor.collective, actor.tensor
  ffi.cdef "int getpid(); int kill(int, int);"
  assert(co.barrier())
  if actor.id == 2 then ffi.C.kill(ffi.C.getpid(), 9) end
  -- Whether it starts before or after the loss is known, this call reports the loss.
  local pending = co.allreduce(tensor.full({ 10 }, 1), "sum", { async = true })
  print("waited", pending:wait())
  print("gathered", assert(co.gather("x", 0, { list = true })) ~= nil)
  print("again", assert(co.allreduce(tensor.full({ 10 }, 1))):get(1))
end

function jobs.choice_of_algorithm_is_logged_once_for()
  local co, tensor = require("actor").collective, require("actor").tensor
  for _ = 1, 5 do
    co.allreduce(tensor.ones { 100 })
    co.allreduce(tensor.ones { 100000 })
    co.allreduce(tensor.ones { 100000 }, "sum", { algorithm = "ring" })
    co.allreduce(tensor.ones { 100 }, "sum", { algorithm = "star", async = true }):wait()
  end
end

function jobs.all_reduce_through_filter_gives_every()
  local co, tensor, filter = actor.collective, actor.tensor, actor.filter
  local n = actor.size
  local function near(a, b, off)
    local gap = (a - b):abs():max()
    assert((type(gap) == "number" and gap or gap:item()) <= off)
  end
  local hashes = {}
  for _, text in ipairs { "fp16", "int8", "topk:0.1", "topk:0.1+int8", "none" } do
    local sum, exact
    for step = 1, 3 do
      local mine = tensor.normal({ 3000 }, { rng = actor.rng(step, actor.rank) })
      sum = assert(co.allreduce(mine, "mean", { filter = text }))
      exact = assert(co.allreduce(mine, "mean", { reproducible = true }))
      hashes[#hashes + 1] = sum:hash()
    end
    if text == "fp16" then near(sum, exact, 0.01) end
    if text == "int8" then near(sum, exact, 0.2) end
  end
  -- Error feedback: the mean of many filtered calls approaches the exact result.
  local constant, total = tensor.normal({ 200 }, { rng = actor.rng(9, actor.rank) }), tensor.zeros { 200 }
  for _ = 1, 300 do
    total = total + co.allreduce(constant, "sum", { filter = filter.topk { fraction = 0.1 }, stream = "constant" })
  end
  near(total / 300, co.allreduce(constant), 1)
  local waits = co.allreduce(constant, "sum", { filter = "int8", async = true })
  hashes[#hashes + 1] = waits:wait():hash()
  local all = co.allgather(table.concat(hashes, " "))
  for r = 2, n do assert(all[r] == all[1]) end
  local stats = co.stats()
  assert(stats.filter.ratio > 2 and stats.filter.after <= stats.sent and stats.calls > 200, stats.filter.ratio)
  print("the same " .. all[1])
end

function jobs.streams_error_feedback_is_of_one_call()
  local co, tensor = require("actor").collective, require("actor").tensor
  local rank = require("actor").rank
  local t = tensor.ones { 100 }
  local function go(stream) return co.allreduce(t, "sum", { filter = "int8", async = true, stream = stream }) end
  if rank == 1 then await "asked" end
  local pending = go()
  if rank == 0 then
    print(pcall(go))
    announce "asked"
  end
  local other = go "another"
  assert(other:wait():get(1) == 2 and pending:wait():get(1) == 2 and go():wait():get(1) == 2)
end

jobs[(...)](select(2, ...))
