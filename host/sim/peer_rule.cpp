#include "host/sim/peer_rule.hpp"

#include <algorithm>

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

class PartialViewRule final : public PeerRule {
 public:
  PartialViewRule(BarrierRule& rule, uint32_t beta, Resample resample) : PeerRule(beta, resample), rule_(rule) {}
  /// The rule's decisions depend on re-check times only.
  bool blind() const override { return beta() == NativeRule::kAll && rule_.watch() == Watch::timer; }
  Status decide(const PeerView& view, Decision& out) override {
    return evaluator_.evaluate(rule_, beta() != NativeRule::kAll, view, out);
  }

 private:
  BarrierRule& rule_;
  PeerRuleEvaluator evaluator_;
};

}  // namespace

std::unique_ptr<PeerRule> make_peer_rule(const NativeRule& rule) { return std::make_unique<NativePeerRule>(rule); }

std::unique_ptr<PeerRule> make_peer_rule(BarrierRule& rule, uint32_t beta, Resample resample) {
  return std::make_unique<PartialViewRule>(rule, beta, resample);
}

}  // namespace actorhost
