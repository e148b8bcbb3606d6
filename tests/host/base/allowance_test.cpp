#include "host/base/allowance.hpp"

#include <sched.h>

#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

constexpr uint64_t kMebi = uint64_t{1} << 20;
const MachineSize kMachine{16, 16, 65536 * kMebi};

// A fake "/" with the given /proc/self/cgroup and /proc/self/mountinfo.
class FakeRoot : public actorhost::TempDir {
 public:
  FakeRoot(const std::string& groups, const std::string& mounts) {
    write("proc/self/cgroup", groups);
    write("proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" + mounts);
  }
  Allowance allowance(const MachineSize& machine = kMachine) const { return allowance_of(machine, path()); }
};

const std::string kUnified =
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:2 - cgroup2 cgroup2 rw,nsdelegate\n";

}  // namespace

TEST_CASE("without control groups only the affinity mask limits a process") {
  const FakeRoot root("", "");
  CHECK(root.allowance().cores == 16);
  CHECK(root.allowance().cores_limit.empty());
  CHECK(root.allowance().memory == kMachine.memory);
  CHECK(root.allowance().memory_limit.empty());
  const Allowance pinned = root.allowance({16, 3, kMebi});
  CHECK(pinned.cores == 3);
  CHECK(pinned.machine_cores == 16);
  CHECK(pinned.cores_limit == "the affinity mask");
  CHECK(root.allowance({0, 0, 0}).cores == 1);  // a kernel that reports nothing
}

TEST_CASE("a quota of version 2 is rounded up, and the smallest limit of all groups applies") {
  FakeRoot root("0::/pod/host\n", kUnified);
  root.write("sys/fs/cgroup/pod/host/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/pod/host/memory.max", "max\n");
  CHECK(root.allowance().cores == 16);
  root.write("sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
  root.write("sys/fs/cgroup/pod/memory.max", "419430400\n");
  CHECK(root.allowance().cores == 3);
  CHECK(root.allowance().cores_limit == "/sys/fs/cgroup/pod/cpu.max grants 2.5");
  CHECK(root.allowance().memory == 400 * kMebi);
  CHECK(root.allowance().memory_limit == "/sys/fs/cgroup/pod/memory.max");
  root.write("sys/fs/cgroup/pod/host/cpu.max", "10000 100000\n");
  root.write("sys/fs/cgroup/pod/host/memory.high", "209715200\n");
  CHECK(root.allowance().cores == 1);
  CHECK(root.allowance().memory == 200 * kMebi);
  CHECK(root.allowance().memory_limit == "/sys/fs/cgroup/pod/host/memory.high");
  CHECK(root.allowance({16, 16, 100 * kMebi}).memory == 100 * kMebi);  // the machine has less
}

TEST_CASE("limits of version 1 are found by controller") {
  FakeRoot root("4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/docker/abc\n",
                "31 22 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
                "32 22 0:28 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"
                "33 22 0:29 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,name=systemd\n");
  const std::string cpu = "sys/fs/cgroup/cpu,cpuacct/", memory = "sys/fs/cgroup/memory/";
  root.write(cpu + "docker/abc/cpu.cfs_quota_us", "-1\n");
  root.write(cpu + "docker/abc/cpu.cfs_period_us", "100000\n");
  root.write(memory + "docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(root.allowance().cores == 16);
  CHECK(root.allowance().memory == kMachine.memory);
  root.write(cpu + "docker/abc/cpu.cfs_quota_us", "20000\n");
  root.write(cpu + "docker/abc/cpu.cfs_period_us", "10000\n");
  root.write(memory + "docker/memory.limit_in_bytes", "1048576000\n");
  CHECK(root.allowance().cores == 2);
  CHECK(root.allowance().memory == 1000 * kMebi);
  root.write(memory + "docker/abc/memory.stat", "cache 7\nhierarchical_memory_limit 524288000\ntotal_cache 7\n");
  CHECK(root.allowance().memory == 500 * kMebi);
}

TEST_CASE("a group is searched below its mount point, and an unusable path falls back to the mount point") {
  const auto [group, mounted, folder] = GENERATE(table<std::string, std::string, std::string>({
      {"/", "/", ""},                                  // a separate namespace
      {"/kubepods/pod1/c2", "/kubepods/pod1/c2", ""},  // the container's group, mounted
      {"/kubepods/pod1/c2/inner", "/kubepods/pod1/c2", "inner/"},
      {"/kubepods/pod1/c2", "/kubepods", "pod1/c2/"},
      {"/kubepods/pod12", "/kubepods/pod1", ""},  // not below it, despite the same prefix
      {"/outer/box", "/", ""},                    // the path of another namespace
      {"/../sibling", "/", ""},                   // above the namespace's root
      {"/", "/../..", ""},                        // a mount of the namespace above
      {"/a:b/c", "/", "a:b/c/"},
  }));
  INFO(group << " in " << mounted);
  std::string at = "/mnt/my\\040groups";
  FakeRoot root("0::" + group + "\n", "30 22 0:26 " + mounted + " " + at + " rw - cgroup2 none rw\n");
  root.write("mnt/my groups/" + folder + "cpu.max", "100000 50000\n");
  root.write("mnt/my groups/" + folder + "memory.max", "1048576\n");
  CHECK(root.allowance().cores == 2);
  CHECK(root.allowance().memory == kMebi);
}

TEST_CASE("malformed control group files are ignored") {
  const std::string text = GENERATE(as<std::string>(), "", "max", "0 100000", "-5 100000", "5", "5 0", "5 x",
                                    "1e9 100000", "99999999999999999999 100000", "\n\n");
  INFO(text);
  FakeRoot root("0::/\nnonsense\n:\n", "30 22\n\n31 22 0:26 / /sys/fs/cgroup rw - cgroup2\n" + kUnified);
  root.write("sys/fs/cgroup/cpu.max", text);
  root.write("sys/fs/cgroup/memory.max", "-1\n");
  CHECK(root.allowance().cores == (text == "5" ? 1 : 16));  // the default period is 100 ms
  CHECK(root.allowance().memory == kMachine.memory);
}

TEST_CASE("the affinity mask of this process limits its cores") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  uint32_t cores = 0;
  std::thread pinned([&] {  // the mask of the calling thread
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &before) && CPU_COUNT(&one) == 0) CPU_SET(cpu, &one);
    }
    if (sched_setaffinity(0, sizeof one, &one) == 0) cores = own_allowance().cores;
  });
  pinned.join();
  CHECK(cores == 1);
  CHECK(own_allowance().memory > 0);
}
