-- Calls in a loop while somebody is killed: what each rank gets shows whether ranks mix rounds, and the list of calls that
-- failed whether all who live on have seen the same end of each. Arguments: what to call, elements, seconds.
local actor = require "actor"
local ffi = require "ffi"
local co, tensor = actor.collective, actor.tensor
local kind, elements, seconds = ...
elements, seconds = tonumber(elements), tonumber(seconds)

ffi.cdef "int getpid(void);"

-- Each call's function gets the round and returns what a collective does; `right` tells from its result, and how many
-- ranks there are, whether all have given the same round.
local input = tensor.zeros { elements }
local model = co.table()
local rotator
local calls = {
  allreduce = {
    call = function(r)
      input:fill_(r)
      input[1] = 1
      return co.allreduce(input)
    end,
    right = function(got, r) return got[elements] == r * got[1] end,
  },
  reproducible = {
    call = function(r)
      input:fill_(r)
      input[1] = 1
      return co.allreduce(input, "sum", { reproducible = true })
    end,
    right = function(got, r) return got[elements] == r * got[1] end,
  },
  alltoall = {
    call = function(r)
      return co.alltoall(tensor.full({ 6 * elements }, r)) -- for one, two or three ranks
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
    right = function(visits) return visits >= 1 and visits <= 3 end,
  },
}

local made, failed, round, went = 0, {}, 1, actor.now()
local over = tensor.zeros { 1 }
local stop = false
while not stop do
  local got, message, code = calls[kind].call(round)
  made = made + 1
  if got and not calls[kind].right(got, round) then error(("mixed rounds in call %d, round %d"):format(made, round)) end
  if got then
    round = round + 1
  elseif code == "peer_lost" then
    failed[#failed + 1] = made
    if #failed > 8 then error("it fails again and again: " .. message) end
  else
    error(("call %d: %s (%s)"):format(made, message, code))
  end
  if made == 3 then actor.log.info(("worker %d in process %d."):format(actor.id, ffi.C.getpid())) end
  -- When to stop is agreed as well: by the lowest rank's clock.
  over[1] = actor.rank == 0 and actor.now() - went > seconds and 1 or 0
  local all = got and co.allreduce(over, "max")
  if got then made = made + 1 end
  if got and not all then failed[#failed + 1] = made end
  stop = all and all[1] > 0
end
actor.log.info(("worker %d made %d calls, failed: [%s]"):format(actor.id, made, table.concat(failed, " ")))
