// The choice of candidates after the coordinator has failed.

#include "host/cluster/succession.hpp"

#include "tests/test.hpp"

namespace {

struct Candidates final : SuccessionOutput {
  bool attach_to(ProcessId process) override {
    attached.push_back(process);
    return !unreachable.contains(process);
  }
  void become_candidate() override { ++taken; }

  std::vector<ProcessId> attached;
  std::set<ProcessId> unreachable;
  int taken = 0;
};

/// Processes 0 to 4; the listed ones accept no connections.
MembershipPtr five(const std::set<ProcessId>& closed = {}) {
  std::vector<ProcessInfo> infos;
  for (ProcessId i = 0; i < 5; ++i) infos.push_back({i, "host", closed.contains(i) ? "" : "tcp://h:1"});
  return std::make_shared<const Membership>(7, std::vector<Member>{}, infos);
}

}  // namespace

TEST_CASE("the lowest live process is the candidate when the coordinator fails, without a request") {
  Candidates candidates;
  Succession succession(candidates, 4);
  succession.begin(1, five(), 0, 10);
  CHECK(candidates.taken == 1);
  CHECK(candidates.attached.empty());
  CHECK_FALSE(succession.going_on());
}

TEST_CASE("a process attaches to lower processes, one after the other, until one is the coordinator") {
  Candidates candidates;
  candidates.unreachable = {2};
  Succession succession(candidates, 4);
  succession.begin(4, five(), 0, 10);
  CHECK(candidates.attached == std::vector<ProcessId>{1});
  SECTION("the first one replies") {
    succession.found();
    succession.tick(100);
    CHECK(candidates.attached.size() == 1);
    CHECK(candidates.taken == 0);
  }
  SECTION("a silent process is skipped, and a process without a route at once") {
    succession.tick(13.9);
    CHECK(succession.candidate() == 1);
    succession.tick(14);
    CHECK(candidates.attached == std::vector<ProcessId>{1, 2, 3});
    CHECK(succession.lost() == std::set<ProcessId>{0, 1, 2});
    succession.failed(3, 14.1);
    CHECK(candidates.taken == 1);
  }
  SECTION("a process known to have failed is skipped") {
    succession.failed(3, 10);
    CHECK(succession.candidate() == 1);
    succession.failed(1, 10);
    CHECK(candidates.attached == std::vector<ProcessId>{1, 2});
    CHECK(candidates.taken == 1);
  }
}

TEST_CASE("processes that accept no connections are the last candidates") {
  Candidates candidates;
  Succession succession(candidates, 4);
  succession.begin(1, five({1, 2}), 0, 10);
  CHECK(candidates.attached == std::vector<ProcessId>{3});
  succession.failed(3, 10);
  succession.failed(4, 10);
  CHECK(candidates.attached == std::vector<ProcessId>{3, 4});
  CHECK(candidates.taken == 1);
}

TEST_CASE("a process found failed is skipped at the next election, whatever the table contains") {
  Candidates candidates;
  Succession succession(candidates, 4);
  succession.begin(3, five(), 0, 10);
  succession.failed(1, 10);
  succession.found();  // process 2 is the coordinator
  succession.begin(3, five(), 2, 20);
  CHECK(candidates.attached == std::vector<ProcessId>{1, 2});
  CHECK(candidates.taken == 1);
  CHECK(succession.lost() == std::set<ProcessId>{0, 1, 2});
}
