#pragma once
// How many cores and how much memory this process may use: those of the machine, less what the affinity mask (taskset,
// cpusets) and the control groups leave. A group's limit holds for all groups below it, so each group from the
// process's own up to the highest visible one counts. Versions 1 and 2 of control groups. Free functions, any thread;
// they read files of /proc and /sys.

#include <cstdint>
#include <filesystem>
#include <string>

namespace actorhost {

struct Allowance {
  uint32_t machine_cores = 1;
  uint32_t cores = 1;       // usable, at least 1; a grant of 1.5 cores counts as 2
  std::string cores_limit;  // what makes them fewer than the machine's: "the affinity mask"; empty: nothing does
  uint64_t machine_memory = 0;
  uint64_t memory = 0;       // bytes
  std::string memory_limit;  // as cores_limit: "/sys/fs/cgroup/job/memory.max"

  /// Lowers `cores` to `most`, which is at least 1; `limit` says what grants so many.
  void limit_cores(uint32_t most, const std::string& limit);
};

/// What the kernel tells without files.
struct MachineSize {
  uint32_t cores = 1;    // online
  uint32_t allowed = 1;  // of them in the affinity mask
  uint64_t memory = 0;
};

/// `root` is "/", or a folder that holds what a process reads there: proc/self/cgroup, proc/self/mountinfo and the
/// mount points of control groups.
Allowance allowance_of(const MachineSize& machine, const std::filesystem::path& root);

/// This process's, as of now.
Allowance own_allowance();

}  // namespace actorhost
