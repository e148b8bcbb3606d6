-- One worker stays 15 s in one place of the run: the last rank, but for `init` the first rank and for `pull` the leader
-- of the key.
--     peer_run_stuck.lua PLACE RULE
local actor = require "actor"
local peer, tensor, optim = actor.peer, actor.tensor, actor.optim
local place, rule = actor.args[1], actor.args[2]

local stays = true
local function stay(here, if_so)
  if here ~= place or not if_so or not stays then return end
  stays = false
  actor.sleep(15)
end
local last = actor.rank == actor.size - 1
stay("begin", last)
peer.run {
  init = function()
    stay("init", true)
    return { k = tensor.zeros(1) }
  end,
  schedule = function() return { "k" } end,
  push = function(ctx)
    stay("push", last and ctx.step == 2)
    return { { "k", tensor.ones(1) } }
  end,
  pull = place ~= "pull" and optim.sgd { lr = 1 } or function(_, updates)
    stay("pull", true)
    return { { "k", updates[1][2] } }
  end,
  barrier = rule,
  stop = function(ctx)
    stay("stop", last and ctx.step == 8)
    return ctx.step >= 8
  end,
}
