// Logged waits of runs of peers (tests/integration/jobs/peer_run_stuck.lua).

#include "tests/rehearse/rehearsals.hpp"

TEST_CASE("a wait of over 10 s in a peer run names the awaited worker, in each phase of a run") {
  const std::string last = "rank 2 \\(worker 2 on [^)]+\\)";
  const auto& [words, waits] = GENERATE_COPY(table<Words, std::string>({
      {{"begin", "bsp"}, "until all workers are present: waiting for over 10 s for " + last + " \\(nowhere yet\\)"},
      {{"push", "bsp"}, "the barrier: waiting for over 10 s for " + last + ", which has completed 2 steps"},
      {{"push", "ssp:1"}, "the barrier: waiting for over 10 s for " + last + ", which has completed 2 steps"},
      {{"push", "pbsp:9@sticky"}, "the barrier: waiting for over 10 s for " + last},
      {{"push", "pssp:9:1@poll:0.1"}, "the barrier: waiting for over 10 s for " + last},
      {{"push", "asp"}, "until all workers have stopped: waiting for over 10 s for " + last},
      {{"stop", "bsp"},
       "until all workers have stopped: waiting for over 10 s for " + last + ", which has completed 8"},
      {{"init", "bsp"},
       "until all workers are ready: waiting for over 10 s for rank 0 \\(worker 0 on [^)]+\\), which is not ready"},
      {{"pull", "asp"}, "acknowledgements of a push: waiting for over 10 s for rank . [^)]+\\) for key .k."},
  }));
  Rehearsals rehearsals;
  const Run run = rehearsals.run({words[0], with({"jobs/peer_run_stuck.lua"}, words)}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.status == 0);
  CHECK(std::regex_search(run.ended.err, std::regex("peer.run: " + waits)));
}
