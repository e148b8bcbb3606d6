#include "host/base/random.hpp"
#include "tests/host/engine/share/courier_place.hpp"
#include "tests/test.hpp"

namespace {

LockClient::Wanted keys(std::vector<std::string> names, std::optional<double> timeout = {}) {
  LockClient::Wanted wanted;
  wanted.name = "'" + names[0] + "'";
  wanted.keys = std::move(names);
  wanted.where = "job.lua:12";
  wanted.timeout = timeout;
  return wanted;
}

/// Part `id` of table 1, at worker `id`.
LockClient::Wanted parts(const std::vector<NodeId>& ids, std::optional<double> timeout = {}) {
  LockClient::Wanted wanted;
  wanted.name = "ids of table 1";
  for (const NodeId id : ids) wanted.parts.push_back({{1, id}, id});
  wanted.where = "job.lua:7";
  wanted.timeout = timeout;
  return wanted;
}

PackedValue number(int64_t value) { return {"int", Blob::copy_of(&value, sizeof value)}; }
int64_t number_of(const PackedValue& value) {
  int64_t out = -1000000;  // used by no test
  if (value.body.size() == sizeof out) std::memcpy(&out, value.body.data(), sizeof out);
  return out;
}

void publish_everywhere(CourierRun& run) {
  for (TestProcess* process : run.run.all) {
    for (const auto& node : process->nodes) {
      run.place_of(*node).locks.publish({1, node->index()}, node->index(), number(0));
    }
  }
}

/// Waits until the request is in a queue there.
bool waits_behind(const LockTable::RequestId& request, const CourierPlace& place) {
  const SteadyClock clock;
  const double deadline = clock.now() + kPatience;
  while (clock.now() < deadline) {
    if (place.locks.waits(request)) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

TEST_CASE("a plain counter loses no increment under a lock, from any node") {
  for (const std::vector<uint32_t>& nodes : {std::vector<uint32_t>{4}, {2, 1, 2}}) {
    CourierRun run("tcp", nodes);
    std::atomic<int> inside{0};
    std::atomic<int> failures{0};
    std::atomic<int> counter{0};
    constexpr int kRounds = 150;
    run.run.everywhere([&](Node& node) {
      LockClient& locks = run.locks(node);
      for (int i = 0; i < kRounds; ++i) {
        if (!locks.lock(keys({"w"})).ok() || inside++ != 0) ++failures;
        const int before = counter.load(std::memory_order_relaxed);
        std::this_thread::yield();
        counter.store(before + 1, std::memory_order_relaxed);
        --inside;
        if (!locks.release({}).ok()) ++failures;
      }
    });
    CHECK(failures == 0);
    int expected = 0;
    for (const uint32_t n : nodes) expected += static_cast<int>(n) * kRounds;
    CHECK(counter == expected);
  }
}

TEST_CASE("values under locks at several owners are the newest, and no update is lost") {
  CourierRun run("tcp", {2, 1, 1});
  publish_everywhere(run);
  std::atomic<int> failures{0};
  std::atomic<int64_t> added{0};
  run.run.everywhere([&](Node& node) {
    LockClient& locks = run.locks(node);
    Rng rng(node.index() + 1);
    for (int i = 0; i < 100; ++i) {
      std::vector<NodeId> ids;
      for (NodeId id = 0; id < 4; ++id) {
        if (rng.below(2) == 0) ids.insert(ids.begin() + static_cast<ptrdiff_t>(rng.below(ids.size() + 1)), id);
      }
      if (ids.empty()) continue;
      auto values = locks.lock(parts(ids));
      if (!values) {
        ++failures;
        continue;
      }
      SharedWrites writes;
      for (uint32_t k = 0; k < ids.size(); ++k) writes.emplace_back(k, number(number_of((*values)[k]) + 1));
      added += static_cast<int64_t>(ids.size());
      if (!locks.release(std::move(writes)).ok()) ++failures;
    }
  });
  CHECK(failures == 0);
  LockClient& locks = run.locks(run.node(2));
  const auto values = required(locks.lock(parts({3, 1, 0, 2})));
  int64_t total = 0;
  for (const PackedValue& value : *values) total += number_of(value);
  CHECK(total == added);
}

TEST_CASE("a wait for a lock ends at its timeout and names the holder and its line") {
  CourierRun run("tcp", {2, 1});
  REQUIRE(run.locks(run.node(0)).lock(keys({"w", "v"})).ok());
  for (Node* node : {&run.node(0, 1), &run.node(1)}) {  // in the holder's process, and in another
    const auto late = run.locks(*node).lock(keys({"w"}, 0.01));
    CHECK(failure_of(late).code == Code::timeout);
    CHECK(failure_of(late).message == "lock: 'w' not granted within 0.01 s (held by rank 0 at job.lua:12)");
    CHECK_FALSE(run.locks(*node).holds());
    CHECK(run.locks(*node).lock(keys({"free"}, 0.0)).ok());  // a free lock is granted also without a wait
    CHECK(run.locks(*node).release({}).ok());
  }
  CHECK(run.locks(run.node(0)).release({}).ok());
  CHECK(run.locks(run.node(1)).lock(keys({"w"}, 0.0)).ok());
}

TEST_CASE("a lock within a lock is refused and the outer one stays") {
  CourierRun run("tcp", {1, 1});
  LockClient& locks = run.locks(run.node(1));
  REQUIRE(locks.lock(keys({"w"})).ok());
  const auto inner = locks.lock(keys({"v"}));
  CHECK(failure_of(inner).code == Code::bad_argument);
  CHECK_THAT(failure_of(inner).message, Contains("rank 1 holds a lock already, taken at job.lua:12"));
  CHECK(locks.holds());
  CHECK(locks.release({}).ok());
}

TEST_CASE("an unpublished part is an error that names the id and the rank") {
  CourierRun run("tcp", {1, 1});
  publish_everywhere(run);
  for (Node* node : {&run.node(0), &run.node(1)}) {
    LockClient::Wanted wanted = parts({0, 1});
    wanted.parts[1].part.id = 77;
    const auto got = run.locks(*node).lock(std::move(wanted));
    CHECK(failure_of(got).code == Code::bad_argument);
    CHECK(failure_of(got).message == "lock: rank 1 has not published id 77 of table 1");
  }
  run.places[1]->locks.withdraw_table(1, 1);
  CHECK_FALSE(run.locks(run.node(0)).lock(parts({1})).ok());
  CHECK(run.locks(run.node(0)).lock(parts({0})).ok());  // the failed request holds nothing
}

TEST_CASE("a part withdrawn during a wait is refused, and other nodes continue") {
  CourierRun run("tcp", {2, 1});
  publish_everywhere(run);
  REQUIRE(run.locks(run.node(0)).lock(parts({0, 1})).ok());
  Error error;
  run.run.members[0]->launch([&](Node& node) { error = run.locks(node).lock(parts({0, 1})).error(); });
  REQUIRE(waits_behind({2, 1}, *run.places[0]));
  run.places[0]->locks.withdraw_table(1, 0);
  REQUIRE(run.locks(run.node(0)).release({}).ok());
  run.run.join();
  CHECK(error.message == "lock: rank 0 has not published id 0 of table 1");
  CHECK(run.locks(run.node(0, 1)).lock(parts({1})).ok());
}

TEST_CASE("a failed holder releases the lock and leaves the old value") {
  CourierRun run("tcp", {1, 1, 1});
  publish_everywhere(run);
  LockClient& holder = run.locks(run.node(2));
  REQUIRE(holder.lock(parts({0, 1})).ok());
  std::vector<int64_t> seen;
  run.run.members[0]->launch([&](Node& node) {
    const auto values = run.locks(node).lock(parts({0, 1}));
    if (values) seen = {number_of((*values)[0]), number_of((*values)[1])};
    (void)run.locks(node).release({{0, number(5)}, {1, number(6)}});
  });
  REQUIRE(waits_behind({1, 1}, *run.places[0]));
  run.lose(2);
  run.run.join();
  CHECK(seen == std::vector<int64_t>{0, 0});
  const auto values = required(run.locks(run.node(0)).lock(parts({0, 1})));
  CHECK(number_of((*values)[0]) == 5);
  CHECK(number_of((*values)[1]) == 6);
}

TEST_CASE("the failure of an owner ends the wait for it, and the locks granted so far are released") {
  CourierRun run("tcp", {1, 1, 1});
  publish_everywhere(run);
  REQUIRE(run.locks(run.node(0)).lock(parts({2})).ok());
  Error error;
  run.run.members[0]->launch([&](Node& node) { error = run.locks(node).lock(parts({2, 0})).error(); });
  REQUIRE(waits_behind({1, 2}, *run.places[2]));  // its first request was for id 0
  run.lose(2);
  run.run.join();
  CHECK(error.code == Code::peer_lost);
  CHECK(error.message == "lock: rank 2 lost");
  CHECK(run.locks(run.node(0)).release({{0, number(9)}}).ok());  // no node waits for it
  REQUIRE(run.run.coordinator->wait_for_size(2));
  CHECK(run.locks(run.node(0)).lock(parts({0}, kPatience)).ok());
  run.run.members[0]->nodes[0]->refresh();
  CHECK(failure_of(run.locks(run.node(1)).lock(parts({2}))).code == Code::peer_lost);
}

TEST_CASE("a wait for a lock ends when the node must stop, and the request is withdrawn") {
  CourierRun run("tcp", {1, 2});
  REQUIRE(run.locks(run.node(0)).lock(keys({"w"})).ok());
  Error error;
  Node& stopped = run.node(1, 0);
  std::thread waiter([&] { error = run.locks(stopped).lock(keys({"w"})).error(); });
  REQUIRE(waits_behind({stopped.address(), 1}, *run.places[0]));
  stopped.request_stop();
  waiter.join();
  CHECK(error.code == Code::interrupted);
  REQUIRE(run.locks(run.node(0)).release({}).ok());
  CHECK(run.locks(run.node(1, 1)).lock(keys({"w"}, kPatience)).ok());
}

TEST_CASE("values of other sizes, also empty values, can be written") {
  CourierRun run("ipc", {1, 1});
  publish_everywhere(run);
  LockClient& locks = run.locks(run.node(1));
  REQUIRE(locks.lock(parts({0, 1})).ok());
  const std::string big(3 << 20, 'b');
  REQUIRE(locks.release({{0, {"big", Blob::copy_of(big)}}, {1, {"empty", Blob()}}}).ok());
  const auto values = required(run.locks(run.node(0)).lock(parts({1, 0})));
  CHECK((*values)[0].head == "empty");
  CHECK((*values)[0].body.empty());
  CHECK((*values)[1].head == "big");
  CHECK((*values)[1].body.view() == big);
  CHECK(run.places[0]->locks.read({1, 0})->body.view() == big);
  CHECK_FALSE(run.places[0]->locks.read({1, 5}));
}
