// The choice of candidates after the head has failed.

#include "host/cluster/succession.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace actorhost;

namespace {

struct Heirs final : SuccessionOutput {
  bool ask(ProcessId process) override {
    asked.push_back(process);
    return !unreachable.contains(process);
  }
  void stand() override { ++taken; }

  std::vector<ProcessId> asked;
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

TEST_CASE("the lowest live process is the candidate when the head fails, without a request") {
  Heirs heirs;
  Succession succession(heirs, 4);
  succession.begin(1, five(), 0, 10);
  CHECK(heirs.taken == 1);
  CHECK(heirs.asked.empty());
  CHECK_FALSE(succession.going_on());
}

TEST_CASE("a process attaches to lower processes, one after the other, until one is the head") {
  Heirs heirs;
  heirs.unreachable = {2};
  Succession succession(heirs, 4);
  succession.begin(4, five(), 0, 10);
  CHECK(heirs.asked == std::vector<ProcessId>{1});
  SECTION("the first one replies") {
    succession.found();
    succession.tick(100);
    CHECK(heirs.asked.size() == 1);
    CHECK(heirs.taken == 0);
  }
  SECTION("a silent process is skipped, and a process without a route at once") {
    succession.tick(13.9);
    CHECK(succession.asked() == 1);
    succession.tick(14);
    CHECK(heirs.asked == std::vector<ProcessId>{1, 2, 3});
    CHECK(succession.lost() == std::set<ProcessId>{0, 1, 2});
    succession.failed(3, 14.1);
    CHECK(heirs.taken == 1);
  }
  SECTION("a process known to have failed is skipped") {
    succession.failed(3, 10);
    CHECK(succession.asked() == 1);
    succession.failed(1, 10);
    CHECK(heirs.asked == std::vector<ProcessId>{1, 2});
    CHECK(heirs.taken == 1);
  }
}

TEST_CASE("processes that accept no connections are the last candidates") {
  Heirs heirs;
  Succession succession(heirs, 4);
  succession.begin(1, five({1, 2}), 0, 10);
  CHECK(heirs.asked == std::vector<ProcessId>{3});
  succession.failed(3, 10);
  succession.failed(4, 10);
  CHECK(heirs.asked == std::vector<ProcessId>{3, 4});
  CHECK(heirs.taken == 1);
}

TEST_CASE("a process found failed is skipped at the next election, whatever the table contains") {
  Heirs heirs;
  Succession succession(heirs, 4);
  succession.begin(3, five(), 0, 10);
  succession.failed(1, 10);
  succession.found();  // process 2 is the head
  succession.begin(3, five(), 2, 20);
  CHECK(heirs.asked == std::vector<ProcessId>{1, 2});
  CHECK(heirs.taken == 1);
  CHECK(succession.lost() == std::set<ProcessId>{0, 1, 2});
}
