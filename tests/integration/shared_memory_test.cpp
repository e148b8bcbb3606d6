// Processes of one machine share memory: children of --isolate, and hosts that meet on loopback. Where the memory
// cannot be opened, the job runs over connections, and the log says so.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

// Each rank prints the number of its mappings of shared memory.
const char* const kJob = R"(
  local actor = require "actor"
  local values = actor.collective.allgather(actor.tensor.full({ 1 }, actor.rank))
  local count = 0
  for line in io.lines("/proc/self/maps") do
    if line:find("memfd:actorhost", 1, true) then count = count + 1 end
  end
  print("sum " .. values:sum() .. ", mappings " .. count)
  actor.collective.barrier()
)";

Words words_of(const Words& more) { return with({"--print", "all", "--log-level", "info"}, with(more, {"job.lua"})); }

}  // namespace

TEST_CASE("children of --isolate share memory, unless the command forbids it") {
  const bool share = GENERATE(true, false);
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Ended run(folder.run(words_of(with({"-n", "2", "--isolate"}, share ? Words{} : Words{"--no-shared-memory"}))));
  INFO(run.out);
  for (const char* const rank : {"[rank 0] ", "[rank 1] "}) {
    // A child has a link to its parent and to the other child.
    CHECK_THAT(run.out, Catch::Contains(rank + std::string("sum 1, mappings ") + (share ? "2\n" : "0\n")));
  }
}

TEST_CASE("hosts in different namespaces of processes share no memory, and the log of both says why") {
  const Words apart = {"--pid", "--fork", "--mount-proc"};
  if (Process("unshare", with(apart, {"true"})).wait(10) != 0) {
    WARN("this user may make no namespace here");
    return;
  }
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const FreePort port;
  const Words all = words_of({"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint()});
  Process first = folder.start(with({"--node-rank", "0"}, all));
  Process second("unshare", with(apart, with({actorhost_binary(), "--node-rank", "1"}, all)), folder.options());
  const Ended run({first, second}, 30);
  INFO(run.out << run.err);
  CHECK_THAT(run.out, Catch::Contains("sum 1, mappings 0\n"));
  CHECK_THAT(first.err() + second.err(), Catch::Contains("no shared memory with 127.0.0.1:"));
}
