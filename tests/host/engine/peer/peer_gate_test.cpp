// The barrier of one worker among peers: draws, watches and decisions.

#include "host/engine/peer/peer_gate.hpp"

#include "tests/test.hpp"

namespace {

constexpr RunId kRun = 3;

/// Passes when the visible minimum is not below the worker's own step; records its input.
class NotingRule final : public BarrierRule {
 public:
  Status decide(const Progress&, std::span<const Slot>, double, std::span<Decision>) override {
    return Error{Code::unsupported, "peers ask partly"};
  }
  Status decide_partly(const Progress& progress, Slot asking, const PartialSight& sight, double,
                       Decision& out) override {
    seen = sight.seen.n;
    population = sight.population;
    aggregates = sight.aggregates;
    out.pass = sight.seen.lowest >= progress.steps()[asking];
    out.recheck_seconds = recheck;
    ++evaluations;
    return {};
  }
  uint32_t seen = 0;
  uint32_t population = 0;
  bool aggregates = false;
  int evaluations = 0;
  double recheck = kForever;
};

std::string at(uint64_t step) { return pack(PeerPace{mark_of(kRun, step)}); }

Sampled peer(NodeId node, const std::string& state) { return {Peer{node * 100U, node, 0}, state}; }

/// Worker 0, with one completed step.
struct Fixture {
  explicit Fixture(const PeerGate::Sampling& sampling) : gate(0) {
    gate.begin(kRun, 0);
    gate.set_rule(rule, sampling);
    gate.learn(mark_of(kRun, 0), 5);
    gate.request_pass(0);
    REQUIRE(gate.poll(0).ok());
    REQUIRE_FALSE(gate.waiting());
    gate.start(0);
    gate.complete(1);
    gate.request_pass(1);
    REQUIRE(gate.poll(1).ok());
  }
  /// Replies to its request for a draw.
  void draw(const std::vector<Sampled>& sample, double now) {
    const auto wanted = gate.take_draw();
    REQUIRE(wanted);
    CHECK(wanted->count == 2);
    gate.drawn(wanted->draw, sample, now);
    REQUIRE(gate.poll(now).ok());
  }
  NotingRule rule;
  PeerGate gate;
};

PeerGate::Sampling poll_each(double seconds) { return {true, 2, {Resample::Kind::poll, seconds}}; }
const PeerGate::Sampling kStickyPair{true, 2, {Resample::Kind::sticky, 0}};

}  // namespace

TEST_CASE("without a sample a peer passes when the minimum of all clocks allows it") {
  Fixture at_barrier({});
  CHECK(at_barrier.gate.waiting());
  CHECK(at_barrier.rule.aggregates);
  CHECK(at_barrier.rule.population == 5);
  const int evaluations = at_barrier.rule.evaluations;
  REQUIRE(at_barrier.gate.poll(2).ok());
  CHECK(at_barrier.rule.evaluations == evaluations);  // nothing has changed
  at_barrier.gate.learn(mark_of(kRun, 1), 4);
  REQUIRE(at_barrier.gate.poll(3).ok());
  CHECK_FALSE(at_barrier.gate.waiting());
  CHECK(at_barrier.gate.pace(0).duration == 1);
}

TEST_CASE("a minimum of an earlier run delays a peer, and a minimum of stopped peers does not") {
  Fixture at_barrier({});
  at_barrier.gate.learn(settled_in(kRun - 1, 70), 5);
  REQUIRE(at_barrier.gate.poll(2).ok());
  CHECK(at_barrier.gate.waiting());
  at_barrier.gate.learn(mark_of(kRun, 9), 5);
  REQUIRE(at_barrier.gate.poll(2).ok());
  CHECK_FALSE(at_barrier.gate.waiting());
}

TEST_CASE("a delayed peer evaluates its rule again when the rule requests it") {
  Fixture at_barrier({});
  at_barrier.rule.recheck = 0.5;
  at_barrier.gate.learn(present_in(kRun), 5);
  REQUIRE(at_barrier.gate.poll(2).ok());
  CHECK(at_barrier.gate.next_time() == Approx(2.5));
  const int evaluations = at_barrier.rule.evaluations;
  REQUIRE(at_barrier.gate.poll(2.6).ok());
  CHECK(at_barrier.rule.evaluations == evaluations + 1);
}

TEST_CASE("a polling peer sees each sample once and draws again") {
  Fixture at_barrier(poll_each(0.5));
  CHECK(at_barrier.rule.evaluations == 0);  // the first step needs no sample, and the second step's sample is pending
  CHECK(at_barrier.gate.next_time() == kForever);
  at_barrier.draw({peer(1, at(0)), peer(2, at(4))}, 2);
  CHECK(at_barrier.rule.seen == 2);
  CHECK_FALSE(at_barrier.rule.aggregates);
  CHECK(at_barrier.gate.take_watch().empty());
  CHECK(at_barrier.gate.next_time() == 2.5);
  REQUIRE(at_barrier.gate.poll(2.4).ok());
  CHECK_FALSE(at_barrier.gate.take_draw());
  REQUIRE(at_barrier.gate.poll(2.5).ok());
  at_barrier.draw({peer(3, at(1)), peer(0, at(0))}, 2.6);  // its own state is always current
  CHECK_FALSE(at_barrier.gate.waiting());
  CHECK(at_barrier.gate.counts().draws == 2);
  CHECK(at_barrier.gate.counts().decisions == 2);
}

TEST_CASE("peers that have stopped, are in no run, or send invalid states are ignored") {
  Fixture at_barrier(poll_each(0.5));
  const std::string wrong = GENERATE(pack(PeerPace{stopped_in(kRun, 0)}), pack(PeerPace{mark_of(kRun - 1, 0)}),
                                     pack(PeerPace{mark_of(kRun, kMaxStep)}), std::string("\x07"), std::string(),
                                     pack(PeerPace{mark_of(kRun, 0), true, NAN, 0, 0}));
  at_barrier.draw({peer(1, wrong)}, 2);
  CHECK(at_barrier.rule.seen == 0);
  CHECK_FALSE(at_barrier.gate.waiting());
}

TEST_CASE("a draw without replies is repeated, and a reply to an earlier draw is ignored") {
  Fixture at_barrier(poll_each(0.5));
  const auto first = at_barrier.gate.take_draw();
  REQUIRE(first);
  at_barrier.gate.drawn(first->draw, {}, 2);
  REQUIRE(at_barrier.gate.poll(2).ok());
  CHECK(at_barrier.rule.evaluations == 0);
  REQUIRE(at_barrier.gate.poll(at_barrier.gate.next_time()).ok());
  at_barrier.gate.drawn(first->draw, {peer(1, at(8))}, 3);
  REQUIRE(at_barrier.gate.poll(3).ok());
  CHECK(at_barrier.rule.evaluations == 0);
  at_barrier.draw({peer(1, at(8))}, 3);
  CHECK_FALSE(at_barrier.gate.waiting());
}

TEST_CASE("a sticky sample is watched until the peer passes, and a failed member is replaced") {
  Fixture at_barrier(kStickyPair);
  at_barrier.draw({peer(1, at(0)), peer(2, at(0))}, 2);
  CHECK(at_barrier.gate.take_watch().size() == 2);
  CHECK(at_barrier.gate.next_time() == kForever);
  at_barrier.gate.update_peer(1, at(1));
  REQUIRE(at_barrier.gate.poll(3).ok());
  CHECK(at_barrier.gate.waiting());
  CHECK_FALSE(at_barrier.gate.take_unwatch());
  at_barrier.gate.update_peer(2, std::nullopt);
  REQUIRE(at_barrier.gate.poll(3).ok());
  at_barrier.draw({peer(1, at(0)), peer(4, at(0))}, 4);  // 1 is watched already, and has continued
  const auto watch = at_barrier.gate.take_watch();
  REQUIRE(watch.size() == 1);
  CHECK(watch[0].node == 4);
  CHECK(at_barrier.rule.seen == 2);
  at_barrier.gate.update_peer(4, pack(PeerPace{stopped_in(kRun, 0)}));
  REQUIRE(at_barrier.gate.poll(5).ok());
  CHECK_FALSE(at_barrier.gate.waiting());
  CHECK(at_barrier.gate.take_unwatch());
}

TEST_CASE("a gate names the peers of its sample that are too slow for the rule") {
  Fixture at_barrier(kStickyPair);
  CHECK(at_barrier.gate.sampled_behind().empty());
  at_barrier.draw({peer(1, at(1)), peer(2, at(0))}, 2);
  CHECK(at_barrier.gate.sampled_behind() == std::vector<NodeId>{2});
}

TEST_CASE("beta 0 lets a peer pass without a draw") {
  Fixture at_barrier({true, 0, {Resample::Kind::poll, 0.5}});
  CHECK_FALSE(at_barrier.gate.waiting());
  CHECK_FALSE(at_barrier.gate.take_draw());
  CHECK(at_barrier.rule.evaluations == 1);
}

TEST_CASE("a replacing rule is evaluated at once") {
  Fixture at_barrier({});
  CHECK(at_barrier.gate.waiting());
  NotingRule other;
  at_barrier.gate.set_rule(other, kStickyPair);
  REQUIRE(at_barrier.gate.poll(2).ok());
  at_barrier.draw({peer(1, at(1))}, 2);
  CHECK(other.evaluations == 1);
  CHECK_FALSE(at_barrier.gate.waiting());
}
