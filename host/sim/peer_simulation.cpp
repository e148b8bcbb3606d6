#include "host/sim/peer_simulation.hpp"

#include <cmath>

#include "host/sim/peer_sampling.hpp"
#include "host/sim/peer_tree.hpp"

namespace actorhost {

namespace {

/// Protocol of a rule that uses no clock of another node.
class PeerUncoordinated final : public PeerProtocol {
 public:
  using PeerProtocol::PeerProtocol;
  void joined(NodeId /*id*/, double /*now*/, bool /*later*/) override {}
  void completed(NodeId id, double now) override {
    const std::optional<double> recheck = world_.decide(id, {}, 0, now);
    if (recheck && *recheck < kForever) world_.wake(now + *recheck, id);
  }
  void woken(NodeId id, double now) override { completed(id, now); }
  void arrived(const PeerMessage& /*message*/, double /*now*/) override {}
  void left(NodeId /*id*/, double /*now*/) override {}
};

std::unique_ptr<PeerProtocol> make_protocol(PeerWorld& world) {
  if (world.rule().blind()) return std::make_unique<PeerUncoordinated>(world);
  if (world.rule().beta() == NativeRule::kAll) return std::make_unique<PeerTree>(world);
  return std::make_unique<PeerSampling>(world);
}

}  // namespace

PeerSimulation::PeerSimulation(const Scenario& scenario, PeerRule& rule, SimWatch* watch)
    : PeerWorld(scenario, rule), watch_(watch), churn_(sim_seed(scenario.seed, SimStream::churn)) {
  use(make_protocol(*this));
}

// --- nodes join and leave ---

void PeerSimulation::populate() {
  const Churn& churn = scenario_.churn;
  for (uint32_t i = 0; i < scenario_.nodes; ++i) add_node(0, false);
  for (NodeId id = 0; id < scenario_.nodes; ++id) start(id, 0);
  if (churn.joins > 0) queue_.push(churn_.exponential(1 / churn.joins), 0, kJoins);
  if (churn.leaves > 0) queue_.push(churn_.exponential(1 / churn.leaves), 0, kLeaves);
}

NodeId PeerSimulation::add_node(double now, bool later) {
  const NodeId id = add(later ? protocol().first_step() : 0, now);
  protocol().joined(id, now, later);
  if (scenario_.failures.mean_life > 0) {
    StepRng rng(sim_seed(scenario_.seed, SimStream::life), id, 0);
    queue_.push(now + rng.exponential(scenario_.failures.mean_life), id, kCrashes);
  }
  if (!later) return id;
  ++record_.result().joined;
  protocol().begins(id, now);
  return id;
}

void PeerSimulation::remove(NodeId id, double now) {
  record_.remove(id, now);
  protocol().left(id, now);
}

void PeerSimulation::crash(NodeId id, double now) {
  if (!up(id)) return;
  ++record_.result().crashed;
  record_.enter(id, State::down, now);
  queue_.push(now + scenario_.failures.detect, id, kMissed);
  if (scenario_.failures.repair > 0) queue_.push(now + scenario_.failures.repair, id, kReturns);
}

void PeerSimulation::handle_membership(const SimEvent& event) {
  const double now = event.time;
  switch (event.tag) {
    case kJoins:
      add_node(now, true);
      return queue_.push(now + churn_.exponential(1 / scenario_.churn.joins), 0, kJoins);
    case kLeaves:
      if (clocks().size() > 0) {
        ++record_.result().departed;
        remove(clocks().live()[churn_.below(clocks().size())], now);
      }
      return queue_.push(now + churn_.exponential(1 / scenario_.churn.leaves), 0, kLeaves);
    case kCrashes: return crash(event.node, now);
    case kMissed:
      if (clocks().counted(event.node)) remove(event.node, now);
      return;
    case kReturns: add_node(now, true); return;
    default: return;
  }
}

// --- the run ---

Result<SimResult> PeerSimulation::run() {
  populate();
  for (uint64_t events = 0;; ++events) {
    const double next = queue_.next_time();
    if (!(next <= scenario_.seconds)) {
      if (std::isinf(next) && clocks().size() > 0)
        return record_.deadlock(now_, "no node works, no message is in flight and no re-check is due");
      break;
    }
    record_.record_progress(next);
    now_ = next;
    const SimEvent event = queue_.pop();
    event.tag < kOthers ? handle(event) : handle_membership(event);
    AH_TRY(failure_);
    if (watch_ != nullptr && events % SimWatch::kEvery == 0) AH_TRY(watch_->poll(next));
  }
  if (clocks().size() > 0) now_ = scenario_.seconds;
  record_.record_progress(scenario_.seconds);
  return record_.finish(now_);
}

Result<SimResult> simulate_peers(const Scenario& scenario, PeerRule& rule, SimWatch* watch) {
  if (scenario.replay != nullptr) {
    return Error{Code::unsupported, "topology peers cannot run a replay: its trace holds no messages between peers"};
  }
  const bool sampled = !rule.blind() && rule.beta() != NativeRule::kAll;
  if (sampled && rule.resample().kind == Resample::Kind::event) {
    return Error{Code::unsupported,
                 "topology peers cannot resample at each event, since no peer observes all events: resample with "
                 "poll:SECONDS or sticky"};
  }
  return PeerSimulation(scenario, rule, watch).run();
}

}  // namespace actorhost
