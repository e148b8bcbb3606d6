--- The time of `peer.get` of keys whose leader is this worker, beside a lookup of the same tensors in a Lua table.
---     actorhost -n 1 tests/bench/peer_get.lua
local actor = require "actor"
local peer, tensor = actor.peer, actor.tensor

local keys, handles = {}, {}
for i = 1, 64 do
  keys[i] = "layer " .. i
  handles[keys[i]] = tensor.zeros { 10 }
  peer.set(keys[i], handles[keys[i]])
end

-- The median of nine turns, in nanoseconds a call. The loop alternates between all keys, so that the compiler cannot
-- hoist a lookup out of it.
local function print_rate(what, count, get)
  local turns, seen = {}, 0
  for turn = 1, 9 do
    local began = actor.now()
    for i = 1, count do
      if get(keys[i % #keys + 1]) then seen = seen + 1 end
    end
    turns[turn] = 1e9 * (actor.now() - began) / count
  end
  assert(seen == 9 * count)
  table.sort(turns)
  print(("%-20s %8.1f ns"):format(what, turns[5]))
end

print_rate("lookup in a table", 1e7, function(key) return handles[key] end)
print_rate("get, with a copy", 1e4, peer.get)
peer.run {
  shared = true,
  barrier = "asp",
  schedule = function() return {} end,
  push = function() return {} end,
  stop = function(ctx) return ctx.step >= 1 end,
}
print_rate("get, shared", 1e6, peer.get)
