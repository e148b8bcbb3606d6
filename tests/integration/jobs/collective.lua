-- Collectives: the first argument selects the job. collective_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- case: sixty_four_ranks_combine within: 120 at: threads:64
function jobs.sixty_four_ranks_combine()
  local co, tensor = actor.collective, actor.tensor
  for _, count in ipairs { 1, 100000 } do
    local got = co.allreduce(tensor.full({ count }, actor.rank))
    assert(got:get(1) == 64 * 63 / 2 and got:get(count) == 64 * 63 / 2)
  end
  assert(co.allgather(tensor.full({ 1 }, actor.rank)):get(64) == 63)
end

function jobs.collective_that_does_not_fit_with()
  local co, tensor = require("actor").collective, require("actor").tensor
  if require("actor").rank == 0 then
    co.allreduce(tensor.ones { 3 })
  else
    co.allgather(tensor.ones { 3 })
  end
end

-- case: collective_that_has_failed_holds_up {0,3} {star,ring} {blocking,async} within: 60 at: threads:4
function jobs.collective_that_has_failed_holds_up(...)
  local co, tensor = actor.collective, actor.tensor
  local odd, algorithm, async = tonumber((...)), (select(2, ...)), select(3, ...) == "async"
  local large = tensor.ones { 300000 }
  local function disagree()
    local options = { algorithm = algorithm, async = async }
    expect.raises(function()
      local result = co.allreduce(large, actor.rank == odd and "max" or "sum", options)
      return async and result:wait() or result
    end, "ranks disagree on a collective", "actor.pairs, not pairs")
  end
  for _ = 1, 10 do
    disagree()
    assert(co.barrier())
  end
  disagree() -- some ranks end before others arrive
end

-- case: timeout_names_missing_rank at: threads:2 isolate:2
function jobs.timeout_names_missing_rank()
  local co = require("actor").collective
  local rank = require("actor").rank
  if rank == 1 then await "given up" end
  local passed, message, code = co.barrier { timeout = 0.2 }
  if rank == 0 then
    expect.same(passed, nil)
    expect.same(message .. ", " .. code, "barrier: rank 1 has not answered in time, timeout")
    announce "given up"
  end
  assert(co.barrier())
end

-- The errors of all other ranks name the late rank, in each kind of call.
-- case: late_rank_is_named at: rehearsal:{2,3,8}
function jobs.late_rank_is_named()
  local co, late, one = actor.collective, actor.size - 1, actor.tensor.ones(1)
  local options = { timeout = 0.2 }
  for name, call in actor.pairs {
    barrier = function() return co.barrier(options) end,
    allreduce = function() return co.allreduce(one, "sum", options) end,
    allgather = function() return co.allgather(one, options) end,
    reduce = function() return co.reduce(one, "sum", 0, options) end,
  } do
    if actor.rank == late then actor.sleep(2) end
    local _, message, code = call()
    if actor.rank ~= late then
      expect.same(message:match "^.-: rank %d+ has not answered in time", ("%s: rank %d has not answered in time"):format(name, late))
      expect.same(code, "timeout")
    end
    assert(co.barrier())
  end
end

-- case: loss_that_asynchronous_collective_has at: isolate
function jobs.loss_that_asynchronous_collective_has()
  local co, tensor = actor.collective, actor.tensor
  assert(co.barrier())
  if actor.id == 2 then meeting.die() end
  -- Whether it starts before or after the loss is known, this call reports the loss.
  local pending = co.allreduce(tensor.full({ 10 }, 1), "sum", { async = true })
  local got, message, code = pending:wait()
  assert(got == nil and message == "allreduce: rank 2 lost" and code == "peer_lost", message)
  assert(co.gather("x", 0, { list = true }))
  assert(assert(co.allreduce(tensor.full({ 10 }, 1))):get(1) == 2)
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

-- case: wrong_arguments_are_errors_at_the_line_of_the_user at: threads:2
function jobs.wrong_arguments_are_errors_at_the_line_of_the_user()
  local co, tensor, refused = actor.collective, actor.tensor, expect.refused
  local t = tensor.ones { 3 }
  refused(function() co.allreduce(3) end, "bad argument 'tensor' to collective.allreduce: expected tensor, got number")
  refused(function() co.allreduce(t, "median") end, "expected one of sum, mean, min, max, prod or a function, got 'median'")
  refused(function() co.allreduce(t, "sum", { algorithm = "tree" }) end, "there is no 'tree' for it")
  refused(function() co.allreduce(t, "sum", { fast = true }) end, "unknown option 'fast' to collective.allreduce")
  refused(function() co.allreduce(t, "sum", { timeout = -1 }) end, "bad argument 'timeout' to collective.allreduce")
  refused(function() co.allreduce(t, "sum", { out = tensor.ones { 4 } }) end, "shapes (4) and (3) do not fit")
  refused(function() co.broadcast(t, 2) end, "there is no rank 2 among 2")
  refused(function() co.broadcast(t, 1.5) end, "bad argument 'root' to collective.broadcast: expected an integer")
  if actor.rank == 0 then refused(function() co.broadcast(print, 0) end, "collective.broadcast: value is a function") end
  refused(function() co.gather(t, 5) end, "there is no rank 5 among 2")
  if actor.rank == 0 then refused(function() co.scatter({ 1, 2, 3 }) end, "expected 2 values, one for each rank, got 3") end
  refused(function() co.alltoall("x") end, "expected table, got string")
  refused(function() co.group("g", { 0, 7 }) end, "there is no rank 7 among 2")
  refused(function() co.group("", { 0 }) end, "expected a name")
  refused(function() co.allreduce(t, function() error("no sum") end) end, "no sum")
end

jobs[(...)](select(2, ...))
