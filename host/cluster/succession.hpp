#pragma once
// Finds the candidate after a coordinator has failed: the lowest live process. Each process attaches to the processes
// of the last table one after the other, so all processes that reach each other choose the same candidate. The
// candidate takes over once a majority has attached (election.hpp, quorum.hpp). A passive state machine on the
// service thread, without sockets.

#include <set>

#include "host/base/non_copyable.hpp"
#include "host/cluster/membership.hpp"

namespace actorhost {

class SuccessionOutput : public Interface {
 public:
  /// Attaches to a process, which may become the coordinator. False: no route to it.
  virtual bool attach_to(ProcessId process) = 0;
  /// This process is a candidate: it takes over if a majority attaches.
  virtual void become_candidate() = 0;
};

class Succession {
 public:
  /// Skips a process without a reply after `patience` seconds.
  Succession(SuccessionOutput& output, double patience) : output_(output), patience_(patience) {}

  /// The coordinator `lost` has failed. `self` is in the table.
  void begin(ProcessId self, MembershipPtr table, ProcessId lost, double now);
  /// A process has failed, or will not be the coordinator.
  void failed(ProcessId process, double now);
  /// There is a coordinator again.
  void found() { candidate_ = kNoProcess; }
  /// The lost coordinator sends again, and the run continues with it.
  void recovered() {
    candidate_ = kNoProcess;
    lost_.clear();
  }
  /// The candidate is alive; its reply may take longer.
  void wait_longer(double now) { deadline_ = now + patience_; }
  void tick(double now);

  bool going_on() const noexcept { return candidate_ != kNoProcess; }
  /// The current candidate.
  ProcessId candidate() const noexcept { return candidate_; }
  /// All failed processes, also those of earlier elections.
  const std::set<ProcessId>& lost() const noexcept { return lost_; }

 private:
  void attach_to_next(double now);
  ProcessId next() const;

  SuccessionOutput& output_;
  const double patience_;
  ProcessId self_ = kNoProcess;
  MembershipPtr table_;
  std::set<ProcessId> lost_;
  ProcessId candidate_ = kNoProcess;
  double deadline_ = 0;
};

}  // namespace actorhost
