// Sends bytes to a page over a connection, in two pieces split by the first byte. The page answers or closes the
// connection, and still answers the plain request that follows now and then.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/page/page_server.hpp"

namespace {

using namespace actorhost;

PageServer& page() {
  static SteadyClock clock;
  static const std::unique_ptr<PageServer> kPage = [] {
    PageOptions options{.address = "127.0.0.1:0", .metrics = true};
    options.limits.request_seconds = 1;
    auto opened = PageServer::open(options, clock);
    if (!opened) std::abort();
    (*opened)->on_wanted([] {
      static const auto kState = std::make_shared<const nlohmann::json>(nlohmann::json::object());
      kPage->seen(kState, clock.now());
    });
    return std::move(*opened);
  }();
  return *kPage;
}

int connected() {
  static const uint16_t kPort = [] {
    const std::string url = page().url();
    return static_cast<uint16_t>(std::stoul(url.substr(url.find(':', 7) + 1)));
  }();
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
  const linger at_once{1, 0};  // no port stays in TIME_WAIT after a connection
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return fd;
}

void write(int fd, std::string_view bytes) { (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

/// The first bytes of the reply; empty if the connection was closed without a reply.
std::string read_reply(int fd) {
  std::array<char, 64> bytes{};
  const ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(count, 0))};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t first = std::min<size_t>(data[0], bytes.size());
  const int fd = connected();
  write(fd, bytes.substr(0, first));
  write(fd, bytes.substr(first));
  shutdown(fd, SHUT_WR);
  const std::string got = read_reply(fd);
  if (!got.empty() && !got.starts_with("HTTP/1.")) std::abort();
  close(fd);
  constexpr unsigned kEvery = 32;
  static unsigned count = 0;
  if (++count % kEvery != 0) return 0;
  const int next = connected();
  write(next, "GET /about HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  if (!read_reply(next).starts_with("HTTP/1.1 200")) std::abort();
  close(next);
  return 0;
}
