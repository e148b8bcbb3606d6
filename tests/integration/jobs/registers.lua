-- Histories of peers. Each worker writes rising numbers to its own key, reads the keys of all workers, and notes its
-- calls in a file of the working directory, which has to be empty. A read returns the newest number that was
-- acknowledged, or read by another worker, before it began, or a newer one. Arguments: the number of elements of a
-- value, and "leave" if every third worker departs early.
-- case: 4 at: rehearsal:{1,2,3,5,8}
-- case: 4 leave flags: --codes 0,3 --faults kill=1,join=2,after=780ms,within=1s at: rehearsal:6
-- case: 4 leave flags: --replicas 2 --codes 0,3 --faults kill=1,within=1s at: rehearsal:6
-- case: 4 leave flags: --replicas 5 --codes 0,3 --faults kill=2,break=1,within=1s at: rehearsal:6
-- case: 4 flags: --codes 0,3 --faults crash=1,stall=1:6s,within=1s at: rehearsal:5
-- case: 4 flags: --codes 0,3 --faults kill=2,partition=1:3s,within=1s at: rehearsal:7
-- case: 300000 flags: --codes 0,3 --faults kill=1,break=2,within=500ms at: rehearsal:4
local actor = require "actor"
local peer, tensor = actor.peer, actor.tensor
local size, leaves = ...
size = tonumber(size)

local writers, me = 8, actor.id
local rng = actor.rng(actor.seed, me)

local function name_of(id) return ("registers-%d-%d"):format(actor.seed, id) end
local notes = assert(io.open(name_of(me), "w"))
local function note(...)
  notes:write(table.concat({ ... }, " "), "\n")
  notes:flush()
end

-- Calls `fn`, and returns its value, its error, and the times of its begin and end.
local function timed(fn, ...)
  local began = actor.now()
  local value, message, code = fn(...)
  return value, code and message, began, actor.now()
end

local reads, number = {}, 0

local function write()
  number = number + 1
  note("begin", me, number, ("%.9f"):format(actor.now()))
  local _, failed, _, ended = timed(peer.set, "register " .. me, tensor.full(size, number))
  if not failed then note("write", me, number, ("%.9f"):format(ended)) end
end

local function read(key)
  local value, failed, began, ended = timed(peer.get, "register " .. key)
  if failed then return end
  local least, largest = value and value:min() or 0, value and value:max() or 0
  assert(least == largest, ("a read of register %d has %g and %g"):format(key, least, largest))
  note("read", key, least, ("%.9f"):format(ended))
  reads[#reads + 1] = { key = key, value = least, began = began, ended = ended }
end

-- Checks the reads of this worker with the notes of all.
local function check()
  local known = {} -- by key: numbers that later reads return at least, and begun numbers, with their times
  for id = 0, 63 do
    local file = io.open(name_of(id))
    for line in file and file:lines() or function() end do
      local kind, key, value, time = line:match "^(%a+) (%d+) (%d+) ([%d.]+)$"
      key = tonumber(key)
      known[key] = known[key] or { least = {}, begun = {} }
      table.insert(known[key][kind == "begin" and "begun" or "least"], { value = tonumber(value), time = tonumber(time) })
    end
    if file then file:close() end
  end
  for _, read in ipairs(reads) do
    local least, most = 0, 0
    for _, other in ipairs(known[read.key].least) do
      if other.time < read.began - 1e-8 then least = math.max(least, other.value) end
    end
    for _, begun in ipairs(known[read.key].begun) do
      if begun.time <= read.ended then most = math.max(most, begun.value) end
    end
    assert(read.value >= least and read.value <= most, ("register %d is %d from %.6f to %.6f, not %d to %d"):format(read.key,
      read.value, read.began, read.ended, least, most))
  end
end

local began = actor.now()
local till = began + (leaves and me % 3 == 2 and rng:uniform(0.2, 0.8) or 1.2)
while actor.now() < till do
  if me < writers then write() end
  read(rng:int(0, writers - 1))
  actor.sleep(rng:uniform(0, 0.02))
end
if till < began + 1.2 then
  peer.leave()
else
  for key = 0, writers - 1 do read(key) end
end
assert(#reads > 0, "no read has succeeded")
check()
