#pragma once
// Addresses at which hosts meet: "HOST:PORT", "[V6]:PORT", for a link-local address with its interface
// "[fe80::1%eth0]:PORT"; with a prefix "tls+tcp://" or "tcp://", or "ipc://PATH". Plain values and free functions;
// thread-safe. Functions marked "may block" query the resolver.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

/// The port of a rendezvous that names a machine but no run (Kubernetes; others: rank_detect.hpp).
inline constexpr uint16_t kDefaultRendezvousPort = 17871;
/// Most nodes of a process, and most processes of an --isolate host.
inline constexpr uint32_t kMaxNodes = 65536;

struct Endpoint {
  enum class Scheme { tcp, tls, ipc };
  Scheme scheme = Scheme::tcp;
  std::string host;   // a name or an address, IPv6 without brackets ("fe80::1%eth0"); empty for ipc
  uint16_t port = 0;  // 0: the system chooses on listening; 0 for ipc
  std::string path;   // ipc only

  bool operator==(const Endpoint&) const = default;
};

/// Code::bad_argument names the error in `text`.
Result<Endpoint> parse_endpoint(std::string_view text);

/// A list, "A:1,B:2". At least one endpoint on success.
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);

/// The same host at another port.
Endpoint at_port(Endpoint endpoint, uint16_t port);
/// In the form for transports: "tcp://10.0.0.1:5", "tls+tcp://[::1]:5", "ipc:///run/x".
std::string endpoint_url(const Endpoint& endpoint);
/// In the form that users type: "10.0.0.1:5", "tls+tcp://[::1]:5", "ipc:///run/x".
std::string endpoint_text(const Endpoint& endpoint);

/// Code::bad_argument if a link-local address names no interface, or an interface that this machine does not have.
Status check_scope(const Endpoint& endpoint);
/// `url` as this machine reaches it: a link-local address from another host gets the interface of `own`, an address of
/// the same run.
std::string with_scope_of(const std::string& url, const std::string& own);

// The following functions fail as check_scope does, and with Code::unreachable if the name cannot be resolved (yet).

/// Whether one of its addresses is IPv6. May block.
Result<bool> is_ipv6(const Endpoint& endpoint);

/// Whether only processes of this machine can connect to it. True for ipc, for 127.0.0.0/8 and ::1, and for names that
/// resolve to nothing else. A wildcard address is not loopback. May block.
Result<bool> is_loopback(const Endpoint& endpoint);

/// Whether it is an address of this machine, so that this host may listen there. True for ipc, loopback, addresses of
/// the interfaces and wildcard addresses. May block.
Result<bool> is_own_address(const Endpoint& endpoint);

}  // namespace actorhost
