#include "host/sim/event_queue.hpp"

#include <queue>

#include "host/base/random.hpp"
#include "tests/test.hpp"

namespace {

struct Later {
  bool operator()(const SimEvent& a, const SimEvent& b) const {
    return a.time > b.time || (a.time == b.time && a.order > b.order);
  }
};

/// The queue beside a heap of the standard library; both receive the same operations.
class CheckedQueue {
 public:
  void push(double time, uint32_t node) {
    queue_.push(time, node, node ^ 5);
    model_.push({time, order_++, node, node ^ 5});
  }
  /// Pops the earliest event of both and compares; false when they differ. Sets `now` to its time.
  bool pop(double& now) {
    const SimEvent expected = model_.top();
    model_.pop();
    if (queue_.next_time() != expected.time) return false;
    const SimEvent got = queue_.pop();
    now = got.time;
    return got.time == expected.time && got.order == expected.order && got.node == expected.node &&
           got.tag == expected.tag && queue_.size() == model_.size();
  }
  size_t size() const { return model_.size(); }
  EventQueue& queue() { return queue_; }

 private:
  EventQueue queue_;
  std::priority_queue<SimEvent, std::vector<SimEvent>, Later> model_;
  uint64_t order_ = 0;
};

using Gap = std::function<double(Rng&, double now)>;
struct QueueShape {
  const char* name;
  Gap gap;  // from now to the new event
};

// The patterns of simulations, and patterns that make a calendar queue slow or wrong.
const QueueShape kShapes[] = {
    {"constant", [](Rng&, double) { return 1.0; }},
    {"exponential", [](Rng& rng, double) { return rng.exponential(); }},
    {"none", [](Rng&, double) { return 0.0; }},
    {"few different", [](Rng& rng, double) { return static_cast<double>(rng.below(4)); }},
    {"heavy tail", [](Rng& rng, double) { return 1e-3 * pow_of(1 - rng.uniform(), -2); }},
    {"heaviest tail", [](Rng& rng, double) { return std::min(1e300, pow_of(1 - rng.uniform(), -40)); }},
    {"mostly now, some far", [](Rng& rng, double) { return rng.below(50) == 0 ? 1e6 + rng.uniform() : 0.01; }},
    {"two scales", [](Rng& rng, double) { return rng.below(2) == 0 ? 1e-9 * rng.uniform() : 1e4 * rng.uniform(); }},
    {"to the next whole second", [](Rng&, double now) { return std::floor(now) + 1 - now; }},
    {"tiny", [](Rng& rng, double) { return 1e-300 * rng.uniform(); }},
    {"beyond all buckets", [](Rng& rng, double) { return 1e200 * rng.uniform(); }},
    {"ever shorter", [](Rng& rng, double now) { return rng.uniform() / (1 + now * now); }},
};

/// Runs `turns` turns at about `size` events; each turn pops one event and pushes one, with a burst of pops or pushes
/// at first and now and then. Returns the number of the turn that failed, 0 when none did.
size_t first_difference(const QueueShape& shape, uint64_t seed, size_t size, size_t turns) {
  Rng rng(seed);
  CheckedQueue checked;
  double now = 0;
  const auto push = [&] { checked.push(now + shape.gap(rng, now), static_cast<uint32_t>(rng.below(1000))); };
  while (checked.size() < size) push();
  for (size_t turn = 1; turn <= turns; ++turn) {
    uint64_t pushes = 1;
    uint64_t pops = 1;
    if (rng.below(turns / 4 + 1) == 0) {
      (rng.below(2) == 0 ? pops : pushes) = rng.below(size + 1);  // the queue shrinks or grows, and is rebuilt
    }
    for (uint64_t i = 0; i < pops && checked.size() > 0; ++i) {
      if (!checked.pop(now)) return turn;
    }
    for (uint64_t i = 0; i < pushes; ++i) push();
  }
  while (checked.size() > 0) {
    if (!checked.pop(now)) return turns + 1;
  }
  return checked.queue().empty() && std::isinf(checked.queue().next_time()) ? 0 : turns + 2;
}

/// Halves a failing case as long as it fails, and describes the result.
std::string smallest_failure(const QueueShape& shape, uint64_t seed, size_t size, size_t turns) {
  while (size > 0 && first_difference(shape, seed, size / 2, turns) != 0) size /= 2;
  while (turns > 0 && first_difference(shape, seed, size, turns / 2) != 0) turns /= 2;
  return std::string(shape.name) + ", seed " + std::to_string(seed) + ", " + std::to_string(size) + " events, " +
         std::to_string(turns) + " turns: differs in turn " +
         std::to_string(first_difference(shape, seed, size, turns));
}

void agree(size_t size, size_t turns, uint64_t seeds) {
  for (const QueueShape& shape : kShapes) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      if (first_difference(shape, seed, size, turns) == 0) continue;
      FAIL_CHECK(smallest_failure(shape, seed, size, turns));
      break;
    }
  }
}

}  // namespace

TEST_CASE("a few events are popped as from a heap, whatever their times") {
  for (const size_t size : {0, 1, 2, 3, 10, 63, 64, 65, 128, 129, 300}) agree(size, 300, 8);
}

TEST_CASE("a thousand events are popped as from a heap through many retunings") { agree(1000, 20000, 1); }

TEST_CASE("a hundred thousand events are popped as from a heap") {
  for (const size_t shape : {0, 1, 4, 7}) {
    if (first_difference(kShapes[shape], 1, 100000, 1000) == 0) continue;
    FAIL_CHECK(smallest_failure(kShapes[shape], 1, 100000, 1000));
  }
}

TEST_CASE("events of one time are popped in the order of insertion, also while some are popped") {
  EventQueue queue;
  for (uint32_t i = 0; i < 500; ++i) queue.push(3, i, 0);
  for (uint32_t i = 0; i < 100; ++i) CHECK(queue.pop().node == i);
  for (uint32_t i = 500; i < 1500; ++i) queue.push(3, i, 0);  // grows, so the queue is rebuilt meanwhile
  for (uint32_t i = 100; i < 1500; ++i) CHECK(queue.pop().node == i);
  CHECK(queue.empty());
}

TEST_CASE("an event of the present is popped before later events that were pushed earlier") {
  EventQueue queue;
  for (uint32_t i = 0; i < 10; ++i) queue.push(i, i, 0);
  CHECK(queue.pop().node == 0);
  CHECK(queue.pop().node == 1);
  queue.push(1, 77, 0);
  queue.push(1.5, 78, 0);
  CHECK(queue.next_time() == 1);
  CHECK(queue.pop().node == 77);
  CHECK(queue.pop().node == 78);
  CHECK(queue.pop().node == 2);
}

TEST_CASE("an empty queue has an infinite next time, and works again afterwards") {
  EventQueue queue;
  CHECK(queue.empty());
  CHECK(std::isinf(queue.next_time()));
  for (int round = 0; round < 5; ++round) {
    queue.push(round * 1e6, 1, 2);
    CHECK(queue.size() == 1);
    const SimEvent event = queue.pop();
    CHECK(event.time == round * 1e6);
    CHECK(event.node == 1);
    CHECK(event.tag == 2);
    CHECK(std::isinf(queue.next_time()));
  }
}

TEST_CASE("a large calendar that has run empty finds the next event, near and far") {
  EventQueue queue;
  const uint32_t many = 20000;
  for (uint32_t i = 0; i < many; ++i) queue.push(i * 1e-3, i, 0);
  for (uint32_t i = 0; i < many; ++i) REQUIRE(queue.pop().node == i);
  REQUIRE(queue.empty());
  for (uint32_t i = 0; i < 30; ++i) {
    // Single events, pairs in order, and pairs with the nearer event last.
    const double time = 100 + i * (i % 3 == 0 ? 1e7 : 1e5);
    queue.push(time + 1e4, 2, 0);
    queue.push(time, 1, 0);
    if (i % 2 == 0) queue.push(time + 2e9, 3, 0);
    CHECK(queue.pop().node == 1);
    CHECK(queue.next_time() == time + 1e4);
    CHECK(queue.pop().node == 2);
    if (i % 2 == 0) {
      CHECK(queue.pop().node == 3);
      CHECK(queue.empty());
      queue = EventQueue();
      for (uint32_t k = 0; k < many; ++k) queue.push(k * 1e-3, k, 0);
      for (uint32_t k = 0; k < many; ++k) REQUIRE(queue.pop().node == k);
    }
  }
  CHECK(std::isinf(queue.next_time()));
}

TEST_CASE("node and tag return unchanged, over their whole range") {
  EventQueue queue;
  queue.push(1, 0xffffffffU, 0xfffffffeU);
  queue.push(2, 0, 0);
  const SimEvent first = queue.pop();
  CHECK(first.node == 0xffffffffU);
  CHECK(first.tag == 0xfffffffeU);
  CHECK(queue.pop().node == 0);
}
