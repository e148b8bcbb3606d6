#pragma once
// The address of a listening process, as users give it in --rdzv-endpoint, --attach and --dashboard. Its forms are
// "HOST:PORT", "[V6]:PORT" and, for a link-local address, "[fe80::1%eth0]:PORT" with the interface. Each form may have
// the prefix "tcp://" or "tls+tcp://". "ipc://PATH" is a socket on this machine. Plain values and free functions;
// thread-safe. Functions marked "may block" query the resolver.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

/// The port of the rendezvous if a launcher gives no port and the port does not follow from a job id (rank_detect.hpp).
inline constexpr uint16_t kDefaultRendezvousPort = 17871;
/// The most nodes of a host. `-n` (rank_detect.cpp) and the coordinator's Rendezvous refuse more. An --isolate host has
/// a process for each node and their parent.
inline constexpr uint32_t kMaxNodes = 65536;

struct Endpoint {
  enum class Scheme { tcp, tls, ipc };
  Scheme scheme = Scheme::tcp;
  std::string host;   // a name or an address, IPv6 without brackets ("fe80::1%eth0"); empty for ipc
  uint16_t port = 0;  // 0: the system chooses a port when a process listens; 0 for ipc
  std::string path;   // ipc only

  bool operator==(const Endpoint&) const = default;
};

/// Code::bad_argument names the fault in `text`.
Result<Endpoint> parse_endpoint(std::string_view text);

/// Parses a list, "A:1,B:2". A successful result has at least one endpoint.
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);

/// The same host at another port.
Endpoint at_port(Endpoint endpoint, uint16_t port);
/// The form for transports: "tcp://10.0.0.1:5", "tls+tcp://[::1]:5", "ipc:///run/x".
std::string endpoint_url(const Endpoint& endpoint);
/// The form that users type: "10.0.0.1:5", "tls+tcp://[::1]:5", "ipc:///run/x".
std::string endpoint_text(const Endpoint& endpoint);

/// Code::bad_argument if a link-local address names no interface, or an interface that this machine does not have.
Status check_scope(const Endpoint& endpoint);
/// Converts a url that another host has sent into a form that this machine can reach. A link-local address names an
/// interface of the other host; the interface in `own` replaces it. `own` is a url of the same run that this machine
/// has reached.
std::string with_scope_of(const std::string& url, const std::string& own);
/// The url at which others reach a host that listens at `url`. A host that listens on every address is reached at the
/// address of its connection, `peer`.
std::string with_host_of(std::string url, const std::string& peer);

// The following functions resolve the endpoint's name into addresses. They fail like check_scope, and with
// Code::unreachable while the name cannot be resolved.

/// Whether one of the addresses is IPv6. May block.
Result<bool> is_ipv6(const Endpoint& endpoint);

/// Whether only processes of this machine can connect to the endpoint. True for ipc, and if all addresses are in
/// 127.0.0.0/8 or are ::1. A wildcard address is not loopback. May block.
Result<bool> is_loopback(const Endpoint& endpoint);

/// Whether this host can listen at the endpoint, because it is an address of this machine. True for ipc, loopback,
/// addresses of the interfaces and wildcard addresses. May block.
Result<bool> is_own_address(const Endpoint& endpoint);

}  // namespace actorhost
