-- Peers that lose their coordinator. coordinator_loss.lua [THEN]: each worker samples all workers until a file "enough"
-- exists, and prints each change of the sample. Then it runs the function THEN.
local actor = require "actor"
local meeting = require "meeting"
local peer = actor.peer
local tensor = actor.tensor

local function seen_by(peers)
  local ids = {}
  for _, p in ipairs(peers) do
    if p.rank then ids[#ids + 1] = p.id end
  end
  table.sort(ids)
  return #ids .. " live: " .. table.concat(ids, " ")
end

local after = {}

function after.param()
  actor.param.run {
    schedule = function() return {} end,
    push = function(_, pairs) return pairs end,
    stop = function() return true end,
  }
end

function after.mapreduce() actor.mapreduce.parallelize({ 1, 2, 3 }):count() end

function after.average() actor.average.start({ tensor.ones(3) }) end

function after.get() actor.param.get "w" end

-- Collectives do not need the coordinator. The first call reports the loss.
function after.collective()
  local ids, _, code = actor.collective.allgather(actor.id)
  assert(not ids and code == "peer_lost")
  ids = actor.collective.allgather(actor.id)
  print("met: " .. ids[1] .. " " .. ids[2])
end

function after.raise()
  if actor.rank == actor.size - 1 then error "spilt milk" end
  actor.sleep(60)
end

actor.log.info("worker " .. actor.id .. " works.")
local last
while not meeting.is_there("enough") do
  local peers = assert(peer.sample(100))
  local now = seen_by(peers)
  if now ~= last then actor.log.info("sees " .. now .. ".") end
  last = now
  actor.sleep(0.01)
end
local act = after[actor.args[1]]
if act then act() end
print("the lowest of " .. actor.size .. " is done.")
