#pragma once
// Which faults a rehearsal has: the value of --faults.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/rehearsal/virtual_time.hpp"

namespace actorhost::rehearsal {

enum class FaultKind : uint8_t { kill, crash, join, stall, partition, one_way, broken, disk_full, disk_error };

struct Fault {
  Time at = 0;  // since the start
  FaultKind kind = FaultKind::kill;
  Time lasts = 5 * kSecond;
  /// The hosts of one part of a partition, the two ends of a broken connection, or the host with another fault. Empty:
  /// random ones. Not used for a host that joins.
  std::vector<uint32_t> hosts = {};
};

struct FaultSettings {
  struct Each {
    FaultKind kind;
    uint32_t count = 0;     // of faults, or
    double per_second = 0;  // their mean number
    Time lasts = 5 * kSecond;
  };
  std::vector<Each> kinds;
  std::vector<Fault> at_times;       // beside the random faults
  std::optional<Time> restart = {};  // from a kill until the host starts again
  /// Random faults begin in this time after `after`: by default a number of faults in 10 s, a rate of faults at any
  /// time.
  std::optional<Time> within = {};
  Time after = 0;

  /// Whether hosts start during the run, which then has to be elastic.
  bool adds_hosts() const;
  /// "kill=1/min,restart=5s,stall=2:500ms,partition=1/10s:3s,break=4,after=1s,within=20s". A number is a count, N/TIME
  /// a mean rate, and what follows a colon the duration (5s). Times end with us, ms, s or min. Code::bad_argument.
  static Result<FaultSettings> parse(const std::string& text);
  /// Adds a fault of a file: its time and duration in seconds; no duration for kinds without one. Code::bad_argument.
  Status add(double at, const std::string& kind, std::vector<uint32_t> hosts, std::optional<double> lasts);
};

/// The fault as a line of Lua in a file for --faults: `world:at(0.5, "stall", 1, 2)`.
std::string line_of(const Fault& fault);
/// The file for --faults.
std::string file_of(const std::vector<Fault>& faults, std::optional<Time> restart);

}  // namespace actorhost::rehearsal
