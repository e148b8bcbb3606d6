// Runs each Admission alone through random schedules of nodes that join, leave and complete steps.

#include "host/sim/admission.hpp"
#include "tests/host/sim/sim_world.hpp"
#include "tests/test.hpp"

namespace {

/// An admission with a model of its allowed decisions.
class World {
 public:
  World(const NativeRule& rule, uint64_t seed)
      : rule_(rule), rng_(seed), admission_(make_admission(rule, clocks_, seed)) {}

  /// Applies one random event, and starts the nodes that pass.
  void turn() {
    now_ += rng_.exponential(0.1);
    const uint64_t choice = rng_.below(40);
    if (clocks_.size() == 0 || (choice == 0 && clocks_.size() < 30)) {
      const NodeId id = clocks_.add(clocks_.size() > 0 ? clocks_.min() : 0);
      admission_->joined(id);
    } else if (choice == 1) {
      const NodeId id = clocks_.live()[rng_.below(clocks_.size())];
      std::erase(waiting_, id);
      clocks_.remove(id);
      admission_->left(id);
    } else if (!complete()) {
      now_ = std::max(now_, std::min(now_ + 100, admission_->next_time()));
    }
    decide();
  }

 private:
  bool waits(NodeId id) const { return std::find(waiting_.begin(), waiting_.end(), id) != waiting_.end(); }

  bool complete() {
    std::vector<NodeId> working;
    std::copy_if(clocks_.live().begin(), clocks_.live().end(), std::back_inserter(working),
                 [this](NodeId id) { return !waits(id); });
    if (working.empty()) return false;
    const NodeId id = working[rng_.below(working.size())];
    clocks_.advance(id);
    admission_->completed(id, now_);
    waiting_.push_back(id);
    return true;
  }

  /// How many nodes have completed too few steps for the waiter to pass.
  uint32_t behind(NodeId id) const {
    return static_cast<uint32_t>(std::count_if(clocks_.live().begin(), clocks_.live().end(), [&](NodeId other) {
      return clocks_.step(other) < clocks_.step(id) - rule_.staleness;
    }));
  }

  void decide() {
    std::vector<NodeId> passed;
    REQUIRE(admission_->decide(now_, passed).ok());
    std::vector<NodeId> stay;
    for (const NodeId id : waiting_) {
      const bool passes = std::find(passed.begin(), passed.end(), id) != passed.end();
      if (!right(id, passes)) {
        FAIL("node " << id << " at step " << clocks_.step(id) << (passes ? " passes, " : " waits, ") << behind(id)
                     << " of " << clocks_.size() << " are behind");
      }
      if (!passes) stay.push_back(id);
    }
    REQUIRE(stay.size() + passed.size() == waiting_.size());  // no other node, and none twice
    if (rule_.beta == NativeRule::kAll) {                     // in the order of their requests
      std::erase_if(waiting_, [&](NodeId id) { return std::find(stay.begin(), stay.end(), id) != stay.end(); });
      REQUIRE(passed == waiting_);
    }
    waiting_ = stay;
    REQUIRE(admission_->waiting() == waiting_.size());
    if (rule_.resample.kind != Resample::Kind::poll && clocks_.size() > 0) REQUIRE(waiting_.size() < clocks_.size());
  }

  bool right(NodeId id, bool passes) const {
    const uint32_t far = behind(id);
    if (rule_.staleness == NativeRule::kFree || rule_.beta == 0) return passes;
    if (rule_.beta == NativeRule::kAll) return passes == (far == 0);
    // As many nodes as the sample has must be near enough; but a sticky sample drawn from few nodes stays small.
    const uint32_t seen = rule_.resample.kind == Resample::Kind::sticky ? 1 : rule_.beta;
    if (passes) return clocks_.size() - far >= std::min(seen, clocks_.size());
    return far > 0 || rule_.resample.kind == Resample::Kind::poll;
  }

  NativeRule rule_;
  Rng rng_;
  Clocks clocks_;
  std::unique_ptr<Admission> admission_;
  std::vector<NodeId> waiting_;  // in the order of their requests
  double now_ = 0;
};

void live_through(const NativeRule& rule) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    World world(rule, seed);
    for (int i = 0; i < 2000; ++i) world.turn();
  }
}

}  // namespace

TEST_CASE("bsp, ssp and asp pass exactly the nodes of their definition, in the order of the requests") {
  for (const NativeRule& rule : {kBsp, ssp(1), ssp(3), kAsp}) live_through(rule);
}

TEST_CASE("samples at each event pass no node that cannot and every node that must, while nodes join and leave") {
  for (const NativeRule& rule : {pbsp(0), pbsp(1), pbsp(4), pssp(3, 2), pbsp(100)}) live_through(rule);
}

TEST_CASE("sticky samples pass every node that must and never hold all nodes, while nodes join and leave") {
  for (const NativeRule& rule : {pbsp(1, kSticky), pbsp(4, kSticky), pssp(3, 2, kSticky), pbsp(100, kSticky)}) {
    live_through(rule);
  }
}

TEST_CASE("polled samples pass no node that cannot, while nodes join and leave") {
  for (const uint32_t beta : {1U, 4U, 100U}) live_through(pbsp(beta, {Resample::Kind::poll, 0.2}));
}

TEST_CASE("a waiter whose only sampled node leaves draws another one") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Clocks clocks;
    const auto admission = make_admission(pbsp(1, kSticky), clocks, seed);
    for (int i = 0; i < 4; ++i) admission->joined(clocks.add(0));
    std::vector<NodeId> passed;
    clocks.advance(0);
    admission->completed(0, 1);
    REQUIRE(admission->decide(1, passed).ok());
    for (const NodeId id : {1U, 2U, 3U}) {  // node 0 is alone at the end
      clocks.remove(id);
      admission->left(id);
      REQUIRE(admission->decide(2, passed).ok());
    }
    CHECK(passed == std::vector<NodeId>{0});
  }
}

TEST_CASE("a poll interval below the shortest becomes the shortest") {
  Clocks clocks;
  const auto admission = make_admission(pbsp(2, {Resample::Kind::poll, 0}), clocks, 1);
  for (int i = 0; i < 3; ++i) admission->joined(clocks.add(0));
  std::vector<NodeId> passed;
  clocks.advance(0);
  admission->completed(0, 5);
  REQUIRE(admission->decide(5, passed).ok());
  CHECK(passed.empty());
  CHECK(admission->next_time() == 5 + Waiting::kMinRecheck);
}
