#pragma once
// Which losses of a group's members a rank's script has been told of. The first call that is made or started after a
// loss fails with it ("allreduce: rank 2 lost"), but for losses that an asynchronous call has failed with before, and
// those before an action, by which a script knows of them anyway. One object a rank and group; its thread's own.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "host/wire/address.hpp"

namespace actorhost {

/// "ranks 0, 2 lost", by their places among the members `before`; both in increasing order.
std::string lost_between(const std::vector<NodeId>& before, const std::vector<NodeId>& now);

class LossLedger {
 public:
  /// "rank 2 lost", numbered as in the last call, if the next call has to fail with that; else empty. The next call is
  /// that of the members `now`, made after `actions` actions.
  std::string untold(const std::vector<NodeId>& now, uint32_t actions) const;
  /// The arguments of the next call are made for `now`.
  void place(std::vector<NodeId> now) { placed_ = std::move(now); }
  const std::vector<NodeId>& placed() const noexcept { return placed_; }

  struct Entry {
    std::string untold{};          // what the call has to fail with
    std::vector<NodeId> before{};  // where others made the last call: these
  };
  /// `now` make or start a call. `placed`: its arguments are made for those of `place`.
  Entry enter(const std::vector<NodeId>& now, uint32_t actions, bool placed);

  /// An asynchronous call has failed with the loss of these.
  void tell(const std::vector<NodeId>& lost) { told_.insert(lost.begin(), lost.end()); }
  /// A call has failed with all that was lost.
  void tell_all() { last_.clear(); }
  /// `now` make the group's calls from now on, since some have been let in.
  void let_in(const std::vector<NodeId>& now, uint32_t actions) {
    last_ = now;
    actions_ = actions;
  }

 private:
  std::vector<NodeId> last_;    // the members of the last call; empty: none, or one that told of a loss
  uint32_t actions_ = 0;        // entered when it was made
  std::vector<NodeId> placed_;  // by the last `place`, until a call is made
  std::set<NodeId> told_;       // since the last call, by asynchronous ones
};

}  // namespace actorhost
