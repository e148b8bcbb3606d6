#include "host/engine/share/lock_table.hpp"

#include "host/base/random.hpp"
#include "tests/test.hpp"

using RequestId = LockTable::RequestId;

namespace {

constexpr RequestId kA{1, 1};
constexpr RequestId kB{2, 1};
constexpr RequestId kC{3, 1};

/// The lock table in its simplest form: a request is granted if no earlier remaining request wants one of its keys.
class PlainLocks {
 public:
  void acquire(const RequestId& request, std::set<std::string> keys) { list_.push_back({request, std::move(keys)}); }
  void remove(const RequestId& request) {
    std::erase_if(list_, [&](const Entry& e) { return e.request == request; });
  }
  void lost(Address node) {
    std::erase_if(list_, [&](const Entry& e) { return e.request.node == node; });
  }
  bool granted(const RequestId& request) const {
    const auto at = std::find_if(list_.begin(), list_.end(), [&](const Entry& e) { return e.request == request; });
    return std::none_of(list_.begin(), at, [&](const Entry& earlier) {
      return std::any_of(at->keys.begin(), at->keys.end(), [&](const auto& key) { return earlier.keys.contains(key); });
    });
  }
  std::vector<RequestId> all() const {
    std::vector<RequestId> out;
    for (const Entry& entry : list_) out.push_back(entry.request);
    return out;
  }

 private:
  struct Entry {
    RequestId request;
    std::set<std::string> keys;
  };
  std::vector<Entry> list_;
};

/// One random schedule: nodes request random keys, release, withdraw and fail. After each step the table has granted
/// exactly the requests that the simple form has granted, and has reported each grant once.
class LockSchedule {
 public:
  explicit LockSchedule(uint64_t seed) : rng_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      check();
    }
    while (!plain_.all().empty()) {  // holders release, so that every request gets its turn
      const auto all = plain_.all();
      const auto holder = std::find_if(all.begin(), all.end(), [&](const RequestId& r) { return table_.holds(r); });
      REQUIRE(holder != all.end());
      give_back(*holder);
      check();
    }
    CHECK(table_.empty());
    CHECK(table_.nodes().empty());
  }

 private:
  void step() {
    const Address node = static_cast<Address>(rng_.below(6));
    const auto all = plain_.all();
    const auto own = std::find_if(all.begin(), all.end(), [&](const RequestId& r) { return r.node == node; });
    if (own == all.end()) return acquire(node);
    switch (rng_.below(8)) {
      case 0: return lose(node);
      case 1: {
        const bool waits = !table_.holds(*own);
        CHECK(table_.blockers(*own).empty() != waits);
        CHECK(table_.withdraw(*own) == waits);
        if (waits) forget(*own);
        return;
      }
      default: return give_back(*own);
    }
  }
  void acquire(Address node) {
    const RequestId request{node, ++last_id_};
    std::vector<std::string> keys;
    for (uint64_t left = 1 + rng_.below(3); left > 0; --left) keys.push_back(std::string(1, 'a' + char(rng_.below(5))));
    plain_.acquire(request, {keys.begin(), keys.end()});
    const auto granted = required(table_.acquire(request, keys, "job.lua:1"));
    if (*granted) notified_.insert({request.node, request.id});
  }
  void give_back(const RequestId& request) {
    REQUIRE(table_.release(request));
    forget(request);
  }
  void forget(const RequestId& request) {
    plain_.remove(request);
    notified_.erase({request.node, request.id});
  }
  void lose(Address node) {
    table_.lost(node);
    plain_.lost(node);
    std::erase_if(notified_, [&](const auto& r) { return r.first == node; });
  }
  void check() {
    for (const RequestId& request : table_.take_granted()) CHECK(notified_.insert({request.node, request.id}).second);
    for (const RequestId& request : plain_.all()) {
      REQUIRE(table_.holds(request) == plain_.granted(request));
      REQUIRE(notified_.contains({request.node, request.id}) == plain_.granted(request));
    }
  }

  Rng rng_;
  LockTable table_;
  PlainLocks plain_;
  std::set<std::pair<Address, uint32_t>> notified_;  // requests that hold their keys and were reported
  uint32_t last_id_ = 0;
};

}  // namespace

TEST_CASE("a free key is granted at once and a held key when it is released") {
  LockTable table;
  CHECK(table.acquire(kA, {"w"}, "a.lua:1").value());
  CHECK_FALSE(table.acquire(kB, {"w"}, "b.lua:2").value());
  CHECK(table.holds(kA));
  CHECK_FALSE(table.holds(kB));
  CHECK(table.take_granted().empty());
  CHECK(table.release(kA));
  CHECK(table.take_granted() == std::vector<RequestId>{kB});
  CHECK(table.take_granted().empty());
  CHECK(table.holds(kB));
  CHECK_FALSE(table.release(kA));
}

TEST_CASE("several keys are granted together, and a later request for one of them waits") {
  LockTable table;
  REQUIRE(table.acquire(kA, {"x"}, "").value());
  REQUIRE_FALSE(table.acquire(kB, {"x", "y"}, "").value());
  // y is free, but without this rule the earlier request could wait forever.
  CHECK_FALSE(table.acquire(kC, {"y"}, "").value());
  table.release(kA);
  CHECK(table.take_granted() == std::vector<RequestId>{kB});
  table.release(kB);
  CHECK(table.take_granted() == std::vector<RequestId>{kC});
}

TEST_CASE("a key named twice counts once") {
  LockTable table;
  CHECK(table.acquire(kA, {"x", "x"}, "").value());
  CHECK_FALSE(table.acquire(kB, {"x"}, "").value());
  table.release(kA);
  CHECK(table.holds(kB));
}

TEST_CASE("a node that requests a key that it holds gets an error with the line of its first request") {
  LockTable table;
  REQUIRE(table.acquire(kA, {"x", "y"}, "job.lua:7").value());
  const auto again = table.acquire({kA.node, 2}, {"y", "z"}, "job.lua:9");
  CHECK(failure_of(again).code == Code::bad_argument);
  CHECK_THAT(failure_of(again).message, Contains("it holds one of these keys already, since job.lua:7"));
  CHECK(table.acquire({kA.node, 2}, {"z"}, "").value());
  REQUIRE_FALSE(table.acquire(kB, {"x"}, "job.lua:3").value());
  CHECK_THAT(table.acquire({kB.node, 2}, {"x"}, "").error().message, Contains("waits for"));
  CHECK_FALSE(table.acquire(kA, {"other"}, "").ok());
}

TEST_CASE("the keys of a failed node pass to the requests behind it") {
  LockTable table;
  REQUIRE(table.acquire(kA, {"x"}, "").value());
  REQUIRE_FALSE(table.acquire(kB, {"x", "y"}, "").value());
  REQUIRE_FALSE(table.acquire(kC, {"y"}, "").value());
  table.lost(kB.node);
  CHECK(table.take_granted() == std::vector<RequestId>{kC});
  table.lost(kA.node);
  CHECK(table.take_granted().empty());
  CHECK(table.acquire(kB, {"x"}, "").value());
  CHECK(table.nodes() == std::vector<Address>{kB.node, kC.node});
}

TEST_CASE("a grant released before it is reported is not reported") {
  LockTable table;
  REQUIRE(table.acquire(kA, {"x"}, "").value());
  REQUIRE_FALSE(table.acquire(kB, {"x"}, "").value());
  REQUIRE_FALSE(table.acquire(kC, {"x"}, "").value());
  table.release(kA);
  CHECK_FALSE(table.withdraw(kB));  // it is granted
  table.release(kB);
  CHECK(table.take_granted() == std::vector<RequestId>{kC});
}

TEST_CASE("each node ahead of a request is named once, whether it holds or waits") {
  LockTable table;
  REQUIRE(table.acquire(kA, {"x", "y"}, "a.lua:1").value());
  REQUIRE_FALSE(table.acquire(kB, {"y", "z"}, "b.lua:2").value());
  REQUIRE_FALSE(table.acquire(kC, {"x", "y", "z"}, "c.lua:3").value());
  CHECK(table.blockers(kA).empty());
  CHECK(table.blockers(kB) == std::vector<LockTable::Blocker>{{kA.node, "a.lua:1", true}});
  CHECK(table.blockers(kC) == std::vector<LockTable::Blocker>{{kA.node, "a.lua:1", true}, {kB.node, "b.lua:2", false}});
  CHECK(table.withdraw(kC));
  CHECK(table.blockers(kC).empty());
}

TEST_CASE("in random schedules no two nodes hold a key at once, grants are in order and none is missed") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    LockSchedule(seed).run(400);
  }
}
