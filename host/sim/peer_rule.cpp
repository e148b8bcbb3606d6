#include "host/sim/peer_rule.hpp"

#include <algorithm>
#include <cassert>

namespace actorhost {

namespace {

class NativePeerRule final : public PeerRule {
 public:
  explicit NativePeerRule(const NativeRule& rule)
      : PeerRule(rule.staleness == NativeRule::kFree ? NativeRule::kAll : rule.beta, rule.resample),
        staleness_(rule.staleness) {}
  bool blind() const override { return staleness_ == NativeRule::kFree; }
  Status decide(const PeerView& view, Decision& out) override {
    const int64_t needed = int64_t{view.self.step} - staleness_;
    out.pass = blind() || (beta() == NativeRule::kAll
                               ? view.lowest >= needed
                               : std::all_of(view.seen.begin(), view.seen.end(),
                                             [needed](const PeerState& peer) { return peer.step >= needed; }));
    return {};
  }

 private:
  int32_t staleness_;
};

/// Shows a BarrierRule only the clocks of nodes that the asker has heard of.
class PartlyAskedRule final : public PeerRule {
 public:
  PartlyAskedRule(BarrierRule& rule, uint32_t beta, Resample resample) : PeerRule(beta, resample), rule_(rule) {}
  /// Only re-check times can change what it answers.
  bool blind() const override { return beta() == NativeRule::kAll && rule_.watch() == Watch::timer; }
  Status decide(const PeerView& view, Decision& out) override;

 private:
  void show(const PeerState& peer);

  BarrierRule& rule_;
  Progress heard_;
  std::vector<Slot> slots_;  // of those seen
  uint64_t looks_ = 0;
};

void PartlyAskedRule::show(const PeerState& peer) {
  [[maybe_unused]] const Status added = heard_.add(peer.id, peer);
  assert(added.ok());  // ids of Clocks, and steps of one run
}

Status PartlyAskedRule::decide(const PeerView& view, Decision& out) {
  while (heard_.size() > 0) heard_.remove(heard_.ids()[heard_.size() - 1]);
  PartialSight sight;
  sight.population = view.population;
  sight.aggregates = beta() == NativeRule::kAll;
  for (const PeerState& peer : view.seen) show(peer);
  Seen& seen = sight.seen;
  if (sight.aggregates) {
    seen.lowest = view.lowest;
  } else if (heard_.size() > 0) {
    seen.lowest = heard_.min();
    seen.highest = heard_.max();
  }
  // The asker's own clock is shown too, unless it is among them already.
  if (heard_.slot(view.self.id) == kNoSlot) show(view.self);
  heard_.ask(view.self.id, view.asked);
  slots_.clear();
  for (const PeerState& peer : view.seen) slots_.push_back(heard_.slot(peer.id));
  seen.slots = slots_.data();
  seen.n = static_cast<uint32_t>(slots_.size());
  seen.version = ++looks_;
  return rule_.decide_partly(heard_, heard_.slot(view.self.id), sight, view.now, out);
}

}  // namespace

std::unique_ptr<PeerRule> make_peer_rule(const NativeRule& rule) { return std::make_unique<NativePeerRule>(rule); }

std::unique_ptr<PeerRule> make_peer_rule(BarrierRule& rule, uint32_t beta, Resample resample) {
  return std::make_unique<PartlyAskedRule>(rule, beta, resample);
}

}  // namespace actorhost
