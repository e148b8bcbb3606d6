#pragma once
// A node's own clock in the aggregation tree. Passive; the tree owns it.
//
//   phase      becomes    when
//   absent     starting   the node sets a clock
//   starting   limiting   the root has counted the node: the clock is raised to the minimum of the others
//   any        absent     the node withdraws its clock
//
// A starting node participates without limiting the minimum. A limiting node is included once a report with its clock
// is settled.

#include <algorithm>
#include <optional>

#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

class TreeClock {
 public:
  bool present() const noexcept { return clock_.has_value(); }
  bool starting() const noexcept { return clock_ && !limits_; }
  bool limiting() const noexcept { return clock_ && limits_; }
  /// The first report of this node that includes the clock as it is now.
  uint64_t since() const noexcept { return since_; }

  /// As Overlay::set_clock. `report`: number of the next report.
  void set(std::optional<uint64_t> clock, uint64_t sum, uint64_t report) noexcept {
    if (clock && clock_) clock = std::max(*clock, *clock_);
    if (clock && !clock_) {
      limits_ = false;
      since_ = report;
    }
    clock_ = clock;
    sum_ = sum;
  }
  void set_voters(bool votes, uint64_t all) noexcept {
    votes_ = votes;
    voters_ = all;
  }
  void restart(uint64_t report) noexcept { since_ = report; }
  void limit(uint64_t report) noexcept {
    limits_ = true;
    since_ = report;
  }
  void raise(uint64_t least) noexcept { clock_ = std::max(*clock_, least); }

  void add_to(TreeTotal& total, NodeId self) const {
    total.sum += sum_;
    if (limiting()) {
      total.learn(*clock_, self);
      ++total.count;
    }
    if (present() && votes_) total.voters += node_hash(self);
  }
  /// Whether exactly the voters participate in this total. Always true without a membership table.
  bool complete(const TreeTotal& total) const noexcept { return !voters_ || total.voters == *voters_; }

 private:
  std::optional<uint64_t> clock_;
  uint64_t sum_ = 0;
  bool limits_ = false;
  uint64_t since_ = 0;
  bool votes_ = false;
  std::optional<uint64_t> voters_;  // as in TreeTotal; nullopt without a membership table
};

}  // namespace actorhost
