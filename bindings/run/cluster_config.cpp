#include "bindings/run/cluster_config.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "host/base/system_random.hpp"
#include "host/cluster/look/run_files.hpp"
#include "host/net/handshake.hpp"
#include "host/net/token_file.hpp"

namespace actorhost {

Result<std::string> load_token(const RunOptions& options, Log& log) {
  if (options.insecure) {
    if (!options.rehearsal) log.warn("", "--insecure: any machine that reaches this host's port can run code on it");
    return std::string();
  }
  const auto check_token = [&log](const std::string& path, Result<std::string> token) -> Result<std::string> {
    if (!token) return token;
    if (is_reading_token(*token)) {
      return Error{Code::refused, "token file " + path +
                                      ": it holds a reading token, which only permits observing a run; a "
                                      "host needs the token itself"};
    }
    if (const Status beside = store_reading_token(path, *token); !beside) log.debug("", beside.error().message);
    return token;
  };
  if (!options.token_file.empty()) return check_token(options.token_file, read_token(options.token_file));
  AH_LET(auto path, own_token_path());
  return check_token(path, read_or_make_token(path));
}

Status check_tls_files(const RunOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return Error{Code::bad_argument, "--tls-cert and --tls-key belong together; a host that only joins needs neither"};
  }
  const std::pair<const char*, const std::string&> files[] = {
      {"--tls-cert", options.tls_cert}, {"--tls-key", options.tls_key}, {"--tls-ca", options.tls_ca}};
  for (const auto& [flag, path] : files) {
    if (path.empty()) continue;
    std::ifstream file(path, std::ios::binary);
    if (!file.is_open()) {
      return Error{Code::bad_argument, std::string(flag) + ": cannot read '" + path + "': " + std::strerror(errno)};
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("-----BEGIN ") == std::string::npos) {
      return Error{Code::bad_argument,
                   std::string(flag) + ": '" + path + "' is no PEM file (it has no line '-----BEGIN ...')"};
    }
  }
  return {};
}

Status may_join_at(const Endpoint& endpoint, const RunOptions& options) {
  if (endpoint.scheme == Endpoint::Scheme::tls && options.tls_ca.empty()) {
    return Error{Code::bad_argument,
                 "joining at " + endpoint_text(endpoint) +
                     " needs --tls-ca, the certificates for checking the coordinator's certificate"};
  }
  return {};
}

Error with_hint(Error error, const Endpoint& endpoint) {
  const auto contains = [&error](const char* part) { return error.message.find(part) != std::string::npos; };
  if (contains("differs from ours")) {
    error.message += "; give all hosts of a run the same --token-file, or --insecure";
  } else if (endpoint.scheme == Endpoint::Scheme::tls && contains("does not answer as an actorhost")) {
    error.message += "; over TLS its certificate has to be signed by one of --tls-ca and to be issued to '" +
                     endpoint.host + "' (as its common name or a DNS name)";
  }
  return error;
}

Status may_listen_at(const Endpoint& endpoint, const RunOptions& options) {
  if (endpoint.scheme == Endpoint::Scheme::tls && (options.tls_cert.empty() || options.tls_key.empty())) {
    return Error{Code::bad_argument, "listening at " + endpoint_text(endpoint) + " needs --tls-cert and --tls-key"};
  }
  return {};
}

std::string host_name(const std::optional<SimulatedHost>& simulated) {
  return simulated ? simulated->name : current_hostname() + ":" + std::to_string(getpid());
}

ClusterConfig base_config(const RunOptions& options, const Placement& placement, const JobSource& job,
                          const std::string& token, uint32_t nodes, const std::optional<SimulatedHost>& simulated) {
  ClusterConfig config;
  config.self.run_id = placement.run_id;
  config.self.job_name = job.name();
  config.self.job_hash = job.hash();
  config.self.host = host_name(simulated);
  if (simulated) config.stream.network = simulated->network;
  config.self.group = system_random();
  config.self.node_rank = placement.node_rank ? static_cast<int32_t>(*placement.node_rank) : -1;
  config.self.nodes = nodes;
  config.self.settings = options.shared_settings();
  config.coordinator.run_id = placement.run_id;
  config.coordinator.settings = options.shared_settings();
  config.coordinator.args = options.args;
  config.coordinator.rendezvous = {placement.min_nodes, placement.max_nodes, options.start_timeout, 0.5};
  config.stream.token = token;
  config.stream.share_memory = !options.no_shared_memory;
  config.stream.tls = {options.tls_cert, options.tls_key, options.tls_ca};
  config.start_timeout = options.start_timeout;
  return config;
}

ClusterConfig coordinator_config(ClusterConfig config, const std::string& url) {
  config.place = url.empty() ? ClusterConfig::Place::alone : ClusterConfig::Place::coordinator;
  config.url = url;
  return config;
}

ClusterConfig member_config(ClusterConfig config, const Endpoint& endpoint, const std::vector<uint16_t>& other_ports,
                            const std::vector<Endpoint>& others, const std::optional<ChildPlace>& child) {
  config.place = ClusterConfig::Place::member;
  config.url = endpoint_url(endpoint);
  for (const uint16_t port : other_ports) config.other_urls.push_back(endpoint_url(at_port(endpoint, port)));
  for (const Endpoint& other : others) config.other_urls.push_back(endpoint_url(other));
  if (child) {
    config.self.group = child->group;
    config.self.group_size = child->size;
    config.self.group_index = child->index;
    config.self.node_rank = child->node_rank;
  }
  // Other hosts reach this host at its address as seen by the coordinator; on one machine that address is loopback.
  switch (endpoint.scheme) {
    case Endpoint::Scheme::ipc: config.listen_url = config.url + "." + std::to_string(getpid()); break;
    case Endpoint::Scheme::tcp:
    case Endpoint::Scheme::tls: {
      const auto local = is_loopback(endpoint);
      const bool tls = endpoint.scheme == Endpoint::Scheme::tls;
      if (tls && config.stream.tls.cert.empty()) break;  // cannot listen, so it dials all others
      for (const Endpoint& other : others) {
        const auto own = is_own_address(other);
        if (own && *own && !child) config.listen_first.push_back(endpoint_url(other));
      }
      const std::string scheme = tls ? "tls+tcp://" : "tcp://";
      config.listen_url = scheme + (local && *local ? "127.0.0.1:0" : "0.0.0.0:0");
      const auto six = is_ipv6(endpoint);  // [::] also accepts IPv4
      if (six && *six && !(local && *local)) config.listen_first.push_back(scheme + "[::]:0");
      break;
    }
  }
  return config;
}

}  // namespace actorhost
