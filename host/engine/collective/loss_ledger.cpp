#include "host/engine/collective/loss_ledger.hpp"

#include <algorithm>
#include <utility>

#include "host/engine/collective/collective_messages.hpp"

namespace actorhost {

namespace {

bool among(const std::vector<NodeId>& ids, NodeId id) { return std::binary_search(ids.begin(), ids.end(), id); }

}  // namespace

std::string lost_between(const std::vector<NodeId>& before, const std::vector<NodeId>& now) {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < before.size(); ++rank) {
    if (!among(now, before[rank])) ranks.push_back(rank);
  }
  return ranks.empty() ? "the membership has changed" : ranks_text(ranks) + " lost";
}

std::string LossLedger::unreported_loss(const std::vector<NodeId>& now, uint32_t actions) const {
  if (last_.empty() || last_ == now || actions_ != actions) return {};
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < last_.size(); ++rank) {
    if (!among(now, last_[rank]) && !reported_.contains(last_[rank])) ranks.push_back(rank);
  }
  return ranks.empty() ? std::string() : ranks_text(ranks) + " lost";
}

LossLedger::Entry LossLedger::enter(const std::vector<NodeId>& now, uint32_t actions, bool placed) {
  Entry entry{unreported_loss(now, actions), {}};
  const std::vector<NodeId> made_for = std::exchange(placed_, {});
  if (entry.unreported_loss.empty() && placed && !made_for.empty() && made_for != now)
    entry.unreported_loss = lost_between(made_for, now);
  if (last_ != now) entry.before = std::exchange(last_, now);
  actions_ = actions;
  reported_.clear();
  return entry;
}

}  // namespace actorhost
