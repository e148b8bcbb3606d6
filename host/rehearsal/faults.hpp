#pragma once
// The faults of a rehearsal at random times that depend on the seed: killed and stalled hosts, partitions, broken
// connections. Each fault is a line on standard error.

#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/rehearsal/fault_settings.hpp"
#include "host/rehearsal/hosts.hpp"
#include "host/rehearsal/memory_network.hpp"
#include "host/rehearsal/scheduler.hpp"

namespace actorhost::rehearsal {

class Faults : private NonCopyable {
 public:
  /// Starts the task of the faults. At least one host stays alive.
  Faults(const FaultSettings& settings, Scheduler& scheduler, MemoryNetwork& network, Hosts& hosts);
  /// Ends the faults.
  ~Faults();

 private:
  struct Fault {
    Time at;
    FaultKind kind;
    Time lasts;
  };
  static std::vector<Fault> plan(const FaultSettings& settings, Scheduler& scheduler);
  void serve();
  void make(const Fault& fault);

  Scheduler& scheduler_;
  MemoryNetwork& network_;
  Hosts& hosts_;
  const std::vector<Fault> plan_;  // in the order of time
  bool ending_ = false;
  Task task_;
};

}  // namespace actorhost::rehearsal
