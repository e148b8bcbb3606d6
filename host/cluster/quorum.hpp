#pragma once
// Decides which processes are a majority of a run, so that at most one side of a network partition continues. A worker
// counts with its process. A departed worker does not count, and neither does a worker of a dead process.
//
// A coordinator proposes each new membership table, and commits it once a majority of the previous table has accepted
// it (as a Paxos acceptor accepts a value). An acceptor of a table cannot know whether it was committed. So a process
// retains the newest table that it knows to be committed, and each later table that may be committed. A new coordinator
// needs a majority of every retained table. Two majorities of one table share a process, and a process follows one
// coordinator at a time.
//
// Passive; not thread-safe.

#include <functional>
#include <set>
#include <vector>

#include "host/cluster/membership.hpp"

namespace actorhost {

/// The duration of a process's confirmation in seconds, from the sending of the confirmed renewal. A process follows
/// another coordinator no sooner than DetectorTimes::dead after the last renewal, which is longer.
inline constexpr double kCoordinatorLease = 1.75;

class Quorum {
 public:
  using Present = std::function<bool(ProcessId)>;

  /// `table` is committed and replaces all others.
  void commit(MembershipPtr table);
  /// This process accepts `table`, which may be committed without its knowledge. It replaces an earlier proposal.
  void accept(MembershipPtr table);
  /// Adds another process's tables: its committed table first, then those that may be committed.
  void merge(const std::vector<Membership>& tables);
  /// The process is dead, and no majority without this process can have continued before it died: its workers no longer
  /// count.
  void exclude(ProcessId process) { dead_.insert(process); }
  bool excludes(ProcessId process) const { return dead_.contains(process); }

  /// Whether the present processes have more than half of the counted workers of each table.
  bool majority(const Present& present) const;
  /// Whether no table has a majority without the process. Then no other process can have continued without it.
  bool needs(ProcessId process) const;
  /// The counted workers of the newest table, and how many of them are present.
  struct Count {
    size_t counted = 0;
    size_t present = 0;
  };
  Count count(const Present& present) const { return count_in(*tables_.back(), present); }

  /// The table of the highest epoch, nullptr before the first.
  MembershipPtr newest() const { return tables_.empty() ? nullptr : tables_.back(); }
  /// The processes of all tables.
  std::vector<ProcessInfo> processes() const;
  /// Processes of the newest table that an earlier table, which may be committed, has dropped.
  std::set<ProcessId> dropped() const;
  /// In the order of `merge`.
  std::vector<Membership> tables() const;

 private:
  Count count_in(const Membership& table, const Present& present) const;

  std::vector<MembershipPtr> tables_;  // the committed one, then those that may be committed, by rising epoch
  std::set<ProcessId> dead_;
};

}  // namespace actorhost
