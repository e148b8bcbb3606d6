#pragma once
// Plain TCP sockets on loopback, for programs other than actorhost: strangers, attackers, peers that vanish.

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/base/non_copyable.hpp"
#include "host/net/handshake.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

class RawSocket {
 public:
  explicit RawSocket(int fd) : fd_(fd) {}
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~RawSocket() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// Connects to "tcp://127.0.0.1:PORT".
  static RawSocket connect_to(const std::string& url) {
    sockaddr_in address = loopback(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    RawSocket made(::socket(AF_INET, SOCK_STREAM, 0));
    if (::connect(made.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect to " + url);
    }
    return made;
  }
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }

  /// A later close drops all data in flight and resets the connection, as when a process is killed.
  void reset_when_closed() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  /// Ends reads and writes, also those in progress on other threads.
  void shut_down() { ::shutdown(fd_, SHUT_RDWR); }
  /// False when the other end has closed.
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t some = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (some <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(some));
    }
    return true;
  }
  /// Blocks for at least one byte; empty at the end.
  std::string read_some() {
    char buffer[4096];
    const ssize_t some = ::recv(fd_, buffer, sizeof buffer, 0);
    return some > 0 ? std::string(buffer, static_cast<size_t>(some)) : std::string();
  }
  std::string read_to_end() {
    std::string all;
    for (std::string some = read_some(); !some.empty(); some = read_some()) all += some;
    return all;
  }

 private:
  int fd_;
};

class RawListener : private NonCopyable {
 public:
  RawListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = RawSocket::loopback(0);
    socklen_t size = sizeof address;
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd_, 16) != 0) {
      throw std::runtime_error("cannot listen");
    }
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~RawListener() { ::close(fd_); }
  /// Ends an `accept` in progress on another thread.
  void shut_down() { ::shutdown(fd_, SHUT_RDWR); }

  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  RawSocket accept() { return RawSocket(::accept(fd_, nullptr, nullptr)); }

 private:
  int fd_;
  uint16_t port_ = 0;
};

/// A stranger that knows the token: it proves the token, and then may send anything. `shares`: it says that it can
/// share memory.
inline RawSocket proved_socket(const std::string& url, const std::string& token, bool shares = false) {
  RawSocket socket = RawSocket::connect_to(url);
  Handshake handshake(Handshake::Side::dialler, token, Handshake::fresh_nonce(), url, shares);
  REQUIRE(socket.write(handshake.output()));
  std::string bytes;
  while (handshake.wanted() != 0) {
    while (bytes.size() < handshake.wanted()) {
      const std::string some = socket.read_some();
      REQUIRE_FALSE(some.empty());
      bytes += some;
    }
    const size_t wanted = handshake.wanted();
    REQUIRE(handshake.input({reinterpret_cast<const std::byte*>(bytes.data()), wanted}).ok());
    bytes.erase(0, wanted);
    REQUIRE(socket.write(handshake.output()));
  }
  return socket;
}

}  // namespace actorhost::test
