-- Latency of uniform samples in an overlay of all workers: peers.lua [--samples N]. Each worker waits until its count
-- includes all workers; then the workers sample one after the other.
local actor = require "actor"
local peer, co = actor.peer, actor.collective

local args = { ... }
local samples = 2000
for i, word in ipairs(args) do
  if word == "--samples" then samples = assert(tonumber(args[i + 1])) end
end

while peer.size_estimate() ~= actor.size do actor.sleep(0.05) end
co.barrier()
actor.sleep(2)
co.barrier()

local ms = {}
if actor.rank == 0 then
  for i = 1, samples do
    local start = actor.now()
    local drawn = assert(peer.sample(10))
    ms[i] = 1000 * (actor.now() - start)
    assert(#drawn == math.min(10, actor.size))
  end
  table.sort(ms)
  print(string.format("%d samples of 10 among %d: median %.2f ms, 99 %% %.2f ms, most %.2f ms", samples, actor.size,
    ms[math.ceil(samples / 2)], ms[math.ceil(0.99 * samples)], ms[samples]))
end
co.barrier()
