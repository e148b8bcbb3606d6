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

jobs[(...)](select(2, ...))
