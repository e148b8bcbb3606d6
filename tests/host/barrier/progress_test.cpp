#include "host/barrier/progress.hpp"

#include "host/base/random.hpp"
#include "tests/test.hpp"

namespace {

/// Makes random calls on a Progress and on a plain map, and compares their answers.
struct Model {
  Progress progress;
  std::map<NodeId, int32_t> steps;
  std::map<NodeId, int32_t> parked;
  NodeId next = 0;

  int32_t floor() const {
    int32_t low = steps.begin()->second;
    for (const auto& [id, step] : steps) low = std::min(low, step);
    return low;
  }

  NodeId pick(const std::map<NodeId, int32_t>& from, Rng& rng) const {
    auto it = from.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng.below(from.size())));
    return it->first;
  }

  void join() {
    const int32_t at = steps.empty() ? 0 : floor();
    REQUIRE(progress.join(next).ok());
    steps[next++] = at;
  }

  void leave(NodeId id, bool park) {
    if (park) parked[id] = steps[id];
    steps.erase(id);
    CHECK((park ? progress.park(id) : progress.remove(id)));
  }

  void come_back(NodeId id) {
    steps[id] = steps.empty() ? parked[id] : std::max(parked[id], floor());
    parked.erase(id);
    CHECK(progress.unpark(id));
  }

  void act(Rng& rng) {
    const uint64_t what = rng.below(20);
    if (steps.empty() || what == 0) return join();
    if (what == 1) return leave(pick(steps, rng), false);
    if (what == 2) return leave(pick(steps, rng), true);
    if (what == 3 && !parked.empty()) return come_back(pick(parked, rng));
    const NodeId id = pick(steps, rng);
    progress.start(id, 0);
    progress.complete(id, 1);
    ++steps[id];
  }

  void check() const {
    REQUIRE(progress.size() == steps.size());
    if (steps.empty()) return;
    std::vector<int32_t> sorted;
    for (const auto& [id, step] : steps) {
      REQUIRE(progress.steps()[progress.slot(id)] == step);
      sorted.push_back(step);
    }
    std::sort(sorted.begin(), sorted.end());
    REQUIRE(progress.min() == sorted.front());
    REQUIRE(progress.max() == sorted.back());
    const int32_t middle = sorted[(sorted.size() - 1) / 2];
    REQUIRE(progress.quantile(0.5) == middle);
    const auto reached = std::count_if(sorted.begin(), sorted.end(), [&](int32_t s) { return s >= middle; });
    REQUIRE(progress.passed(middle) == static_cast<uint32_t>(reached));
  }
};

}  // namespace

TEST_CASE("clocks, smallest, greatest, passed and quantile follow any sequence of calls") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed);
    Model model;
    for (int i = 0; i < 2000; ++i) {
      model.act(rng);
      model.check();
    }
  }
}

TEST_CASE("a joining worker starts at the minimum clock of the counted workers") {
  Progress progress;
  REQUIRE(progress.join(3, 7).ok());
  REQUIRE(progress.add(5, 12).ok());
  REQUIRE(progress.join(9).ok());
  CHECK(progress.steps()[progress.slot(9)] == 7);
}

TEST_CASE("no worker waits for a parked worker, and it delays none when it returns") {
  Progress progress;
  REQUIRE(progress.add(0, 2).ok());
  REQUIRE(progress.add(1, 9).ok());
  CHECK(progress.park(0));
  CHECK(progress.parked(0));
  CHECK(progress.min() == 9);
  CHECK(progress.slot(0) == kNoSlot);
  CHECK(progress.unpark(0));
  CHECK(progress.min() == 9);
  CHECK_FALSE(progress.unpark(0));
}

TEST_CASE("each worker has its step's duration, its pulled version and its suspicion") {
  Progress progress;
  REQUIRE(progress.add(4, 0).ok());
  CHECK(progress.start(4, 10));
  CHECK(progress.busy()[0] == 1);
  CHECK(progress.complete(4, 12.5));
  CHECK(progress.busy()[0] == 0);
  CHECK(progress.durations()[0] == 2.5);
  CHECK(progress.pulled(4, 17));
  CHECK(progress.pulled()[0] == 17);
  const uint64_t before = progress.changes();
  CHECK(progress.suspect(4, true));
  CHECK(progress.alive()[0] == 0);
  CHECK(progress.changes() == before + 1);
  CHECK(progress.suspect(4, true));
  CHECK(progress.changes() == before + 1);
  CHECK(progress.events() == 1);
}

TEST_CASE("a worker's average follows its recent durations, also while it is parked, and its start is stored") {
  Progress progress;
  REQUIRE(progress.add(4, 0).ok());
  CHECK(progress.averages()[0] == 0);
  const auto work = [&](double from, double seconds) {
    progress.start(4, from);
    progress.complete(4, from + seconds);
  };
  work(10, 2);
  CHECK(progress.averages()[0] == 2);
  work(20, 6);
  CHECK(progress.averages()[0] == 3);
  CHECK(progress.durations()[0] == 6);
  CHECK(progress.started()[0] == 20);
  CHECK(progress.park(4));
  CHECK(progress.unpark(4));
  CHECK(progress.averages()[0] == 3);
  progress.start(4, 30);
  CHECK(progress.started()[0] == 30);
  progress.complete(4, 31);
  progress.complete(4, 50);  // without a start it has no duration
  CHECK(progress.averages()[0] == 2.5);
  for (int i = 0; i < 40; ++i) work(100 + i, 0.5);
  CHECK(progress.averages()[0] == Approx(0.5).margin(1e-4));
}

TEST_CASE("suspicion of a parked worker is set when it returns") {
  Progress progress;
  REQUIRE(progress.add(4, 0).ok());
  CHECK(progress.park(4));
  CHECK_FALSE(progress.suspect(4, true));
  CHECK(progress.unpark(4));
  CHECK(progress.alive()[0] == 0);
}

TEST_CASE("calls about unknown workers change nothing") {
  Progress progress;
  REQUIRE(progress.add(1, 0).ok());
  const uint64_t before = progress.changes();
  CHECK_FALSE(progress.start(2, 0));
  CHECK_FALSE(progress.complete(2, 0));
  CHECK_FALSE(progress.pulled(2, 1));
  CHECK_FALSE(progress.suspect(2, true));
  CHECK_FALSE(progress.request(2, 0));
  CHECK_FALSE(progress.pass(2));
  CHECK_FALSE(progress.remove(2));
  CHECK_FALSE(progress.park(2));
  CHECK_FALSE(progress.unpark(2));
  CHECK(progress.changes() == before);
  CHECK(progress.events() == 0);
}

TEST_CASE("a worker that cannot be counted is refused with the reason") {
  Progress progress;
  REQUIRE(progress.add(1, 0).ok());
  CHECK(progress.add(1, 0).error().message == "worker 1 is known already");
  CHECK(progress.add(2, -1).error().message == "worker 2: step -1 is negative");
  CHECK(progress.add(Progress::kMaxId + 1, 0).error().code == Code::bad_argument);
  CHECK(progress.add(2, Progress::kMaxSpread + 1).error().code == Code::bad_argument);
  CHECK(progress.park(1));
  CHECK(progress.add(1, 0).error().message == "worker 1 is known already");
  CHECK(progress.size() == 0);
}

TEST_CASE("a request counts once until it is answered, and ends with the worker") {
  Progress progress;
  REQUIRE(progress.add(1, 0).ok());
  REQUIRE(progress.add(2, 0).ok());
  CHECK(progress.request(1, 5));
  const uint64_t ticket = progress.tickets()[0];
  CHECK(progress.request(1, 6));
  CHECK(progress.tickets()[0] == ticket);
  CHECK(progress.requested()[0] == 5);
  CHECK(progress.request(2, 6));
  CHECK(progress.waiting() == 2);
  CHECK(progress.pass(1));
  CHECK_FALSE(progress.pass(1));
  CHECK(progress.remove(2));
  CHECK(progress.waiting() == 0);
}

TEST_CASE("the counts per step stay small when all workers advance") {
  StepCounts counts;
  counts.add(0);
  counts.add(0);
  for (int32_t step = 0; step < 1000000; ++step) {
    counts.advance(step);
    counts.advance(step);
  }
  CHECK(counts.min() == 1000000);
  CHECK(counts.below(1000001) == 2);
  counts.add(3);
  CHECK(counts.min() == 3);
  CHECK(counts.below(4) == 1);
}

TEST_CASE("ids of later coordinators need no array") {
  Progress progress;
  const NodeId far = (1U << 28) + 5;
  REQUIRE(progress.add(far, 3).ok());
  REQUIRE(progress.add(7, 4).ok());
  CHECK(progress.slot(far) == 0);
  CHECK(progress.slot(far + 1) == kNoSlot);
  CHECK_FALSE(progress.add(far, 3).ok());
  CHECK(progress.remove(far));
  CHECK(progress.slot(far) == kNoSlot);
  CHECK(progress.slot(7) == 0);
  CHECK(progress.min() == 4);
}
