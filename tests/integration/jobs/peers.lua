-- Workers as peers. peers.lua [leave|back]: with "leave" rank 0 leaves, and the others notice; with "back" all other
-- workers leave and become peers again at once; with "all" each worker leaves before the next run.
-- case: at: threads:{1,2,3,5,8}
-- case: {leave,back,all} at: threads isolate hosts
-- The last peer leaves at once, with its keys, and wrong calls name the argument:
-- case: last at: threads:1
local actor = require "actor"
local expect = require "expect"
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
assert(worst(settled and 0 or 1) == 0)
local all = ids(peer.sample(actor.size + 3))
local some = ids(peer.sample(math.min(3, actor.size)))
local none = #peer.sample(0)
local around = peer.neighbours()
expect.same(worst(math.abs(all - actor.size)), 0)
expect.same(worst(math.abs(some - math.min(3, actor.size))), 0)
expect.same(none, 0)
expect.same(worst(math.abs(#around.after - math.min(16, actor.size - 1))), 0)
local counts = {}
for _ = 1, 200 do
  local _, seen = ids(peer.sample(1))
  for id in pairs(seen) do counts[id] = (counts[id] or 0) + 1 end
end
local met = 0
for _ in pairs(counts) do met = met + 1 end
expect.same(worst(math.abs(met - actor.size)), 0)
if actor.args[1] == "leave" then
  local size = actor.size
  co.barrier()
  if actor.rank == 0 then peer.leave() end
  co.barrier()
  local left = actor.rank == 0 or settle(size - 1)
  assert(worst(left and 0 or 1) == 0)
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
  expect.same(worst(lost), 0)
end
if actor.args[1] == "all" then
  peer.leave()
  co.barrier()
  if actor.rank == 0 then expect.same(peer.get("of before"), nil) end -- alone
  local summary = peer.run {
    schedule_local = function() return {} end,
    push = function(ctx) return { { ctx.id, ctx.step } } end,
    barrier = "bsp",
    stop = function(ctx) return ctx.step >= 5 end,
  }
  expect.same(summary.steps, 5)
end
if actor.args[1] == "last" then
  local began = actor.now()
  for i = 1, 3 do
    peer.set("k", i)
    assert(peer.get("k") == i)
    peer.leave()
    assert(peer.get("k") == nil)
  end
  assert(actor.now() - began < 2)
  expect.refused(function() peer.sample(-1) end, "'beta'")
  expect.refused(function() peer.sample(1.5) end, "'beta'")
  expect.refused(function() peer.sample("x") end, "'beta'")
  expect.refused(function() peer.sample(1, { timeout = -1 }) end, "'timeout'")
  expect.refused(function() peer.sample(1, { time = 1 }) end, "unknown option 'time'")
end
