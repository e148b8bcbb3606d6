#include "host/net/tcp_socket.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <netinet/in.h>
#include <poll.h>

namespace actorhost {

namespace {

bool same(const sockaddr_storage& one, const sockaddr_storage& other) {
  if (one.ss_family != other.ss_family) return false;
  if (one.ss_family == AF_INET) {
    const auto& a = reinterpret_cast<const sockaddr_in&>(one);
    const auto& b = reinterpret_cast<const sockaddr_in&>(other);
    return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
  }
  if (one.ss_family != AF_INET6) return false;
  const auto& a = reinterpret_cast<const sockaddr_in6&>(one);
  const auto& b = reinterpret_cast<const sockaddr_in6&>(other);
  return a.sin6_port == b.sin6_port && std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

class MessageHeader {
 public:
  MessageHeader(const Piece* pieces, size_t count) {
    for (size_t i = 0; i < count; ++i) vectors_[i] = {pieces[i].data, pieces[i].size};
    message_.msg_iov = vectors_.data();
    message_.msg_iovlen = count;
  }
  msghdr* get() noexcept { return &message_; }

 private:
  std::array<iovec, kMaxPieces> vectors_{};
  msghdr message_{};
};

IoResult result_of(ssize_t bytes) {
  if (bytes > 0) return {IoEnd::done, static_cast<size_t>(bytes)};
  if (bytes == 0) return {IoEnd::closed, 0, "connection shut down"};
  switch (errno) {
    case EAGAIN:
    case EINTR: return {IoEnd::would_block, 0, "no room or no bytes"};
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED: return {IoEnd::closed, 0, strerrordesc_np(errno)};
    default: return {IoEnd::failed, 0, strerrordesc_np(errno)};
  }
}

}  // namespace

int socket_between(const sockaddr_storage& here, const sockaddr_storage& there) {
  if (here.ss_family == AF_UNSPEC) return -1;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failed)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 || !same(address, here)) continue;
    size = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 && same(address, there)) return fd;
  }
  return -1;
}

IoResult receive_from(int socket, const Piece* pieces, size_t count) {
  return result_of(::recvmsg(socket, MessageHeader(pieces, count).get(), MSG_DONTWAIT));
}

IoResult send_to(int socket, const Piece* pieces, size_t count) {
  return result_of(::sendmsg(socket, MessageHeader(pieces, count).get(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool wait_for_bytes(int socket, int milliseconds) {
  pollfd wanted{socket, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&wanted, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

void wake_for(int socket, int bytes) { ::setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes); }

}  // namespace actorhost
