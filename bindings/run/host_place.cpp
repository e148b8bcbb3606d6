#include "bindings/run/host_place.hpp"

#include <algorithm>

#include "bindings/run/cluster_config.hpp"

namespace actorhost {

namespace {

constexpr uint64_t kProcessBytes = uint64_t{128} << 20;  // a process's need besides its data: 110 MB for two nodes

}  // namespace

Status HostPlace::find(RunOptions& options, Log& log) {
  auto detected = detect_placement(options.placement, current_environment(), current_hostname());
  if (!detected) {
    Error error = std::move(detected).error();
    const std::string flag = "--rdzv-endpoint";  // an agent's flag has another name
    const size_t at = error.message.find(flag);
    if (options.agent && at != std::string::npos) error.message.replace(at, flag.size(), "--join");
    return error;
  }
  placement = std::move(*detected);
  if (options.agent) placement.node_rank.reset();  // an agent takes any free place
  allowance = own_allowance();
  if (placement.cores) allowance.limit_cores(*placement.cores, placement.cores_source);
  const uint32_t others = placement.cores ? 1 : std::max(1U, placement.local_size);
  local_nodes = placement.nproc.value_or(std::max(1U, allowance.cores / others));
  AH_TRY(find_endpoints());
  if (!endpoint) return {};
  if (child) {
    share_cores(options);  // with its siblings
    local_nodes = 1;
    token = child->token;
    return {};
  }
  AH_TRY(check_tls_files(options));
  const bool tls = !options.tls_cert.empty() || !options.tls_ca.empty();
  const auto secure = [tls](Endpoint& one) {
    if (one.scheme == Endpoint::Scheme::tcp && tls) one.scheme = Endpoint::Scheme::tls;
  };
  secure(*endpoint);
  for (Endpoint& other : other_endpoints) secure(other);
  AH_LET(token, load_token(options, log));
  return {};
}

Status HostPlace::find_endpoints() {
  const std::string where = child ? child->url : placement.endpoint;
  if (where.empty()) {
    if (placement.max_nodes == 1) return {};
    return Error{Code::bad_argument, "--nnodes " + std::to_string(placement.max_nodes) +
                                         " needs --rdzv-endpoint HOST:PORT, the same on every host"};
  }
  AH_LET(auto endpoints, parse_endpoints(where));
  endpoint = endpoints.front();
  other_endpoints.assign(endpoints.begin() + 1, endpoints.end());
  return {};
}

uint32_t HostPlace::hosts_here() const {
  const uint32_t hosts = std::max(1U, placement.local_size);
  if (!endpoint) return hosts;
  const auto one_machine = is_loopback(*endpoint);
  return one_machine && *one_machine ? std::max(hosts, placement.max_nodes) : hosts;
}

void HostPlace::share_cores(RunOptions& options) const {
  if (options.threads_per_node) return;
  const uint32_t nodes = local_nodes * (placement.cores ? 1 : hosts_here());
  options.threads_per_node = std::clamp(allowance.cores / std::max(1U, nodes), 1U, 256U);
}

uint64_t HostPlace::memory_share(const RunOptions& options) const {
  uint64_t bytes = options.memory.value_or(0);
  if (bytes == 0) bytes = allowance.memory / 10 * 6 / hosts_here();
  bytes /= std::max(1U, child ? child->size : options.isolate ? local_nodes : 1);
  // Leaves room for uncounted memory: the program, Lua's values, mapped files, rows in flight, growing tables, and
  // memory cached by the allocator.
  bytes -= std::min(bytes / 3, kProcessBytes);
  return bytes / 8 * 5;
}

std::string HostPlace::text() const {
  std::string text = "placement: " + describe(placement);
  if (!allowance.cores_limit.empty()) {
    text += "; " + std::to_string(allowance.cores) + " of " + std::to_string(allowance.machine_cores) + " cores (" +
            allowance.cores_limit + ")";
  }
  if (!allowance.memory_limit.empty()) {
    text += "; " + std::to_string(allowance.memory >> 20) + " of " + std::to_string(allowance.machine_memory >> 20) +
            " MiB of memory (" + allowance.memory_limit + ")";
  }
  return text;
}

}  // namespace actorhost
