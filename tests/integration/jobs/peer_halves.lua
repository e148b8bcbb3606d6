-- peer_halves.lua RULE: one of three workers is killed within a push of 8 MiB. Each update is in all rows of the value,
-- which are its parts, or in no row.
local actor = require "actor"
local peer, tensor, optim = actor.peer, actor.tensor, actor.optim
local rule = ...

local rows, columns, steps = 8, 262144, 12
local function check_whole(value)
  for id = 0, 2 do
    local column = value:select(2, id + 1)
    assert(column:min() == column:max(), ("updates of worker %d: %s"):format(id, tostring(column)))
  end
end
local summary = peer.run {
  init = function() return { k = tensor.zeros { rows, columns } } end,
  schedule = function() return { "k" } end,
  push = function(ctx, entries)
    if rule == "bsp" then check_whole(entries[1][2]) end
    if ctx.step == 4 then actor.log.info("has come to step 4.") end
    local mine = tensor.zeros { rows, columns }
    mine:select(2, ctx.id + 1):fill_(-1) -- each worker has its own column
    return { { "k", mine } }
  end,
  pull = optim.sgd { lr = 1, momentum = rule == "bsp" and 0.5 or 0 },
  barrier = rule,
  stop = function(ctx) return ctx.step >= steps end,
}
local value = peer.get("k")
check_whole(value)
if rule ~= "bsp" then -- bsp has momentum
  local complete = 0
  for id = 0, 2 do
    local count = value[1][id + 1]
    if count == steps then complete = complete + 1 end
    assert(count <= steps, ("%g updates of worker %d"):format(count, id))
  end
  assert(complete >= 2, tostring(value[1]:narrow(1, 1, 3)))
end
actor.log.info("steps %d, and all updates are whole.", summary.steps)
