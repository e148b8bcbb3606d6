#include "host/cluster/place/pmi_job.hpp"

#include <cerrno>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorhost {

namespace {

constexpr int kReplyMilliseconds = 2000;  // milliseconds for each reply
constexpr size_t kLongest = 4096;

/// The reply to a line, without its newline; empty if there is none.
std::string send_request(int socket, std::string_view line) {
  if (::send(socket, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) return {};
  std::string reply;
  while (!reply.ends_with('\n') && reply.size() < kLongest) {
    pollfd ready{socket, POLLIN, 0};
    if (::poll(&ready, 1, kReplyMilliseconds) <= 0) return {};
    char bytes[256];
    const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    reply.append(bytes, static_cast<size_t>(got));
  }
  reply.pop_back();
  return reply;
}

}  // namespace

std::string query_pmi_job(int socket) {
  const std::string started = send_request(socket, "cmd=init pmi_version=1 pmi_subversion=1\n");
  if (!started.starts_with("cmd=response_to_init") || started.find("rc=0") == std::string::npos) return {};
  const std::string named = send_request(socket, "cmd=get_my_kvsname\n");
  send_request(socket, "cmd=finalize\n");
  const std::string_view start = "cmd=my_kvsname kvsname=";
  if (!named.starts_with(start)) return {};
  return named.substr(start.size(), named.find(' ', start.size()) - start.size());
}

}  // namespace actorhost
