-- Jobs of peers with hosts that kill themselves. peer_faults.lua JOB ...
local actor = require "actor"
local meeting = require "meeting"
local ffi = require "ffi"
local peer, tensor = actor.peer, actor.tensor
local jobs = {}

local function keys_of(n)
  local keys = {}
  for i = 1, n do keys[i] = "k" .. i end
  return keys
end

--- bsp with a Lua pull; the workers with ids below `victims` die some milliseconds after their last push. All values
--- must contain each survivor's updates.
function jobs.last_push(victims, milliseconds)
  victims = tonumber(victims)
  local me, n, steps, keys = actor.id, actor.size, 10, keys_of(8)
  local summary = peer.run {
    init = function()
      local values = {}
      for _, key in ipairs(keys) do values[key] = tensor.zeros(n) end
      return values
    end,
    schedule = function() return {} end,
    push = function()
      local updates = {}
      for i, key in ipairs(keys) do
        local one = tensor.zeros(n)
        one[me + 1] = 1
        updates[i] = { key, one }
      end
      return updates
    end,
    pull = function(_, updates)
      local sums, out = {}, {}
      for _, u in ipairs(updates) do sums[u[1]] = (sums[u[1]] or peer.get(u[1])) + u[2] end
      for key, sum in pairs(sums) do out[#out + 1] = { key, sum } end
      return out
    end,
    barrier = "bsp",
    stop = function(ctx)
      if ctx.step < steps then return false end
      if me < victims then
        ffi.C.usleep(1000 * tonumber(milliseconds))
        meeting.die()
      end
      return true
    end,
  }
  local began, wrong = actor.now(), 0
  for _, key in ipairs(keys) do
    local value = peer.get(key)
    for id = victims, n - 1 do
      if not value or value[id + 1] ~= steps then wrong = wrong + 1 end
    end
    for id = 0, victims - 1 do
      if not value or value[id + 1] < steps - 1 or value[id + 1] > steps then wrong = wrong + 1 end
    end
  end
  actor.log.warn(("steps: %d wrong: %d, quick: %s."):format(summary.steps, wrong, actor.now() - began < 10))
end

--- The last worker sets values; the workers with ids from `first` to `last` die at once, with all copies of some keys.
--- The survivors get each key, or learn without a wait that it is missing.
function jobs.copies(first, last, keys)
  local me = actor.id
  keys = keys_of(tonumber(keys))
  if me == actor.size - 1 then
    for i, key in ipairs(keys) do peer.set(key, i) end
    meeting.announce("set")
  end
  peer.get("none")
  meeting.await("set")
  if me >= tonumber(first) and me <= tonumber(last) then
    meeting.announce("ready" .. me)
    for id = tonumber(first), tonumber(last) do meeting.await("ready" .. id) end
    meeting.die()
  end
  for id = tonumber(first), tonumber(last) do meeting.await("ready" .. id) end
  local began, missing, wrong = actor.now(), 0, 0
  for i, key in ipairs(keys) do
    local value = peer.get(key)
    if value == nil then missing = missing + 1 end
    if value ~= nil and value ~= i then wrong = wrong + 1 end
  end
  actor.log.warn(("missing: %d wrong: %d quick: %s."):format(missing, wrong, actor.now() - began < 10))
end

--- With one copy of each key. Worker 1 leaves while hosts 2 and 3 are stopped for 11 s: without a majority no worker
--- can take over its keys, but the keys are not lost. Worker 1 returns at once, and so waits for the other workers.
function jobs.leave_alone(keys)
  local me = actor.id
  keys = keys_of(tonumber(keys))
  if me == 0 then
    for i, key in ipairs(keys) do peer.set(key, i) end
    meeting.announce("set")
  end
  peer.get("none")
  meeting.await("set")
  if me > 1 then
    local file = assert(io.open("pid" .. me .. ".part", "w"))
    file:write(tostring(ffi.C.getpid()))
    file:close()
    os.rename("pid" .. me .. ".part", "pid" .. me)
  elseif me == 1 then
    meeting.await("stopped")
    peer.leave()
    peer.get("none")
  else
    local pids = {}
    for i = 1, 2 do
      meeting.await("pid" .. i + 1)
      pids[i] = tonumber(assert(io.open("pid" .. i + 1)):read("*a"))
    end
    for i = 1, 2 do ffi.C.kill(pids[i], 19) end -- SIGSTOP
    meeting.announce("stopped")
    ffi.C.usleep(11e6)
    for i = 1, 2 do ffi.C.kill(pids[i], 18) end -- SIGCONT
    meeting.announce("continued")
  end
  meeting.await("continued")
  local wrong = 0
  for i, key in ipairs(keys) do
    if peer.get(key) ~= i then wrong = wrong + 1 end
  end
  actor.log.warn(("wrong: %d."):format(wrong))
end

--- A worker begins with the others although the key that marks complete initial values is lost with its only replica
--- before this worker reads it.
-- case: lost_mark {bsp,asp} at: threads isolate
function jobs.lost_mark(rule)
  if actor.rank == actor.size - 1 then
    local engine = require "actor.c.peer"
    local get = engine.get
    engine.get = function(keys)
      if keys == "\0peer.run" then return nil end
      return get(keys)
    end
  end
  local summary = peer.run {
    init = function() return { k = 0 } end,
    schedule = function() return { "k" } end,
    push = function() return {} end,
    barrier = rule,
    stop = function(ctx) return ctx.step >= 5 end,
  }
  assert(summary.steps == 5)
end

local name = ...
jobs[name](select(2, ...))
