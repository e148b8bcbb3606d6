#pragma once
// The faults of a rehearsal, at given times or at random times that depend on the seed: killed and stalled hosts,
// partitions, broken connections, failing disks. Each fault is a line on standard error.

#include <string>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/random.hpp"
#include "host/base/tasks.hpp"
#include "host/rehearsal/fault_settings.hpp"
#include "host/rehearsal/hosts.hpp"
#include "host/rehearsal/memory_network.hpp"
#include "host/rehearsal/scheduler.hpp"
#include "host/rehearsal/simulated_disk.hpp"

namespace actorhost::rehearsal {

class Faults : private NonCopyable {
 public:
  /// Starts the task of the faults, which begin before `end`. At least one host stays alive. The random faults do not
  /// change the order of other events.
  Faults(const FaultSettings& settings, Time end, Scheduler& scheduler, MemoryNetwork& network, SimulatedDisk& disk,
         Hosts& hosts);
  /// Ends the faults.
  ~Faults();

  /// The faults so far.
  const std::vector<Fault>& made() const noexcept { return made_; }

 private:
  std::vector<Fault> plan(const FaultSettings& settings, Time end);
  void serve();
  void choose_hosts(Fault& fault);
  bool make(const Fault& fault);

  Scheduler& scheduler_;
  MemoryNetwork& network_;
  SimulatedDisk& disk_;
  Hosts& hosts_;
  Rng random_;
  std::vector<Fault> plan_;  // in the order of time
  std::vector<Fault> made_;
  bool ending_ = false;
  Task task_;
};

}  // namespace actorhost::rehearsal
