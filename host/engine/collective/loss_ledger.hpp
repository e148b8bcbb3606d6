#pragma once
// Records which losses of a group's members are already reported to a rank's script. The first call after a loss fails
// with the loss ("allreduce: rank 2 lost"), also the first call of all, whose arguments may depend on the number of
// ranks that the script has read. Two kinds of losses need no report: a loss that an asynchronous call has failed with,
// and a loss before an action, which shows scripts the new ranks. One object per rank and group; used by the rank's
// thread.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/collective/collective_messages.hpp"

namespace actorhost {

/// "ranks 0, 2 lost", by places among the members `before`. Both lists are in increasing order.
inline std::string lost_between(const std::vector<NodeId>& before, const std::vector<NodeId>& now) {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < before.size(); ++rank) {
    if (!std::binary_search(now.begin(), now.end(), before[rank])) ranks.push_back(rank);
  }
  return ranks.empty() ? "the membership has changed" : ranks_text(ranks) + " lost";
}

class LossLedger {
 public:
  /// The loss that the next call has to report, "rank 2 lost" (numbered as in the last call), or empty. `now` and
  /// `actions`: the members of the next call, and the number of actions before it.
  std::string unreported_loss(const std::vector<NodeId>& now, uint32_t actions) const {
    if (last_.empty() || last_ == now || actions_ != actions) return {};
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < last_.size(); ++rank) {
      const bool live = std::binary_search(now.begin(), now.end(), last_[rank]);
      if (!live && !reported_.contains(last_[rank])) ranks.push_back(rank);
    }
    return ranks.empty() ? std::string() : ranks_text(ranks) + " lost";
  }
  /// The members by the ranks that the script knows: a member with an unreported loss still has its rank.
  const std::vector<NodeId>& known(const std::vector<NodeId>& now, uint32_t actions) const {
    return unreported_loss(now, actions).empty() ? now : last_;
  }
  /// The script chooses the arguments of the next call for the members `now`.
  void place(std::vector<NodeId> now) { placed_ = std::move(now); }
  const std::vector<NodeId>& placed() const noexcept { return placed_; }

  struct Entry {
    std::string unreported_loss{};  // the loss that the call has to fail with
    std::vector<NodeId> before{};   // members of the last call, where they differ
  };
  /// The members `now` make or start a call. `placed`: its arguments were chosen for the members of `place`.
  Entry enter(const std::vector<NodeId>& now, uint32_t actions, bool placed) {
    Entry entry{unreported_loss(now, actions), {}};
    const std::vector<NodeId> made_for = std::exchange(placed_, {});
    if (entry.unreported_loss.empty() && placed && !made_for.empty() && made_for != now)
      entry.unreported_loss = lost_between(made_for, now);
    if (last_ != now) entry.before = std::exchange(last_, now);
    actions_ = actions;
    reported_.clear();
    return entry;
  }

  /// An asynchronous call has failed with the loss of these members.
  void mark_reported(const std::vector<NodeId>& lost) { reported_.insert(lost.begin(), lost.end()); }
  /// A call has failed and reported all losses so far: those of the members for which `lost` holds.
  template <typename Lost>
  void mark_all_reported(const Lost& lost) {
    std::erase_if(last_, lost);
  }
  /// The script knows the members `now` as the ranks of the group's next calls: the group is new, or late workers have
  /// joined.
  void admit(const std::vector<NodeId>& now, uint32_t actions) {
    last_ = now;
    actions_ = actions;
  }

 private:
  std::vector<NodeId> last_;    // members of the last call, or of `admit`, without the losses that it has reported
  uint32_t actions_ = 0;        // number of actions before the last call
  std::vector<NodeId> placed_;  // set by `place`, until the next call
  std::set<NodeId> reported_;   // losses that asynchronous calls have reported since the last call
};

}  // namespace actorhost
