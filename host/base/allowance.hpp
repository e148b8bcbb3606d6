#pragma once
// The cores and the memory that this process may use: the machine's cores and memory, reduced by the affinity mask
// (taskset, cpusets) and the control groups (versions 1 and 2). A group's limit applies to all groups below it, so
// every visible group from the process's own up to the top counts. Free functions, any thread; they read files of /proc
// and /sys.

#include <cstdint>
#include <filesystem>
#include <string>

namespace actorhost {

struct Allowance {
  uint32_t machine_cores = 1;
  uint32_t cores = 1;       // usable, at least 1; a grant of 1.5 cores counts as 2
  std::string cores_limit;  // the limit that reduces them, such as "the affinity mask"; empty without a limit
  uint64_t machine_memory = 0;
  uint64_t memory = 0;       // bytes
  std::string memory_limit;  // as cores_limit: "/sys/fs/cgroup/job/memory.max"

  /// Lowers `cores` to `most`, at least 1; `limit` names the source of the limit.
  void limit_cores(uint32_t most, const std::string& limit);
};

/// The values that the kernel reports without files.
struct MachineSize {
  uint32_t cores = 1;    // online
  uint32_t allowed = 1;  // online cores in the affinity mask
  uint64_t memory = 0;
};

/// `root` is "/", or a folder with the files that a process reads there: proc/self/cgroup, proc/self/mountinfo and the
/// mount points of control groups.
Allowance allowance_of(const MachineSize& machine, const std::filesystem::path& root);

/// The current allowance of this process.
Allowance own_allowance();

}  // namespace actorhost
