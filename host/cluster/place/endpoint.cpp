#include "host/cluster/place/endpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace actorhost {

namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kTls = "tls+tcp://";
constexpr std::string_view kIpc = "ipc://";

constexpr size_t kMostName = 253;  // of DNS
constexpr size_t kMostLabel = 63;

// An address without its port: the family and 4 or 16 bytes (the first 4 for IPv4); for link-local addresses the
// interface.
struct NetAddress {
  int family = AF_UNSPEC;
  std::array<uint8_t, 16> bytes{};
  uint32_t scope = 0;

  bool operator==(const NetAddress&) const = default;
  bool loopback() const {
    if (family == AF_INET) return bytes[0] == 127;
    return IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(bytes.data()));
  }
  bool any() const {
    return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
  }
};

// Reads an address; false for families other than IPv4 and IPv6. An IPv4 address mapped into IPv6 counts as IPv4.
bool read_address(const sockaddr* raw, NetAddress& out) {
  out = NetAddress{};
  if (raw == nullptr) return false;
  if (raw->sa_family == AF_INET) {
    out.family = AF_INET;
    std::memcpy(out.bytes.data(), &reinterpret_cast<const sockaddr_in*>(raw)->sin_addr, 4);
    return true;
  }
  if (raw->sa_family != AF_INET6) return false;
  const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(raw)->sin6_addr;
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&six);
  out.family = mapped ? AF_INET : AF_INET6;
  std::memcpy(out.bytes.data(), six.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
  if (IN6_IS_ADDR_LINKLOCAL(&six)) out.scope = reinterpret_cast<const sockaddr_in6*>(raw)->sin6_scope_id;
  return true;
}

Result<std::vector<NetAddress>> resolve(const Endpoint& endpoint) {
  AH_TRY(check_scope(endpoint));
  const std::string& host = endpoint.host;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failed != 0) {
    return Error{Code::unreachable, "the name \"" + host + "\" cannot be resolved: " + gai_strerror(failed)};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  std::vector<NetAddress> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    NetAddress address;
    if (read_address(at->ai_addr, address)) addresses.push_back(address);
  }
  return addresses;
}

std::vector<NetAddress> own_addresses() {
  std::vector<NetAddress> addresses;
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(found, &freeifaddrs);
  for (const ifaddrs* at = found; at != nullptr; at = at->ifa_next) {
    NetAddress address;
    if (read_address(at->ifa_addr, address)) addresses.push_back(address);
  }
  return addresses;
}

Error bad(std::string_view text, const std::string& what) {
  return {Code::bad_argument,
          "endpoint \"" + std::string(text) + "\": " + what + "; write HOST:PORT, [V6]:PORT or ipc://PATH"};
}

Result<Endpoint> parse_path(std::string_view text, std::string_view path) {
  if (path.empty()) return bad(text, "there is no path after ipc://");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return bad(text, "the path is longer than a local socket's may be (" +
                         std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes)");
  }
  return Endpoint{Endpoint::Scheme::ipc, "", 0, std::string(path)};
}

bool parse_port(std::string_view digits, uint16_t& port) {
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return failed == std::errc{} && end == digits.data() + digits.size();
}

bool is_link_local(const std::string& host) {
  in6_addr six;
  return inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &six) == 1 && IN6_IS_ADDR_LINKLOCAL(&six);
}

// Whether it can be the name of a host: labels and dots. A resolver decides whether the host exists.
bool is_name(std::string_view host) {
  if (host.size() > kMostName) return false;
  for (const char c : host) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '_' && c != '.' && static_cast<unsigned char>(c) < 0x80) return false;
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  for (size_t at = 0; at <= host.size();) {
    const size_t dot = std::min(host.find('.', at), host.size());
    if (dot == at || dot - at > kMostLabel) return false;
    at = dot + 1;
  }
  return true;
}

// The endpoint of an IPv6 address from brackets: "::1", or "fe80::1%eth0" (in a URL "fe80::1%25eth0").
Result<Endpoint> with_address(std::string_view text, std::string_view host, Endpoint endpoint) {
  const size_t percent = std::min(host.find('%'), host.size());
  const std::string address(host.substr(0, percent));
  in6_addr six;
  if (inet_pton(AF_INET6, address.c_str(), &six) != 1) {
    return bad(text, "\"" + address + "\" is no IPv6 address");
  }
  endpoint.host = address;
  if (percent == host.size()) return endpoint;
  std::string_view scope = host.substr(percent + 1);
  if (scope.starts_with("25") && scope.size() > 2) scope.remove_prefix(2);
  if (scope.empty() || scope.find_first_of(" \t\r\n/%?#[]") != std::string_view::npos) {
    return bad(text, "\"" + std::string(scope) + "\" is no network interface");
  }
  if (!IN6_IS_ADDR_LINKLOCAL(&six)) return bad(text, "only a link-local address (fe80::...) has a %interface");
  endpoint.host += "%" + std::string(scope);
  return endpoint;
}

// Splits "[V6]:PORT" or "HOST:PORT" into its host and port.
Result<Endpoint> parse_host_port(std::string_view text, Endpoint::Scheme scheme, std::string_view rest) {
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || rest.ends_with(']')) return bad(text, "the port is missing");
  std::string_view host = rest.substr(0, colon);
  const std::string_view digits = rest.substr(colon + 1);
  Endpoint endpoint{scheme, "", 0, ""};
  if (!parse_port(digits, endpoint.port)) {
    return bad(text, "\"" + std::string(digits) + "\" is no port (a number from 0 to 65535)");
  }
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return bad(text, "the bracket is not closed");
    return with_address(text, host.substr(1, host.size() - 2), endpoint);
  }
  if (host.find(':') != std::string_view::npos) {
    return bad(text, "an IPv6 address needs brackets, as in [::1]:" + std::string(digits));
  }
  if (host.empty()) return bad(text, "the host is missing");
  if (!is_name(host)) return bad(text, "\"" + std::string(host) + "\" is no host name");
  in_addr four;
  if (host.find_first_not_of("0123456789.") == std::string_view::npos &&
      inet_aton(std::string(host).c_str(), &four) == 0) {
    return bad(text, "\"" + std::string(host) + "\" is no IPv4 address");
  }
  endpoint.host = std::string(host);
  return endpoint;
}

std::string host_port(const Endpoint& endpoint) {
  const bool six = endpoint.host.find(':') != std::string::npos;
  return (six ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  if (text.starts_with(kIpc)) return parse_path(text, text.substr(kIpc.size()));
  if (text.starts_with(kTls)) return parse_host_port(text, Endpoint::Scheme::tls, text.substr(kTls.size()));
  if (text.starts_with(kTcp)) return parse_host_port(text, Endpoint::Scheme::tcp, text.substr(kTcp.size()));
  const size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    return bad(text, "the scheme \"" + std::string(text.substr(0, scheme)) + "\" is not tcp, tls+tcp or ipc");
  }
  return parse_host_port(text, Endpoint::Scheme::tcp, text);
}

Result<std::vector<Endpoint>> parse_endpoints(std::string_view text) {
  std::vector<Endpoint> endpoints;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.starts_with("ipc://") ? std::string_view::npos : rest.find(',');
    AH_LET(auto endpoint, parse_endpoint(rest.substr(0, comma)));
    endpoints.push_back(std::move(endpoint));
    if (comma == std::string_view::npos) return endpoints;
    rest.remove_prefix(comma + 1);
  }
}

Endpoint at_port(Endpoint endpoint, uint16_t port) {
  endpoint.port = port;
  return endpoint;
}

std::string endpoint_url(const Endpoint& endpoint) {
  if (endpoint.scheme == Endpoint::Scheme::ipc) return std::string(kIpc) + endpoint.path;
  return std::string(endpoint.scheme == Endpoint::Scheme::tls ? kTls : kTcp) + host_port(endpoint);
}

std::string endpoint_text(const Endpoint& endpoint) {
  return endpoint.scheme == Endpoint::Scheme::tcp ? host_port(endpoint) : endpoint_url(endpoint);
}

Status check_scope(const Endpoint& endpoint) {
  if (!is_link_local(endpoint.host)) return {};
  const size_t percent = endpoint.host.find('%');
  if (percent == std::string::npos) {
    return Error{Code::bad_argument, endpoint_text(endpoint) +
                                         " is a link-local address: name the network interface, as " + "in [" +
                                         endpoint.host + "%eth0]:" + std::to_string(endpoint.port)};
  }
  const std::string scope = endpoint.host.substr(percent + 1);
  char name[IF_NAMESIZE];
  uint32_t number = 0;
  const auto [end, failed] = std::from_chars(scope.data(), scope.data() + scope.size(), number);
  const bool numbered = failed == std::errc{} && end == scope.data() + scope.size();
  if (if_nametoindex(scope.c_str()) != 0 || (numbered && if_indextoname(number, name) != nullptr)) return {};
  return Error{Code::bad_argument,
               endpoint_text(endpoint) + ": this machine has no network interface \"" + scope + "\" (see: ip link)"};
}

std::string with_scope_of(const std::string& url, const std::string& own) {
  auto there = parse_endpoint(url);
  const auto here = parse_endpoint(own);
  if (!there || !here || !is_link_local(there->host)) return url;
  const size_t percent = here->host.find('%');
  if (percent == std::string::npos) return url;
  there->host = there->host.substr(0, there->host.find('%')) + here->host.substr(percent);
  return endpoint_url(*there);
}

std::string with_host_of(std::string url, const std::string& peer) {
  for (const std::string wildcard : {"://0.0.0.0:", "://[::]:"}) {
    const size_t at = url.find(wildcard);
    const size_t port = peer.rfind(':');
    if (at == std::string::npos || port == std::string::npos) continue;
    return url.substr(0, at + 3) + peer.substr(0, port) + url.substr(at + wildcard.size() - 1);
  }
  return url;
}

Result<bool> is_ipv6(const Endpoint& endpoint) {
  if (endpoint.scheme == Endpoint::Scheme::ipc) return false;
  AH_LET(auto addresses, resolve(endpoint));
  return std::any_of(addresses.begin(), addresses.end(),
                     [](const NetAddress& address) { return address.family == AF_INET6; });
}

Result<bool> is_loopback(const Endpoint& endpoint) {
  if (endpoint.scheme == Endpoint::Scheme::ipc) return true;
  AH_LET(auto addresses, resolve(endpoint));
  return !addresses.empty() &&
         std::all_of(addresses.begin(), addresses.end(), [](const NetAddress& address) { return address.loopback(); });
}

Result<bool> is_own_address(const Endpoint& endpoint) {
  if (endpoint.scheme == Endpoint::Scheme::ipc) return true;
  AH_LET(auto addresses, resolve(endpoint));
  const std::vector<NetAddress> own = own_addresses();
  return std::any_of(addresses.begin(), addresses.end(), [&own](const NetAddress& address) {
    return address.loopback() || address.any() || std::find(own.begin(), own.end(), address) != own.end();
  });
}

}  // namespace actorhost
