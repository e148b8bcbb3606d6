#pragma once
// The place of a process in its run: its number among the hosts, the addresses to meet at, its nodes, and its part of
// the machine. The host runtime makes it once, before the process contacts another host; constant afterwards, except
// that a private run gets its endpoint and token, and a coordinator may get another port.

#include <optional>
#include <string>
#include <vector>

#include "bindings/process/run_options.hpp"
#include "bindings/run/isolate.hpp"
#include "host/base/allowance.hpp"
#include "host/base/log.hpp"
#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

struct HostPlace {
  Placement placement;
  Allowance allowance;
  std::optional<Endpoint> endpoint;
  std::vector<Endpoint> other_endpoints;  // more addresses to join the run at
  std::optional<ChildPlace> child;        // set in a process of an --isolate host
  std::string token;
  uint32_t local_nodes = 1;

  /// Detects all but `child` from the flags, the environment and the machine. Errors name the flag.
  Status find(RunOptions& options, Log& log);
  /// The number of hosts of this run on this machine, as known from the launcher and the coordinator's address.
  uint32_t hosts_here() const;
  /// Sets --threads-per-node, unless given, to this host's cores divided by its nodes. The hosts of a machine share its
  /// cores, unless the launcher gives each host its own cores.
  void share_cores(RunOptions& options) const;
  /// This process's limit for map-reduce data: its part of --memory, which the host's processes share; or its part of
  /// 60 percent of the available memory, which all processes of the machine's hosts share.
  uint64_t memory_share(const RunOptions& options) const;
  /// "placement: ...; 2 of 8 cores (the affinity mask)": how the place was found, and the limits of a host that may use
  /// less than the whole machine.
  std::string text() const;

 private:
  Status find_endpoints();
};

}  // namespace actorhost
