#include "bindings/run/run_join.hpp"

#include "bindings/run/cluster_config.hpp"
#include "host/base/printable.hpp"
#include "host/base/system_random.hpp"

namespace actorhost {

namespace {

constexpr double kProbeSeconds = 1;        // seconds for each further address to reply whether it has a run
constexpr double kQuiet = 2;               // seconds of waiting for a name before a log line
constexpr double kResolveInterval = 0.25;  // seconds

bool is_unreachable(const Error& error) { return error.code == Code::unreachable || error.code == Code::peer_lost; }

}  // namespace

Status RunJoin::join(ClusterConfig base) {
  if (place_.child) return opener_.open_cluster(joining(base));
  if (!place_.endpoint) return opener_.open_cluster(coordinator_config(base, ""));
  AH_LET(const auto own, await_own_address(base));
  if (!own) return {};  // joined a run at a further address
  const auto& rank = place_.placement.node_rank;
  const bool must_listen = rank == 0U;
  const bool may_listen = !options_.agent && (must_listen || (*own && !rank));
  Status listened;
  if (may_listen) {
    AH_TRY(may_listen_at(*place_.endpoint, options_));
    if (options_.isolate) AH_TRY(may_join_at(*place_.endpoint, options_));  // its children join there
    if (!must_listen && !place_.other_endpoints.empty()) {
      Status joined = join_others(base);
      if (joined || !is_unreachable(joined.error())) return joined;
    }
    listened = listen(base, must_listen);
    if (listened || must_listen || listened.error().code != Code::io) return listened;
  }
  return join_coordinator(base, listened);
}

/// `listened` is the failure to listen, if this host has tried.
Status RunJoin::join_coordinator(const ClusterConfig& base, const Status& listened) {
  AH_TRY(may_join_at(*place_.endpoint, options_));
  if (options_.isolate) {
    std::string places = endpoint_url(*place_.endpoint);
    for (const Endpoint& other : place_.other_endpoints) places += "," + endpoint_url(other);
    return opener_.spawn_children(places, base.self.group, 0, place_.local_nodes);
  }
  Status joined = opener_.open_cluster(joining(base));
  if (joined) return joined;
  Error error = with_hint(std::move(joined).error(), *place_.endpoint);
  if (listened.ok() || error.message.find("does not answer") == std::string::npos) return error;
  error.message += " (this host tried to join because it cannot listen there: " + listened.error().message + ")";
  return error;
}

/// Whether the coordinator's address is an address of this machine. A pod's name may be unknown at first, so this
/// retries until --start-timeout has passed. Meanwhile it tries to join a run at the further addresses. The result is
/// empty if this host has joined a run there.
Result<std::optional<bool>> RunJoin::await_own_address(ClusterConfig& base) {
  const double begun = clock_.now();
  for (bool logged = false;;) {
    auto own = is_own_address(*place_.endpoint);
    base.waited = clock_.now() - begun;
    if (own) return std::optional(*own);
    const Error& error = own.error();
    if (error.code != Code::unreachable) return error;
    if (base.waited >= options_.start_timeout) {
      return Error{error.code,
                   error.message + "; retried for " + seconds_text(options_.start_timeout) +
                       " (--start-timeout): check the name and the resolver of this machine, or give an address"};
    }
    if (!place_.other_endpoints.empty() && place_.placement.node_rank != 0U) {
      const Status joined = join_others(base);
      if (joined) return std::optional<bool>();
      if (!is_unreachable(joined.error())) return joined.error();
    }
    if (!logged && base.waited >= kQuiet) {
      logged = true;
      log_.info("", "waiting until the coordinator's name is known: " + error.message);
    }
    if (opener_.interrupted_within(kResolveInterval)) return Error{Code::interrupted, "interrupted"};
  }
}

ClusterConfig RunJoin::joining(const ClusterConfig& base) const {
  return member_config(base, *place_.endpoint, place_.placement.other_ports, place_.other_endpoints, place_.child);
}

/// Tries to join a run whose first host has failed, before this host would start a run as its first host.
Status RunJoin::join_others(const ClusterConfig& base) {
  if (options_.isolate) return Error{Code::unreachable, ""};  // its processes are not started twice
  ClusterConfig config = joining(base);
  config.url = config.other_urls.front();
  config.other_urls.erase(config.other_urls.begin());
  config.once = true;
  config.waited = 0;
  config.start_timeout = kProbeSeconds * static_cast<double>(place_.other_endpoints.size());
  return opener_.open_cluster(std::move(config));
}

/// Listens as the coordinator, at the first free port of the run.
Status RunJoin::listen(const ClusterConfig& base, bool must_listen) {
  const std::string first = endpoint_url(*place_.endpoint);
  Status listened = opener_.open_cluster(coordinator_config(base, first));
  const auto taken = [&] { return !listened && listened.error().code == Code::io && !opener_.has_cluster(); };
  for (const uint16_t port : place_.placement.other_ports) {
    if (!taken()) return listened;
    log_.info("", listened.error().message + ", so the coordinator listens at port " + std::to_string(port));
    place_.endpoint->port = port;
    listened = opener_.open_cluster(coordinator_config(base, endpoint_url(*place_.endpoint)));
  }
  if (must_listen || !taken()) return listened;
  // If two hosts begin to listen in the same instant, the kernel may refuse both. They retry at different times.
  Task::sleep(1e-6 * static_cast<double>(1000 + system_random() % 10'000));
  return opener_.open_cluster(coordinator_config(base, first));
}

}  // namespace actorhost
