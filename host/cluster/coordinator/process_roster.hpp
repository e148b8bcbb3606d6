#pragma once
// The processes of a run, as its coordinator knows them: their links, their silence, and broken links between them.
// Names the failed processes; Coordinator owns it and drops them. Passive; not thread-safe.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/base/log.hpp"
#include "host/cluster/failure_detector.hpp"
#include "host/cluster/membership.hpp"
#include "host/net/link.hpp"

namespace actorhost {

class ProcessRoster {
 public:
  static constexpr LinkId kNoLink = ~LinkId{0};

  struct Process {
    ProcessInfo info;
    LinkId link = kNoLink;
    bool admitted = false;                   // all processes of its host have joined, and its workers have ids
    std::optional<double> awaited = {};      // set until the process has attached: when the wait began
    double suspected_at = -1;                // time of its last suspicion
    bool failed = false;                     // it has sent no heartbeat for too long
    std::optional<std::string> closed = {};  // its link has closed, for this reason
  };

  ProcessRoster(ProcessId self, const DetectorTimes& times, Log& log)
      : self_(self), times_(times), log_(log), detector_(times) {}

  /// Adds a process or replaces its entry. A process other than `self` has to send from `now` on.
  void add(Process process, double now);
  std::optional<Process> remove(ProcessId process);
  const std::map<ProcessId, Process>& all() const noexcept { return processes_; }
  /// nullptr for an unknown process.
  const Process* find(ProcessId process) const;
  Process* find_link(LinkId link);
  void admit(ProcessId process) { processes_.at(process).admitted = true; }
  /// A link to a process has opened; the process will attach later.
  void linked(ProcessId process, LinkId link);

  /// The other processes that follow this coordinator. `admitted`: without those of incomplete hosts.
  std::vector<ProcessId> followers(bool admitted) const;
  /// The admitted processes.
  std::vector<ProcessInfo> infos() const;
  /// Whether no other process is admitted.
  bool alone() const;

  void record_heartbeat(ProcessId process, double when) { detector_.record_heartbeat(process, when); }
  /// Links may recover one after the other: all processes have to send from `now` on.
  void watch_all(double now);
  /// Checks for silence. `late` is `checked_late` of FailureDetector::check. Without `in_charge` a silent process does
  /// not fail: the other side may be the one that continues. Returns the suspected processes if they have changed, else
  /// nullptr.
  const std::set<ProcessId>* tick(double now, double late, bool in_charge);
  /// Two processes, neither of them `self`, have no working link to each other: frames may have been lost.
  void report_broken(ProcessId process, ProcessId other, double now);

  struct Loss {
    ProcessId process;
    std::string reason;
    bool notify;  // the process may still be alive, so it receives the reason
  };
  /// A process that the coordinator has to drop: it is silent, its link has closed, it has not attached in time, or a
  /// link between it and another process is broken.
  std::optional<Loss> next_loss(double now) const;

 private:
  const ProcessId self_;
  const DetectorTimes times_;
  Log& log_;
  FailureDetector detector_;
  std::map<ProcessId, Process> processes_;
  std::set<ProcessId> suspected_;
  std::map<std::pair<ProcessId, ProcessId>, double> broken_;  // the lower number first; since when
};

}  // namespace actorhost
