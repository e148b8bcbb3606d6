-- Workers as peers. peers.lua [leave|back]: with "leave" rank 0 leaves, and the others notice; with "back" all other
-- workers leave and become peers again at once.
local actor = require "actor"
local peer, co = actor.peer, actor.collective

-- The maximum over all ranks.
local function worst(value)
  local most, values = -math.huge, co.allgather(value)
  for i = 1, values.n do most = math.max(most, values[i]) end
  return most
end

local function ids(peers)
  local seen, n = {}, 0
  for _, p in ipairs(peers) do
    if not seen[p.id] then n = n + 1 end
    seen[p.id] = p.rank
  end
  return n, seen
end

-- The overlay forms while nodes join; it is complete when each node counts all nodes.
local function settle(size)
  local deadline = actor.now() + 20
  while actor.now() < deadline do
    local n = peer.size_estimate()
    if n == size then return true end
    actor.sleep(0.02)
  end
  return false
end

local settled = settle(actor.size)
co.barrier()
print("settled:", worst(settled and 0 or 1))
local all = ids(peer.sample(actor.size + 3))
local some = ids(peer.sample(math.min(3, actor.size)))
local none = #peer.sample(0)
local around = peer.neighbours()
print("all:", worst(math.abs(all - actor.size)))
print("some:", worst(math.abs(some - math.min(3, actor.size))), none)
print("around:", worst(math.abs(#around.after - math.min(16, actor.size - 1))))
local counts = {}
for _ = 1, 200 do
  local _, seen = ids(peer.sample(1))
  for id in pairs(seen) do counts[id] = (counts[id] or 0) + 1 end
end
local met = 0
for _ in pairs(counts) do met = met + 1 end
print("met:", worst(math.abs(met - actor.size)))
if actor.args[1] == "leave" then
  local size = actor.size
  co.barrier()
  if actor.rank == 0 then peer.leave() end
  co.barrier()
  local left = actor.rank == 0 or settle(size - 1)
  print("left:", worst(left and 0 or 1))
end
if actor.args[1] == "back" then
  for i = 1, 20 do peer.set(actor.rank .. " " .. i, i) end
  co.barrier()
  if actor.rank > 0 then
    peer.leave()
    peer.sample(1)
  end
  co.barrier()
  local lost = 0
  for rank = 0, actor.size - 1 do
    for i = 1, 20 do
      if peer.get(rank .. " " .. i) ~= i then lost = lost + 1 end
    end
  end
  print("lost:", worst(lost))
end
