// Hosts without the disk space or memory that a task of map-reduce needs.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// Starts actorhost after `limits`, in a shell.
Process start_limited(const JobFolder& folder, const std::string& limits, const Words& words) {
  std::string command = limits + "; exec " + shell_word(actorhost_binary());
  for (const std::string& word : words) command += " " + shell_word(word);
  return Process("sh", {"-c", command}, folder.options());
}

}  // namespace

TEST_CASE("a host whose temporary folder is full leaves its tasks to the others", "[deep]") {
  const JobFolder folder;
  const auto [job, sum] = GENERATE(table<std::string, std::string>({
      // fails while rows are written
      {"sorted", "sum 12800080000\n"},
      // fails after the last rows are written
      {"grouped", "sum 80000200000\n"},
  }));
  const FreePort port;
  const Words words = {
      "--nnodes", "3", "--rdzv-endpoint", port.endpoint(), "-n", "1", "--memory", "16M", "jobs/mapreduce_room.lua",
      job};
  Process first = folder.start(words);
  Process second = folder.start(words);
  Process full = start_limited(folder, "trap '' XFSZ; ulimit -f 1", words);
  const Ended all({first, second, full}, 30);
  CHECK(all.out.find(sum) != std::string::npos);  // any host may be rank 0
  CHECK_THAT(all.err, Contains("cannot write to the temporary folder") &&
                          Contains("this process gets no more tasks of the action"));
}

#ifndef ACTORHOST_SANITIZED  // the shadow memory of sanitizers needs the address space
TEST_CASE("a sort without memory reports the requested size", "[deep]") {
  const JobFolder folder;
  Process run =
      start_limited(folder, "ulimit -v 1100000", {"-n", "1", "--memory", "8G", "jobs/mapreduce_room.lua", "wide"});
  const Ended ended({run}, 60, 1);
  CHECK_THAT(run.err(), Contains("out of memory: ") && Contains(" bytes were requested"));
}
#endif
