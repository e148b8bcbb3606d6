#pragma once
// Gathers processes into hosts and decides when a run may start and with which worker ids. A host is a group: one
// process with its nodes as threads, or the processes of one `--isolate` host. Passive; times are arguments.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/membership.hpp"
#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

struct RendezvousConfig {
  uint32_t min_hosts = 1;
  uint32_t max_hosts = 1;
  double timeout = 60;  // seconds to gather min_hosts
  double grace = 0.5;   // seconds to wait for more than min_hosts, in an elastic run
};

/// "--barrier bsp (here: ssp:4)" for each flag with another value on a joining host; the coordinator's value applies.
std::string differing(const std::map<std::string, std::string>& here, const std::map<std::string, std::string>& there);

class Rendezvous {
 public:
  Rendezvous(RendezvousConfig config, double now) : config_(config), opened_(now) {}

  /// Adds a process. Code::refused with the reason if it cannot join (full, started and not elastic, place or node rank
  /// taken, no nodes).
  Status add(ProcessId process, const JoinMessage& join, double now);
  /// A process has left, before or after the start. If its host had not been admitted, returns the host's other
  /// processes: the host can no longer become complete, and its place is free again.
  std::vector<ProcessId> remove(ProcessId process);

  /// The run has started under another coordinator. Worker ids continue from `first`; `end` is the first invalid id.
  void resume(NodeId first, NodeId end);
  /// Adds a process that the other coordinator has admitted.
  void readmit(ProcessId process, const JoinMessage& join);

  struct Admission {
    std::vector<Member> workers;       // with new ids
    std::vector<ProcessId> processes;  // also those without workers
  };
  /// Admits complete hosts without ids to the run; nullopt if there are none. Ids follow the node rank where given,
  /// then the order of arrival, then the place in the host.
  std::optional<Admission> admit(double now);
  /// The error once too few hosts have arrived in time.
  std::optional<Error> overdue(double now) const;

  bool started() const noexcept { return started_; }
  bool elastic() const noexcept { return config_.min_hosts < config_.max_hosts; }
  /// Number of complete hosts, admitted or not.
  uint32_t hosts() const;
  const RendezvousConfig& config() const noexcept { return config_; }

 private:
  struct Part {
    ProcessId process;
    uint32_t nodes;
  };
  struct Group {
    uint32_t size = 1;
    uint32_t arrival = 0;
    int32_t node_rank = -1;
    bool admitted = false;
    std::string host;
    std::map<uint32_t, Part> parts;  // by place in the group
    bool complete() const { return parts.size() == size; }
  };

  Status add_group(const JoinMessage& join);

  RendezvousConfig config_;
  double opened_;
  std::optional<double> enough_since_;
  bool started_ = false;
  uint32_t arrivals_ = 0;
  NodeId next_id_ = 0;
  NodeId end_id_ = kAddressMask;
  std::map<uint64_t, Group> groups_;
};

}  // namespace actorhost
