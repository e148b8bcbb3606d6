#include "host/engine/peer/peer_gate.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kEmptyAgain = 0.02;  // seconds until the next draw after an empty reply

}  // namespace

void PeerGate::begin(RunId run, uint64_t step) {
  run_ = run;
  first_ = step;
  const NodeId id = self_.id;
  self_ = {};
  self_.id = id;
  self_.step = static_cast<int32_t>(step);
  waiting_ = false;
  sample_.clear();
  counts_ = {};
}

void PeerGate::set_rule(BarrierRule& rule, const Sampling& sampling) {
  rule_ = &rule;
  sampling_ = sampling;
  sampling_.resample.seconds = std::max(sampling.resample.seconds, Waiting::kMinRecheck);
  if (waiting_) restart();
}

void PeerGate::start(double now) {
  self_.busy = true;
  self_.started = now;
}

void PeerGate::complete(double now) {
  self_.busy = false;
  ++self_.step;
  self_.duration = now - self_.started;
  self_.average = Progress::averaged(self_.average, self_.duration);
}

void PeerGate::request_pass(double now) {
  waiting_ = true;
  requested_ = now;
  if (sampling_.sampled && step() == first_) return pass();  // as in the simulator, samples are for completed steps
  restart();
}

// Starts the decision again, as after a completed step.
void PeerGate::restart() {
  recheck_ = kForever;
  draws_again_ = kForever;
  due_ = !sampling_.sampled;
  if (!sample_.empty() && sticky()) unwatch_ = true;
  sample_.clear();
  to_watch_.clear();
  missing_ = 0;
  drawing_.reset();
  if (sampling_.sampled) draw();
}

void PeerGate::draw() {
  if (sampling_.beta == 0) {
    due_ = true;
    return;
  }
  drawing_ = static_cast<uint32_t>(++counts_.draws);
  to_draw_ = {*drawing_, sampling_.beta};
}

void PeerGate::pass() {
  waiting_ = false;
  drawing_.reset();
  to_draw_.reset();
  to_watch_.clear();
  if (sticky() && !sample_.empty()) unwatch_ = true;
}

// Validates a peer's state: its step must be possible in this run.
std::optional<PeerState> PeerGate::read(NodeId node, const std::string& state) const {
  const auto pace = unpack<PeerPace>(state);
  if (!pace.ok() || !pace->is_valid() || node > Progress::kMaxId) return std::nullopt;
  const auto step = static_cast<int64_t>(completed(pace->mark));
  if (!takes_part(pace->mark, run_) || std::abs(step - self_.step) >= Progress::kMaxSpread / 2) return std::nullopt;
  PeerState out;
  out.id = node;
  out.step = static_cast<int32_t>(step);
  out.busy = pace->busy;
  out.started = pace->started;
  out.duration = pace->duration;
  out.average = pace->average;
  return out;
}

void PeerGate::learn(Mark least, uint32_t population) {
  population_ = std::max(population, 1U);
  if (least == least_) return;
  least_ = least;
  if (!sampling_.sampled) due_ = true;
}

void PeerGate::drawn(uint32_t number, const std::vector<Sampled>& sample, double now) {
  if (!waiting_ || drawing_ != number) return;
  drawing_.reset();
  if (sample.empty()) {  // not even this node has replied
    draws_again_ = now + kEmptyAgain;
    return;
  }
  if (missing_ == 0) sample_.clear();
  std::vector<Peer> watch;
  for (const Sampled& one : sample) {
    const NodeId node = one.peer.node;
    if (sample_.size() == sampling_.beta) break;
    if (std::any_of(sample_.begin(), sample_.end(), [&](const Member& m) { return m.node == node; })) continue;
    sample_.push_back({node, node == self_.id ? self_ : read(node, one.state)});
    watch.push_back(one.peer);
  }
  missing_ = 0;
  due_ = true;
  if (sticky()) {
    to_watch_ = std::move(watch);
  } else {
    draws_again_ = now + sampling_.resample.seconds;
  }
}

void PeerGate::update_peer(NodeId peer, const std::optional<std::string>& state) {
  const auto member = std::find_if(sample_.begin(), sample_.end(), [&](const Member& m) { return m.node == peer; });
  if (!waiting_ || member == sample_.end()) return;
  if (state) {
    member->state = read(peer, *state);
    due_ = true;
    return;
  }
  sample_.erase(member);
  ++missing_;
  if (!drawing_) draw();
}

Status PeerGate::poll(double now) {
  if (!waiting_) return {};
  if (draws_again_ <= now && !drawing_) {
    draws_again_ = kForever;
    draw();
  }
  if (drawing_ || (!due_ && now < recheck_)) return {};
  due_ = false;
  std::vector<PeerState> seen;
  for (const Member& member : sample_) {
    if (member.state) seen.push_back(*member.state);
  }
  const uint64_t lowest = takes_part(least_, run_) ? completed(least_) : 0;
  const auto at_least = static_cast<int32_t>(std::min(lowest, step()));
  ++counts_.decisions;
  Decision decision;
  AH_TRY(
      evaluator_.evaluate(*rule_, sampling_.sampled, {self_, requested_, now, population_, seen, at_least}, decision));
  if (decision.pass) {
    pass();
    return {};
  }
  ++counts_.refusals;
  recheck_ = now + std::max(decision.recheck_seconds, Waiting::kMinRecheck);
  return {};
}

std::vector<NodeId> PeerGate::sampled_behind() const {
  std::vector<NodeId> behind;
  std::vector<NodeId> busy;
  const int ahead = std::max(rule_->staleness(), 0);
  for (const Member& member : sample_) {
    if (!member.state || member.node == self_.id) continue;
    if (member.state->busy) busy.push_back(member.node);
    if (member.state->step + ahead < self_.step) behind.push_back(member.node);
  }
  return behind.empty() ? busy : behind;
}

double PeerGate::next_time() const noexcept {
  if (!waiting_) return kForever;
  return drawing_ ? kForever : std::min(recheck_, draws_again_);
}

}  // namespace actorhost
