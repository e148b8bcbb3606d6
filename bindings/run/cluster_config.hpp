#pragma once
// From flags and placement to what a Cluster is started with: one function for each way to take part. Plain values.

#include <optional>
#include <string>
#include <vector>

#include "bindings/process/run_options.hpp"
#include "bindings/run/isolate.hpp"
#include "host/cluster/cluster.hpp"
#include "host/cluster/endpoint.hpp"

namespace actorhost {

/// The secret of this run: the token file's content, empty with --insecure (which is logged).
Result<std::string> load_token(const RunOptions& options, Log& log);

/// May this host listen there? tls+tcp:// needs certificate and key.
Status may_listen_at(const Endpoint& endpoint, const RunOptions& options);

/// Checks the files of --tls-cert, --tls-key and --tls-ca as far as that goes before this host meets any other.
Status check_tls_files(const RunOptions& options);
/// May this host join there? tls+tcp:// needs certificates to check the rendezvous host's against.
Status may_join_at(const Endpoint& endpoint, const RunOptions& options);
/// Why joining failed, with what to do about it where the cause is a token's or a certificate's.
Error with_hint(Error error, const Endpoint& endpoint);

/// What all ways to take part have in common: identity, what this host brings, security.
ClusterConfig base_config(const RunOptions& options, const Placement& placement, const JobSource& job,
                          const std::string& token, uint32_t nodes);
/// The rendezvous host, listening at `url`; alone and without sockets when it is empty.
ClusterConfig head_config(ClusterConfig base, const std::string& url);
/// A host, or one process of an --isolate host, that joins at `endpoint`, at another of these ports there, or at one of
/// `others`. It takes connections at one of these places itself, if it can.
ClusterConfig member_config(ClusterConfig base, const Endpoint& endpoint, const std::vector<uint16_t>& other_ports,
                            const std::vector<Endpoint>& others, const std::optional<ChildPlace>& child);

}  // namespace actorhost
