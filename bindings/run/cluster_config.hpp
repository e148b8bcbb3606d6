#pragma once
// Makes a Cluster's configuration from flags and placement, with one function for each way to take part. Plain values.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/process/run_options.hpp"
#include "bindings/run/isolate.hpp"
#include "host/cluster/cluster.hpp"
#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

/// The secret of this run: the token file's content; empty with --insecure (which is logged).
Result<std::string> load_token(const RunOptions& options, Log& log);

/// Whether this host may listen there: tls+tcp:// requires certificate and key.
Status may_listen_at(const Endpoint& endpoint, const RunOptions& options);

/// Checks the files of --tls-cert, --tls-key and --tls-ca before this host contacts another host.
Status check_tls_files(const RunOptions& options);
/// Whether this host may join there: tls+tcp:// requires certificates for checking the coordinator's certificate.
Status may_join_at(const Endpoint& endpoint, const RunOptions& options);
/// The join error, with a remedy if a token or a certificate is the cause.
Error with_hint(Error error, const Endpoint& endpoint);

class DataCache;

/// A host of a rehearsal.
struct SimulatedHost {
  std::string name;
  StreamNetwork* network = nullptr;
  std::shared_ptr<DataCache> data;  // of all hosts, so that one copy of a data set is in memory
};
/// The cluster's name of this process: "alpha:4711", or the name of the simulated host.
std::string host_name(const std::optional<SimulatedHost>& simulated);

/// The common part of all ways to take part: identity, this host's nodes, security.
ClusterConfig base_config(const RunOptions& options, const Placement& placement, const JobSource& job,
                          const std::string& token, uint32_t nodes, const std::optional<SimulatedHost>& simulated);
/// The coordinator, which listens at `url`; with an empty `url`, a run of this process alone, without sockets.
ClusterConfig coordinator_config(ClusterConfig base, const std::string& url);
/// A host, or one process of an --isolate host, that joins at `endpoint`, at one of `other_ports` there, or at one of
/// `others`. It also listens at one of these places if it can.
ClusterConfig member_config(ClusterConfig base, const Endpoint& endpoint, const std::vector<uint16_t>& other_ports,
                            const std::vector<Endpoint>& others, const std::optional<ChildPlace>& child);

}  // namespace actorhost
