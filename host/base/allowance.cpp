#include "host/base/allowance.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace actorhost {

namespace {

namespace fs = std::filesystem;

// A mounted hierarchy of control groups.
struct CgroupMount {
  std::string root;   // the group at the mount point
  std::string point;  // the mount point
  bool unified = false;
  std::string controllers;  // version 1: mount options such as "rw,cpu,cpuacct"
};

bool has_word(std::string_view list, std::string_view word) {
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    if (list.substr(at, comma - at) == word) return true;
    at = comma + 1;
  }
  return false;
}

/// The text of a field of mountinfo, where "\040" is a blank.
std::string unescaped(std::string_view field) {
  std::string out;
  for (size_t at = 0; at < field.size(); ++at) {
    uint32_t byte = 0;
    const char* const digits = field.data() + at + 1;
    if (field[at] == '\\' && at + 3 < field.size() && std::from_chars(digits, digits + 3, byte, 8).ptr == digits + 3) {
      out += static_cast<char>(byte);
      at += 3;
    } else {
      out += field[at];
    }
  }
  return out;
}

/// Reads mountinfo: "ID PARENT DEVICE ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS" a line.
std::vector<CgroupMount> read_mounts(const fs::path& root) {
  std::vector<CgroupMount> mounts;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, device, group, point, word, type, source, options;
    words >> id >> parent >> device >> group >> point;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    if (type != "cgroup" && type != "cgroup2") continue;
    mounts.push_back({unescaped(group), unescaped(point), type == "cgroup2", options});
  }
  return mounts;
}

/// The path of this process's group in the hierarchy, from /proc/self/cgroup: "0::PATH" for version 2,
/// "N:CONTROLLERS:PATH" for version 1.
std::optional<std::string> own_group(const fs::path& root, bool unified, std::string_view controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : has_word(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The path of `group` relative to `mounted`, the group at the mount point. Empty where `group` is not below `mounted`,
/// as in a cgroup namespace that hides the parent groups.
std::string below(const std::string& group, const std::string& mounted) {
  if (mounted == "/") return group.starts_with("/..") ? "" : group.substr(std::min<size_t>(1, group.size()));
  if (!group.starts_with(mounted)) return "";
  const std::string rest = group.substr(mounted.size());
  return rest.starts_with('/') ? rest.substr(1) : "";
}

/// The folders of the groups of this process under `controller`, the process's own group first.
std::vector<fs::path> group_folders(const fs::path& root, bool unified, std::string_view controller) {
  std::vector<fs::path> folders;
  const auto group = own_group(root, unified, controller);
  if (!group) return folders;
  for (const CgroupMount& mount : read_mounts(root)) {
    if (mount.unified != unified || (!unified && !has_word(mount.controllers, controller))) continue;
    const fs::path top = fs::path(mount.point);
    fs::path at = top / below(*group, mount.root);
    std::error_code missing;
    if (!fs::is_directory(root / at.relative_path(), missing)) at = top;
    for (; at != top && at.has_relative_path(); at = at.parent_path()) folders.push_back(at);
    folders.push_back(top);
  }
  return folders;
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size() || *end == ' ';
  return failed == std::errc{} && whole ? std::optional(number) : std::nullopt;
}

// Lowers an allowance to the limits of the control groups.
class Reader {
 public:
  Reader(const fs::path& root, Allowance& out) : root_(root), out_(out) {}

  void read() {
    for (const fs::path& folder : group_folders(root_, true, "")) {
      const std::string quota = line_of(folder / "cpu.max");  // "QUOTA PERIOD" or "max PERIOD"
      const size_t blank = std::min(quota.find(' '), quota.size());
      grant_cores(quota.substr(0, blank), quota.substr(std::min(blank + 1, quota.size())), folder / "cpu.max");
      for (const char* name : {"memory.max", "memory.high"}) grant_memory(line_of(folder / name), folder / name);
    }
    for (const fs::path& folder : group_folders(root_, false, "cpu")) {
      grant_cores(line_of(folder / "cpu.cfs_quota_us"), line_of(folder / "cpu.cfs_period_us"),
                  folder / "cpu.cfs_quota_us");
    }
    for (const fs::path& folder : group_folders(root_, false, "memory")) {
      grant_memory(line_of(folder / "memory.limit_in_bytes"), folder / "memory.limit_in_bytes");
      // This value includes the limits of parent groups, which a container cannot see.
      std::ifstream file(root_ / (folder / "memory.stat").relative_path());
      for (std::string name, value; file >> name >> value;) {
        if (name == "hierarchical_memory_limit") grant_memory(value, folder / "memory.stat");
      }
    }
  }

 private:
  std::string line_of(const fs::path& file) const {
    std::string line;
    std::ifstream stream(root_ / file.relative_path());
    std::getline(stream, line);
    return line;
  }

  void grant_cores(const std::string& quota, const std::string& period, const fs::path& file) {
    const auto granted = number_in<int64_t>(quota);
    const auto of = number_in<int64_t>(period.empty() ? "100000" : period);
    if (!granted || !of || *granted <= 0 || *of <= 0) return;
    const int64_t cores = *granted / *of + (*granted % *of != 0 ? 1 : 0);
    char exact[64];
    std::snprintf(exact, sizeof exact, " grants %.3g", static_cast<double>(*granted) / static_cast<double>(*of));
    out_.limit_cores(static_cast<uint32_t>(std::min<int64_t>(cores, UINT32_MAX)), file.string() + exact);
  }

  void grant_memory(const std::string& text, const fs::path& file) {
    const auto bytes = number_in<uint64_t>(text);
    if (!bytes || *bytes >= out_.memory) return;
    out_.memory = *bytes;
    out_.memory_limit = file.string();
  }

  const fs::path& root_;
  Allowance& out_;
};

uint32_t cores_in_mask() {
  for (size_t cores = 1024; cores <= size_t{1} << 20; cores *= 2) {
    cpu_set_t* const mask = CPU_ALLOC(cores);
    if (mask == nullptr) return 0;
    const size_t bytes = CPU_ALLOC_SIZE(cores);
    const bool succeeded = sched_getaffinity(0, bytes, mask) == 0;
    const int count = succeeded ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (succeeded) return static_cast<uint32_t>(count);
  }
  return 0;
}

}  // namespace

void Allowance::limit_cores(uint32_t most, const std::string& limit) {
  if (most >= cores) return;
  cores = std::max(1U, most);
  cores_limit = limit;
}

Allowance allowance_of(const MachineSize& machine, const fs::path& root) {
  Allowance out;
  out.machine_cores = out.cores = std::max(1U, machine.cores);
  out.machine_memory = out.memory = machine.memory;
  if (machine.allowed > 0) out.limit_cores(machine.allowed, "the affinity mask");
  Reader(root, out).read();
  return out;
}

Allowance own_allowance() {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const auto pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  return allowance_of({static_cast<uint32_t>(std::max(1L, cores)), cores_in_mask(),
                       pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE))},
                      "/");
}

}  // namespace actorhost
