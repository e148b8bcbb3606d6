--- How long `peer.get` of a key takes that the worker leads itself, beside a lookup in a Lua table.
---     actorhost -n 1 tests/bench/peer_get.lua
local actor = require "actor"
local peer, tensor = actor.peer, actor.tensor

local function tell(what, count, call)
  local began = actor.now()
  for _ = 1, count do call() end
  print(("%-28s %8.1f ns"):format(what, 1e9 * (actor.now() - began) / count))
end

local handles, seen = { w = tensor.zeros { 10 } }, nil
peer.set("w", handles.w)
tell("lookup in a table", 1e8, function() seen = handles.w end)
tell("get, with a copy", 1e5, function() seen = peer.get("w") end)
peer.run {
  shared = true,
  barrier = "asp",
  schedule = function() return { "w" } end,
  push = function() return {} end,
  stop = function(ctx) return ctx.step >= 1 end,
}
tell("get, shared", 1e7, function() seen = peer.get("w") end)
assert(seen.shape[1] == 10)
