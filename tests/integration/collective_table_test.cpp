// collective.table in whole runs: random operations against a model, errors, a killed rank, and partitions shared under
// locks.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {}  // namespace

TEST_CASE("random operations on tables match a plain Lua model, for any number of ranks") {
  const JobFolder folder;
  const int ranks = GENERATE(range(1, 10));
  const Words place = GENERATE(Words{}, Words{"--isolate"});
  const std::string seed = std::to_string((place.empty() ? 20 : 40) + ranks);
  const Words words = {"--log-level", "error", "jobs/collective_table_model.lua", seed, ranks < 4 ? "50" : "20"};
  const Ended run(folder.run(with({"-n", std::to_string(ranks)}, with(place, words)), 60));
  CHECK_THAT(run.out, Contains("cases are as the model says"));
}

TEST_CASE("random operations on tables match a plain Lua model on three hosts") {
  const JobFolder folder;
  const std::string nodes = GENERATE("1", "2", "3");
  Hosts hosts(folder, 3, {"-n", nodes, "jobs/collective_table_model.lua", "6" + nodes, "20"});
  const std::vector<int> codes = hosts.wait(60);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>(3, 0));
  CHECK_THAT(hosts.out(), Contains("cases are as the model says"));
}

TEST_CASE("several ranks update a shared partition at the same time, and all changes are added") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Ended run(run_at(place, folder, {"jobs/collective_table.lua", "updates"}));
  CHECK_THAT(run.out, Contains("updates add up"));
}

TEST_CASE("an error on one rank in a table operation is reported on all ranks and changes no table") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Ended run(run_at(place, folder, {"jobs/collective_table.lua", "wrong"}, 60));
  const auto message_of = [&](const std::string& name) { return line_after(run.out, name + ": "); };
  CHECK(message_of("outside") ==
        "table:regroup: rank 1: the partitioner gives id 11 to 3, which is no rank from 0 to 2");
  CHECK_THAT(message_of("fraction"), Contains("gives id 1 to 0.5, which is no rank"));
  CHECK(message_of("partitioner") == "table:regroup: rank 0: the partitioner failed for id 1: no owner");
  CHECK(message_of("shapes") == "table:regroup: rank 1: partition 1: float32[2] and float32[3] do not fit together");
  CHECK_THAT(message_of("shapes of all"), Contains("partition 1: float32[2] and float32[3] do not fit together"));
  CHECK_THAT(message_of("shapes gathered"),
             Contains("table:allgather: rank 0: partition 1: float32[2] and float32[3]"));
  CHECK_THAT(message_of("shapes at the root"),
             Contains("table:reduce: rank 1: partition 1: float32[2] and float32[3]"));
  CHECK_THAT(message_of("kinds"), Contains("the combiner 'sum' is for tensors and numbers, not for a table"));
  CHECK_THAT(message_of("function"), Contains("partition 1: the combiner failed: not these"));
  CHECK_THAT(message_of("nothing"), Contains("the combiner gave nil"));
  CHECK_THAT(message_of("nothing shared"), Contains("the combiner gave nil"));
  CHECK(message_of("unknown") == "table:pull: rank 0: it has no partition 12, which rank 2 requests");
  CHECK(message_of("rotate") ==
        "bad argument 'permutation' to table:rotate: it sends both rank 0 and rank 1 to rank 1");
  CHECK_THAT(message_of("push"), Contains("table:push: rank 0: the partitioner gives id 1 to a, which is no rank"));
  CHECK_THAT(message_of("one is none"),
             Contains("by no permutation: it has no target for rank 0 at collective_table.lua:") &&
                 Contains("by 1,2,0 at collective_table.lua:"));
  CHECK_THAT(message_of("two"), Contains("rank 0 is in rotate of a table (sum) by 1,2,0 at collective_table.lua:") &&
                                    Contains("rank 1 is in rotate of a table (sum) by 2,0,1 at collective_table.lua:"));
  CHECK_THAT(message_of("other"), Contains("rank 0 is in allgather of a table (sum) at collective_table.lua:") &&
                                      Contains("rank 1 is in regroup of a table (sum) at collective_table.lua:"));
  CHECK_THAT(message_of("combiner"), Contains("regroup of a table (max)"));
  CHECK_THAT(message_of("name"),
             Contains("rank 0 is in broadcast of a table (sum) from rank 1 at collective_table.lua:") &&
                 Contains("rank 1 is in broadcast of table 'w' (sum) from rank 1 at collective_table.lua:"));
  CHECK_THAT(line_after(run.out, "shared:"), Contains("table:lock: the table is not shared"));
  CHECK(line_after(run.out, "late:") == "\ttrue");
}

TEST_CASE("a rank killed in a table operation leaves the tables of other ranks unchanged") {
  const JobFolder folder;
  const auto [operation, kind] = GENERATE(table<std::string, std::string>({{"regroup", ""},
                                                                           {"allreduce", ""},
                                                                           {"rotate", ""},
                                                                           {"push", ""},
                                                                           {"pull", ""},
                                                                           {"broadcast", ""},
                                                                           {"regroup", "shared"},
                                                                           {"sync", "shared"}}));
  Words words = {"-n", "3", "--isolate", "--print", "all", "jobs/collective_table.lua", "killed", operation};
  if (!kind.empty()) words.push_back(kind);
  Process run = folder.start(words);
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  // Before a regroup, the ranks check that a shared table is complete.
  CHECK(count_of(run.out(), "lost:\tnil\t" + operation + ": rank 2 lost\tpeer_lost") == 2);
  CHECK(count_of(run.out(), kind.empty() ? "then: 1" : "then: 3") == 2);
}

TEST_CASE("a table operation that some ranks abandon fails on all ranks and leaves the tables unchanged") {
  const JobFolder folder;
  const std::string operation = GENERATE(as<std::string>(), "regroup", "allreduce", "rotate", "pull", "rotator");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Ended run(run_at(place, folder, {"--print", "all", "jobs/collective_table.lua", "late", operation}));
  // The named rank depends on which rank gives up first: ranks 0 and 2 may be late for each other on a slow machine.
  CHECK(count_of(run.out, "late:\tnil\t" + operation + ": rank") == 3);
  CHECK(count_of(run.out, "not answered in time") == 3);
  CHECK(count_of(run.out, "\ttimeout") == 3);
  CHECK(count_of(run.out, "then all") == 3);
}

TEST_CASE("no update of a table's partitions under locks is lost in threads, processes and hosts") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "2", "8", "threads", "isolate", "hosts");
  const Ended run(place.size() == 1 ? folder.run({"-n", place, "jobs/collective_table.lua", "locks"}, 60)
                                    : run_at(place, folder, {"jobs/collective_table.lua", "locks"}, 60));
  CHECK(line_after(run.out, "total: ") == "0\tupdates: 0");
  CHECK(line_after(run.out, "pushed: ") == "0");
  CHECK_THAT(line_after(run.out, "again:"), Contains("true\tfalse") && Contains("the table is not shared"));
}

TEST_CASE("a lock on a table's partitions names their holders and the failed owner") {
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "--print", "all", "jobs/collective_table.lua", "lock_fails"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK_THAT(run.out(),
             Contains("not granted within 0.05 s (held by rank 1 at collective_table.lua:") && Contains("timeout"));
  CHECK(count_of(run.out(), "lost:\tnil\tlock: rank 2 lost\tpeer_lost") == 2);
  CHECK(count_of(run.out(), "left: 1") == 2);
}

TEST_CASE("tables of two groups are independent") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "5", "threads", "isolate", "hosts");
  const Ended run(place.size() == 1 ? folder.run({"-n", place, "jobs/collective_table.lua", "groups"}, 60)
                                    : run_at(place, folder, {"jobs/collective_table.lua", "groups"}, 60));
  CHECK(count_of(run.out, "groups are apart") == 1);
}
