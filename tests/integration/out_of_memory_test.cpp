// A rank that has no memory for a collective leaves it by an error that its script may catch: the others hear of it, in
// the same call, and the next one works.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

#ifndef ACTORHOST_SANITIZED  // which take address space as they like

namespace {

/// Rank 1's process may have little more than it has, and gives what takes more than that to pack.
constexpr const char* kJob = R"lua(
local actor = require "actor"
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
)lua";

}  // namespace

TEST_CASE("a rank without memory for what it gives to a collective does not leave the others waiting") {
  const std::string way = GENERATE(as<std::string>(), "allgather", "gather", "broadcast", "fold", "table");
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Finished run = folder.run({"-n", "3", "--isolate", "--print", "all", "job.lua", way});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(count_of(run.out, "first: false") == 3);
  for (const char* rank : {"[rank 0] ", "[rank 2] "}) {
    const std::string heard = line_after(run.out, std::string(rank) + "first: false ");
    CHECK_THAT(heard, Contains("rank 1 is in ") && Contains("for which it has no memory, at job.lua:"));
  }
  CHECK_THAT(line_after(run.out, "[rank 1] first: false job.lua:"), Contains(": not enough memory"));
  CHECK(count_of(run.out, "then: 3") == 3);
}

TEST_CASE("a rank without memory for a slice fails the rotator's round on all, and each has again what it had") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Finished run = folder.run({"-n", "3", "--isolate", "--print", "all", "job.lua", "rotator"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(count_of(run.out, "first: false job.lua:25: rotator:round: rank 1: not enough memory\n") == 3);
  CHECK(count_of(run.out, "then: 3") == 3);
}

#endif
