#pragma once
// Which process stands for head of a run whose head is lost: the lowest one that lives. Each process finds it by asking
// the processes of the last table one after the other, so all that hear each other ask the same one. It becomes the
// head once a majority has asked it (cluster_succession.cpp, quorum.hpp). A state machine on the service thread: it
// owns no socket.

#include <set>

#include "host/cluster/membership.hpp"

namespace actorhost {

class SuccessionOutput {
 public:
  SuccessionOutput() = default;
  SuccessionOutput(const SuccessionOutput&) = delete;
  SuccessionOutput& operator=(const SuccessionOutput&) = delete;
  virtual ~SuccessionOutput() = default;

  /// Asks a process to be the head. False: there is no way to it.
  virtual bool ask(ProcessId process) = 0;
  /// It is this process's turn, if a majority follows it.
  virtual void stand() = 0;
};

class Succession {
 public:
  /// A process that has not answered after `patience` seconds is passed over.
  Succession(SuccessionOutput& output, double patience) : output_(output), patience_(patience) {}

  /// `lost`, the head, is gone. `self` is in the table.
  void begin(ProcessId self, MembershipPtr table, ProcessId lost, double now);
  /// A process is gone, or will not be the head.
  void failed(ProcessId process, double now);
  /// There is a head again.
  void found() { asked_ = kNoProcess; }
  /// The lost head is heard again, and the run goes on with it.
  void recovered() {
    asked_ = kNoProcess;
    lost_.clear();
  }
  /// The asked process lives; its answer may still take long.
  void wait_longer(double now) { deadline_ = now + patience_; }
  void tick(double now);

  bool going_on() const noexcept { return asked_ != kNoProcess; }
  /// The process that is asked.
  ProcessId asked() const noexcept { return asked_; }
  /// Who was found to be gone, also in earlier times.
  const std::set<ProcessId>& lost() const noexcept { return lost_; }

 private:
  void ask_next(double now);
  ProcessId next() const;

  SuccessionOutput& output_;
  const double patience_;
  ProcessId self_ = kNoProcess;
  MembershipPtr table_;
  std::set<ProcessId> lost_;
  ProcessId asked_ = kNoProcess;
  double deadline_ = 0;
};

}  // namespace actorhost
