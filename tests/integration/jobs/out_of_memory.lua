-- The job of out_of_memory_test.cpp.
local actor = require "actor"

-- Rank 1's process may allocate little more memory, and passes a value that needs more memory to pack.
local ffi = require "ffi"
local co = actor.collective
ffi.cdef "typedef struct { uint64_t soft, hard; } limits; int setrlimit(int, const limits*);"
local function limit(bytes) assert(ffi.C.setrlimit(9, ffi.new("limits", bytes, -1)) == 0) end
local text = ("x"):rep(2 ^ 23)
local much = { text, text, text, text, text, text, text, text, text, text, text, text }
local own = actor.rank == 1 and much or 1
local tbl = co.table()
tbl:set(actor.rank, own)
local ways = {
  allgather = function() return co.allgather(own) end,
  gather = function() return co.gather(own, 0) end,
  broadcast = function() return co.broadcast(own, 1) end,
  fold = function() return co.allreduce(own, function(a) return a end) end,
  table = function() return tbl:allgather() end,
  rotator = function() return co.rotator { table = tbl }:round(function() end) end,
}
co.barrier()
if actor.rank == 1 then
  local pages = io.open("/proc/self/statm"):read("*n")
  limit(pages * 4096 + 2 ^ 25)
end
local worked, why = pcall(ways[...])
if actor.rank == 1 then limit(-1) end
print("first: " .. tostring(worked) .. " " .. tostring(why))
assert(tbl:size() == 1 and tbl:get(actor.rank) ~= nil)
local sum = co.allreduce(actor.tensor { 1 }):item()
print("then: " .. sum)
