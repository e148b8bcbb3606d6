#pragma once
// Where hosts meet: "HOST:PORT", "[V6]:PORT", for a link-local address with its interface "[fe80::1%eth0]:PORT"; with
// "tls+tcp://" or "tcp://" before it, or "ipc://PATH". Plain values and free functions, any thread; those that say so
// ask the resolver and may block for as long as it does.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

/// The port of a rendezvous of which only the machine is known, not the run (Kubernetes; others: see rank_detect.hpp).
inline constexpr uint16_t kDefaultRendezvousPort = 17871;

struct Endpoint {
  enum class Scheme { tcp, tls, ipc };
  Scheme scheme = Scheme::tcp;
  std::string host;   // a name or an address, IPv6 without its brackets ("fe80::1%eth0"); empty for ipc
  uint16_t port = 0;  // 0: the system chooses when it is listened on; 0 for ipc
  std::string path;   // ipc only

  bool operator==(const Endpoint&) const = default;
};

/// Code::bad_argument says what is wrong with `text`.
Result<Endpoint> parse_endpoint(std::string_view text);

/// Of several, "A:1,B:2". At least one on success.
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);

/// The same place at another port.
Endpoint at_port(Endpoint endpoint, uint16_t port);
/// As transports take it: "tcp://10.0.0.1:5", "tls+tcp://[::1]:5", "ipc:///run/x".
std::string endpoint_url(const Endpoint& endpoint);
/// As people type it: "10.0.0.1:5", "tls+tcp://[::1]:5", "ipc:///run/x".
std::string endpoint_text(const Endpoint& endpoint);

/// Code::bad_argument where a link-local address names no interface, or one that this machine does not have.
Status check_scope(const Endpoint& endpoint);
/// `url` as it is reached from here: a link-local address, which another host has told, gets the interface by which
/// `own`, an address of the same run, is reached.
std::string with_scope_of(const std::string& url, const std::string& own);

// The following fail as check_scope does, and with Code::unreachable where the name cannot be resolved, or not yet.

/// Is one of its addresses IPv6? May block.
Result<bool> is_ipv6(const Endpoint& endpoint);

/// Can only processes of this machine connect to it? True for ipc, for 127.0.0.0/8 and ::1 and for names that stand for
/// nothing else. An address that stands for all interfaces is not loopback. May block.
Result<bool> is_loopback(const Endpoint& endpoint);

/// Is it an address of this machine, so that this host may listen there? True for ipc, loopback, addresses of the
/// interfaces and those that stand for all of them. May block.
Result<bool> is_own_address(const Endpoint& endpoint);

}  // namespace actorhost
