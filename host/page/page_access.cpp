#include "host/page/page_access.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <arpa/inet.h>
#include <sodium.h>
#include <unistd.h>

namespace actorhost {

namespace {

/// Returns the lower-case host of "Name:8787", "[::1]:8787" and "[fe80::1%eth0]:8787", without port, brackets and
/// interface.
std::string name_in(std::string_view host) {
  const size_t end = host.starts_with('[') ? host.find(']') : host.find(':');
  std::string name(host.substr(0, end));
  if (name.starts_with('[')) name.erase(0, 1);
  name.erase(std::min(name.find('%'), name.size()));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

std::string own_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name_in(name.data()) : "";
}

/// Whether a request may use this host name. The owner of any name can point it to this machine, but not an address. So
/// a server on an address other than loopback also accepts all addresses, and the name of this machine.
bool is_allowed_host(const std::string& name, const PageAccess& access) {
  if (name == "localhost" || name == "127.0.0.1" || name == "::1" || name == name_in(access.bound.host)) return true;
  return !access.loopback && (is_address(name) || name == own_name());
}

bool same(std::string_view given, const std::string& token) {
  return !token.empty() && given.size() == token.size() && sodium_memcmp(given.data(), token.data(), token.size()) == 0;
}

/// The value of a cookie in "a=1; b=2".
std::string_view cookie_in(std::string_view cookies, const std::string& name) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(name + "=")) return one.substr(name.size() + 1);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
}

bool has_token(const WebRequest& request, const PageAccess& access) {
  constexpr std::string_view kBearer = "Bearer ";
  const auto query = request.query.find("token");
  const std::string_view authorization = request.authorization;
  const auto given_token_is = [&](const std::string& token) {
    return (query != request.query.end() && same(query->second, token)) ||
           same(cookie_in(request.cookie, access.cookie_name()), token) ||
           (authorization.starts_with(kBearer) && same(authorization.substr(kBearer.size()), token));
  };
  return given_token_is(access.token) || given_token_is(access.reading_token);
}

}  // namespace

std::string PageAccess::cookie_name() const { return "actorhost_" + std::to_string(bound.port); }

std::optional<std::string> PageAccess::refusal(const WebRequest& request) const {
  if (!is_allowed_host(name_in(request.host), *this)) {
    return "This page is not served under that name: use the address in actorhost's log.";
  }
  if (!request.origin.empty() && request.origin != "http://" + request.host) {
    return "Pages of other sites may not read this one.";
  }
  if (!loopback && !has_token(request, *this)) {
    return "This page requires its token: open the whole address in actorhost's log, or send it as a bearer token.";
  }
  return std::nullopt;
}

}  // namespace actorhost
