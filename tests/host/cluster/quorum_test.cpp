// Majorities of the processes of a run, and the duration of the coordinator's lease.

#include "host/cluster/quorum.hpp"

#include "host/base/clock.hpp"
#include "host/base/random.hpp"
#include "host/cluster/coordinator_lease.hpp"
#include "tests/test.hpp"

namespace {

/// One worker on each of these processes.
Membership table(uint64_t epoch, const std::vector<ProcessId>& processes, const std::set<ProcessId>& left = {}) {
  std::vector<Member> workers;
  std::vector<ProcessInfo> infos;
  for (const ProcessId process : processes) {
    workers.push_back({process, process, !left.contains(process)});
    infos.push_back({process, "host", "tcp://h:1"});
  }
  return Membership(epoch, workers, infos);
}

MembershipPtr shared(const Membership& table) { return std::make_shared<const Membership>(table); }

bool majority(const Quorum& quorum, const std::set<ProcessId>& present) {
  return quorum.majority([&](ProcessId process) { return present.contains(process); });
}

}  // namespace

TEST_CASE("more than half of the workers are a majority, exactly half are not") {
  Quorum quorum;
  quorum.commit(shared(table(1, {0, 1, 2, 3})));
  CHECK(majority(quorum, {0, 1, 2}));
  CHECK_FALSE(majority(quorum, {0, 1}));
  CHECK_FALSE(majority(quorum, {}));
  const Quorum::Count count = quorum.count([](ProcessId process) { return process < 2; });
  CHECK((count.counted == 4 && count.present == 2));
}

TEST_CASE("a process counts with each of its workers") {
  Quorum quorum;
  quorum.commit(
      std::make_shared<const Membership>(1, std::vector<Member>{{0, 0}, {1, 0}, {2, 0}, {3, 1}, {4, 2}},
                                         std::vector<ProcessInfo>{{0, "a", "u"}, {1, "b", "u"}, {2, "c", "u"}}));
  CHECK(majority(quorum, {0}));
  CHECK_FALSE(majority(quorum, {1, 2}));
}

TEST_CASE("workers that have left, and workers of dead processes, do not count") {
  Quorum quorum;
  quorum.commit(shared(table(1, {0, 1, 2, 3, 4}, {4})));
  CHECK_FALSE(majority(quorum, {0, 1}));
  quorum.exclude(3);
  CHECK(majority(quorum, {0, 1}));
  CHECK_FALSE(majority(quorum, {0}));
  quorum.exclude(1);
  quorum.exclude(2);
  CHECK(majority(quorum, {0}));
}

TEST_CASE("a table that may be committed needs its own majority beside the previous table's") {
  Quorum quorum;
  quorum.commit(shared(table(1, {0, 1, 2, 3, 4})));
  quorum.accept(shared(table(2, {0, 1, 2})));
  CHECK_FALSE(majority(quorum, {0, 1}));     // of the second table only
  CHECK_FALSE(majority(quorum, {2, 3, 4}));  // of the first table only
  CHECK(majority(quorum, {1, 2, 3}));
  CHECK(quorum.newest()->epoch() == 2);
  quorum.accept(shared(table(3, {0, 1, 2, 3})));  // a newer proposal replaces it
  CHECK(quorum.tables().size() == 2);
  quorum.commit(shared(table(3, {0, 1, 2, 3})));
  CHECK(quorum.tables().size() == 1);
}

TEST_CASE("the tables of others are merged: the newest committed table, and each later one") {
  Quorum quorum;
  quorum.commit(shared(table(1, {0, 1, 2, 3, 4})));
  quorum.merge({table(1, {0, 1, 2, 3, 4}), table(2, {1, 2, 3, 4})});
  quorum.merge({table(1, {0, 1, 2, 3, 4}), table(2, {1, 2, 3, 4})});
  CHECK(quorum.tables().size() == 2);
  quorum.merge({table(2, {1, 2, 3, 4}), table(3, {2, 3, 4})});
  CHECK(quorum.tables().size() == 2);
  CHECK(quorum.newest()->epoch() == 3);
  quorum.merge({table(2, {1, 2, 3, 4}), table(3, {1, 2, 3})});  // another coordinator's
  CHECK(quorum.tables().size() == 3);
  CHECK(quorum.dropped() == std::set<ProcessId>{1});
  CHECK(quorum.processes().size() == 4);  // with each process that a proposal has dropped
  CHECK_FALSE(majority(quorum, {3, 4}));
  CHECK(majority(quorum, {2, 3, 4}));
}

TEST_CASE("any two majorities share a process, whatever the proposals") {
  const uint64_t seed = 11;
  INFO("seed " << seed);
  Rng rng(seed);
  for (int round = 0; round < 2000; ++round) {
    const size_t n = 2 + rng.below(5);
    std::vector<ProcessId> all;
    for (ProcessId p = 0; p < n; ++p) all.push_back(p);
    Quorum quorum;
    quorum.commit(shared(table(1, all)));
    if (rng.below(2) == 0) {
      std::vector<ProcessId> some;
      for (const ProcessId p : all) {
        if (p == 0 || rng.below(3) != 0) some.push_back(p);
      }
      quorum.accept(shared(table(2, some)));
    }
    std::set<ProcessId> one;
    std::set<ProcessId> other;
    for (const ProcessId p : all) (rng.below(2) == 0 ? one : other).insert(p);
    CHECK_FALSE((majority(quorum, one) && majority(quorum, other)));
  }
}

TEST_CASE("a coordinator's lease lasts from the sending of the renewals that a majority has confirmed") {
  Quorum quorum;
  quorum.commit(shared(table(1, {0, 1, 2, 3, 4})));
  CoordinatorLease lease;
  CHECK(lease.until(quorum, 0) == 0);
  const uint64_t first = lease.next_renewal(10);
  const uint64_t second = lease.next_renewal(11);
  lease.confirm(1, first, 1);
  CHECK(lease.until(quorum, 0) == 0);
  lease.confirm(2, second, 1);
  CHECK(lease.until(quorum, 0) == 10 + kCoordinatorLease);
  lease.confirm(1, second, 1);
  CHECK(lease.until(quorum, 0) == 11 + kCoordinatorLease);
  lease.confirm(1, first, 1);  // a late reply takes nothing back
  CHECK(lease.until(quorum, 0) == 11 + kCoordinatorLease);
  lease.forget(2);
  CHECK(lease.until(quorum, 0) == 0);
  for (const ProcessId dead : {1, 2, 3, 4}) quorum.exclude(dead);
  CHECK(lease.until(quorum, 0) == kForever);
}

TEST_CASE("a reply to a renewal that was never sent, or is long forgotten, confirms nothing") {
  Quorum quorum;
  quorum.commit(shared(table(1, {0, 1})));
  CoordinatorLease lease;
  lease.confirm(1, 1, 1);
  CHECK(lease.until(quorum, 0) == 0);
  const uint64_t first = lease.next_renewal(0);
  for (int i = 1; i < 100; ++i) lease.next_renewal(i);
  lease.confirm(1, first, 1);
  lease.confirm(1, 1000, 1);
  CHECK(lease.until(quorum, 0) == 0);
  CHECK(lease.has_accepted(1, 1));
  CHECK_FALSE(lease.has_accepted(1, 2));
}
