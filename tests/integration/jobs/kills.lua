-- Makes calls until a rank is lost. The results show whether ranks mix rounds, the list of failed calls whether all
-- survivors saw the same end of each call. Ends three successful calls after the loss: if ranks saw the loss at
-- different calls, they would wait for each other forever. Arguments: the kind of call, elements, the worker that logs
-- its process to be killed. kills_test.cpp cuts links of this job.
-- case: {allreduce,reproducible,alltoall,table,rotator} {1,300,100000} flags: --codes 0,3 --faults kill=1,within=100ms at: rehearsal:{3,2x2}
-- case: {allreduce,alltoall,rotator} 300 flags: --codes 0,3 --faults partition=1:8s,within=100ms at: rehearsal:4
-- case: {allreduce,reproducible,alltoall,table,rotator} 300000 {0,2} within: 60 kill: dies at: isolate
-- case: allreduce 4000000 1 within: 60 kill: dies at: isolate:4
local actor = require "actor"
local ffi = require "ffi"
local co, tensor = actor.collective, actor.tensor
local kind, elements, victim = ...
elements, victim = tonumber(elements), tonumber(victim)

ffi.cdef "int getpid(void);"

-- Each call's function takes the round and returns the result of a collective; `right` checks from the result that all
-- ranks were in the same round.
local input = tensor.zeros { elements }
local base = 2 ^ 20 -- a sum over n ranks is n * (base + round), which gives n and the round
local function same_round(got, r)
  local ranks = math.floor(got[1] / base)
  return got[1] == ranks * (base + r) and got[elements] == got[1]
end
local model = co.table()
local rotator
local calls = {
  allreduce = {
    call = function(r) return co.allreduce(input:fill_(base + r)) end,
    right = same_round,
  },
  reproducible = {
    call = function(r) return co.allreduce(input:fill_(base + r), "sum", { reproducible = true }) end,
    right = same_round,
  },
  alltoall = {
    call = function(r)
      return co.alltoall(tensor.full({ 12 * elements }, r)) -- for one to four ranks
    end,
    right = function(got, r) return got:min() == r and got:max() == r end,
  },
  table = {
    call = function(r)
      local mine = co.table()
      for id = 1, 5 do mine:add(id, tensor.full({ elements }, r)) end
      mine:add(0, 1)
      local done, message, code = mine:regroup()
      if done then done, message, code = mine:allgather() end
      return done and mine, message, code
    end,
    right = function(got, r) return got:get(3)[elements] == r * got:get(0) end,
  },
  rotator = {
    call = function()
      if not rotator then
        for i = 1, 4 do model:add(actor.id * 10 + i, tensor.zeros { elements }) end
        rotator = co.rotator { table = model, slices = 2 }
      end
      local before = model:get(actor.id * 10 + 1)[1]
      local done, message, code = rotator:round(function(slice)
        for _, part in slice:pairs() do part:add_(1) end
      end)
      local after = model:get(actor.id * 10 + 1)[1]
      if not done and after ~= before then error "a failed round has changed a slice" end
      if not done then return nil, message, code end
      return after - before
    end,
    right = function(visits) return visits >= 1 and visits <= 4 end,
  },
}

local made, failed, round, good = 0, {}, 1, 0
while #failed == 0 or good < 3 do
  local got, message, code = calls[kind].call(round)
  made = made + 1
  if got then
    if not calls[kind].right(got, round) then error(("mixed rounds in call %d, round %d"):format(made, round)) end
    round, good = round + 1, good + 1
  elseif code == "peer_lost" then
    failed[#failed + 1], good = made, 0
    if #failed > 8 then error("it fails again and again: " .. message) end
  else
    error(("call %d: %s (%s)"):format(made, message, code))
  end
  if made == 3 and actor.id == victim then actor.log.info(("dies in process %d."):format(ffi.C.getpid())) end
end
local report, reports = made .. " calls, failed: " .. table.concat(failed, " "), nil
repeat reports = co.allgather(report) until reports
for r = 1, reports.n do assert(reports[r] == report, reports[r] .. "; " .. report) end
