#pragma once
// Decides which processes are a majority of a run, so that of two sides of a cut network at most one goes on. A worker
// counts with its process; a worker that has left, or whose process is known to be dead, does not count.
//
// A coordinator proposes each new membership table and commits it once a majority of the table before has accepted it
// (as a Paxos acceptor accepts a value). A process that has accepted a table cannot know whether it was committed. So a
// process keeps the newest table that it knows to be committed and each later table that may be committed, and a new
// coordinator needs a majority of every one of them. Two majorities of one table share a process, and a process follows
// one coordinator at a time.
//
// Passive. One thread at a time.

#include <functional>
#include <set>
#include <vector>

#include "host/cluster/membership.hpp"

namespace actorhost {

/// Seconds for which the confirmation of a process holds, from the sending of the beat that it confirms. A process
/// follows another coordinator no sooner than DetectorTimes::dead after the last beat, which is longer.
inline constexpr double kCoordinatorLease = 1.75;

class Quorum {
 public:
  using Present = std::function<bool(ProcessId)>;

  /// `table` is committed: it replaces all others.
  void commit(MembershipPtr table);
  /// This process accepts `table`, which may be committed without its hearing of it. It replaces an earlier proposal.
  void accept(MembershipPtr table);
  /// Takes over what another process knows: its committed table first, then those that may be committed.
  void merge(const std::vector<Membership>& tables);
  /// The process is dead, and was in the majority until then: its workers no longer count.
  void exclude(ProcessId process) { dead_.insert(process); }
  bool excludes(ProcessId process) const { return dead_.contains(process); }

  /// Whether the present processes have more than half of the counted workers of each table.
  bool majority(const Present& present) const;
  /// Workers of the newest table that count, and how many of them are present.
  struct Count {
    size_t counted = 0;
    size_t present = 0;
  };
  Count count(const Present& present) const { return count_in(*tables_.back(), present); }

  /// The table of the highest epoch, nullptr before the first.
  MembershipPtr newest() const { return tables_.empty() ? nullptr : tables_.back(); }
  /// The processes of all tables.
  std::vector<ProcessInfo> processes() const;
  /// Processes of the newest table that another table, which may be committed, has dropped.
  std::set<ProcessId> dropped() const;
  /// As `merge` takes them.
  std::vector<Membership> tables() const;

 private:
  Count count_in(const Membership& table, const Present& present) const;

  std::vector<MembershipPtr> tables_;  // the committed one, then those that may be committed, by rising epoch
  std::set<ProcessId> dead_;
};

}  // namespace actorhost
