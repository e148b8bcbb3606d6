#include "host/cluster/place/endpoint.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include "tests/test.hpp"

using Scheme = actorhost::Endpoint::Scheme;

namespace {

Endpoint parsed(const std::string& text) {
  auto endpoint = parse_endpoint(text);
  INFO(text);
  REQUIRE(endpoint.ok());
  return *endpoint;
}

// The addresses of this machine's interfaces without loopback, as text.
std::vector<std::string> outer_addresses() {
  std::vector<std::string> result;
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return result;
  for (const ifaddrs* at = found; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, text, sizeof text);
    if (std::string(text).rfind("127.", 0) != 0) result.emplace_back(text);
  }
  freeifaddrs(found);
  return result;
}

}  // namespace

TEST_CASE("an endpoint is read in each spelling and written back") {
  CHECK(parsed("node7:80") == Endpoint{Scheme::tcp, "node7", 80, ""});
  CHECK(parsed("tcp://10.0.0.1:65535") == Endpoint{Scheme::tcp, "10.0.0.1", 65535, ""});
  CHECK(parsed("[2001:db8::1]:5") == Endpoint{Scheme::tcp, "2001:db8::1", 5, ""});
  CHECK(parsed("tls+tcp://head.example:443") == Endpoint{Scheme::tls, "head.example", 443, ""});
  CHECK(parsed("ipc:///run/a b") == Endpoint{Scheme::ipc, "", 0, "/run/a b"});
  for (const char* text : {"node7:80", "[2001:db8::1]:5", "tls+tcp://[::1]:443", "ipc:///run/x", "0.0.0.0:0"}) {
    CHECK(endpoint_text(parsed(text)) == text);
    CHECK(parsed(endpoint_url(parsed(text))) == parsed(text));
  }
  CHECK(endpoint_url(parsed("node7:80")) == "tcp://node7:80");
}

TEST_CASE("a wrong endpoint is refused with the reason") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "the port is missing"},
      {"node7", "the port is missing"},
      {"[::1]", "the port is missing"},
      {":80", "the host is missing"},
      {"node7:", "\"\" is no port"},
      {"node7:http", "\"http\" is no port"},
      {"node7:65536", "\"65536\" is no port"},
      {"node7:-1", "\"-1\" is no port"},
      {"node7:80 ", "is no port"},
      {"::1:80", "an IPv6 address needs brackets, as in [::1]:80"},
      {"[::1:80", "the bracket is not closed"},
      {"[node7]:80", "\"node7\" is no IPv6 address"},
      {"[]:80", "\"\" is no IPv6 address"},
      {"[fe80::1%]:80", "\"\" is no network interface"},
      {"[fe80::1%e th]:80", "is no network interface"},
      {"[fe80::1%%eth0]:80", "is no network interface"},
      {"[2001:db8::1%eth0]:80", "only a link-local address"},
      {"10.0.0.300:80", "\"10.0.0.300\" is no IPv4 address"},
      {"10.0.0.1.2:80", "is no IPv4 address"},
      {"fe80%eth0:80", "is no host name"},
      {"a..b:80", "is no host name"},
      {".:80", "is no host name"},
      {".a:80", "is no host name"},
      {"*:80", "is no host name"},
      {std::string(64, 'x') + ".org:80", "is no host name"},
      {"a b:80", "\"a b\" is no host name"},
      {"me@node7:80", "is no host name"},
      {"http://node7:80", "the scheme \"http\" is not tcp, tls+tcp or ipc"},
      {"ipc://", "there is no path"},
      {"ipc:///" + std::string(200, 'x'), "longer than a local socket's may be (107 bytes)"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto endpoint = parse_endpoint(text);
    INFO(text);
    REQUIRE(!endpoint.ok());
    CHECK(endpoint.error().code == Code::bad_argument);
    CHECK_THAT(endpoint.error().message, Catch::Contains(wanted) && Catch::Contains("\"" + text + "\""));
  }
}

TEST_CASE("a link-local address names its interface, in plain and in URL spelling") {
  CHECK(parsed("[fe80::1%eth0]:5") == Endpoint{Scheme::tcp, "fe80::1%eth0", 5, ""});
  CHECK(parsed("tls+tcp://[FE80::1%25eth0.7]:5").host == "FE80::1%eth0.7");
  CHECK(parsed("[fe80::1%25]:5").host == "fe80::1%25");  // the interface of that number
  CHECK(parsed("[fe80::1]:5").host == "fe80::1");
  for (const char* text : {"[fe80::1%eth0]:5", "tls+tcp://[fe80::1%2]:5"}) {
    CHECK(endpoint_text(parsed(text)) == text);
    CHECK(parsed(endpoint_url(parsed(text))) == parsed(text));
  }
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[fe80::1]:5", "name the network interface, as in [fe80::1%eth0]:5"},
      {"[fe80::1%no-such]:5", "no network interface \"no-such\""},
      {"[fe80::1%4000000]:5", "no network interface \"4000000\""},
  };
  for (const auto& [text, wanted] : cases) {
    const auto own = is_own_address(parsed(text));
    INFO(text);
    REQUIRE(!own.ok());
    CHECK(own.error().code == Code::bad_argument);
    CHECK_THAT(own.error().message, Catch::Contains(wanted) && Catch::Contains(text));
  }
  CHECK(check_scope(parsed("[fe80::1%lo]:5")).ok());
  CHECK(check_scope(parsed("[fe80::1%1]:5")).ok());
  CHECK(check_scope(parsed("[::1]:5")).ok());
  CHECK_FALSE(*is_own_address(parsed("[fe80::1:2:3:4%lo]:5")));
}

TEST_CASE("a link-local address from another host gets the interface by which this host reaches the run") {
  const std::string own = "tcp://[fe80::1%eth0]:5";
  CHECK(with_scope_of("tcp://[fe80::2]:7", own) == "tcp://[fe80::2%eth0]:7");
  CHECK(with_scope_of("tls+tcp://[fe80::2%enp3]:7", own) == "tls+tcp://[fe80::2%eth0]:7");
  CHECK(with_scope_of(own, own) == own);
  for (const char* url : {"tcp://[fd00::2]:7", "tcp://10.0.0.1:7", "tcp://a:7", "ipc:///x", ""}) {
    CHECK(with_scope_of(url, own) == url);
  }
  CHECK(with_scope_of("tcp://[fe80::2]:7", "tcp://10.0.0.1:7") == "tcp://[fe80::2]:7");
}

TEST_CASE("loopback is distinguished from addresses that others can reach") {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "ipc:///run/x"}) {
    INFO(text);
    CHECK(*is_loopback(parsed(text)));
    CHECK(*is_own_address(parsed(text)));
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1"}) {
    INFO(text);
    CHECK(!*is_loopback(parsed(text)));
    CHECK(*is_own_address(parsed(text)));
  }
  // Reserved for documentation (RFC 5737, RFC 3849): no machine has them.
  for (const char* text : {"192.0.2.1:1", "[2001:db8::1]:1", "[::ffff:192.0.2.1]:1"}) {
    INFO(text);
    CHECK(!*is_loopback(parsed(text)));
    CHECK(!*is_own_address(parsed(text)));
  }
}

TEST_CASE("every interface's address is this machine's") {
  for (const std::string& address : outer_addresses()) {
    INFO(address);
    CHECK(*is_own_address(parsed(address + ":1")));
    CHECK(!*is_loopback(parsed(address + ":1")));
  }
  CHECK(*is_own_address(parsed("localhost:1")));
  CHECK(*is_loopback(parsed("localhost:1")));
}

TEST_CASE("an unknown name is an error with that name") {
  // .invalid never resolves (RFC 6761).
  const auto answer = is_own_address(parsed("nobody.invalid:1"));
  REQUIRE(!answer.ok());
  CHECK(answer.error().code == Code::unreachable);
  CHECK_THAT(answer.error().message, Catch::Contains("\"nobody.invalid\""));
}

TEST_CASE("several endpoints are read in their order") {
  const auto three = required(parse_endpoints("a:1,[::1]:2,tls+tcp://c:3"));
  REQUIRE(three->size() == 3);
  CHECK(endpoint_text((*three)[0]) == "a:1");
  CHECK(endpoint_text((*three)[1]) == "[::1]:2");
  CHECK(endpoint_text((*three)[2]) == "tls+tcp://c:3");
  CHECK(parse_endpoints("ipc:///tmp/a,b")->size() == 1);  // a path may have a comma
  for (const char* wrong : {"", "a:1,", ",a:1", "a:1,b"}) CHECK_FALSE(parse_endpoints(wrong).ok());
}
