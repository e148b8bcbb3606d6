#include "tests/integration/http_server.hpp"

#include <poll.h>

#include "tests/host/net/raw_socket.hpp"

namespace actorhost::test {

HttpServer::HttpServer(std::map<std::string, Response> responses) : responses_(std::move(responses)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = RawSocket::loopback(0);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || ::bind(listener_, any, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, any, &size) != 0) {
    throw std::runtime_error("the test's web server cannot listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  quit_ = true;
  thread_.join();
  ::close(listener_);
}

std::string HttpServer::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void HttpServer::serve() {
  std::vector<int> silent;  // open until the end
  while (!quit_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    respond(connection);
    silent.push_back(connection);
  }
  for (const int connection : silent) ::close(connection);
}

/// Cuts the body of the first response for `path`; a later response has the requested range of it.
void HttpServer::lose(const std::string& request, const std::string& path, Response& response) {
  const size_t range = request.find("Range: bytes=");
  const std::string total = std::to_string(response.body.size());
  response.headers += "ETag: \"one\"\r\nAccept-Ranges: bytes\r\n";
  response.claimed = response.body.size();
  if (lost_.insert(path).second) {
    response.body.resize(response.lost_after);
  } else if (range != std::string::npos) {
    const size_t begin = std::stoul(request.substr(range + std::strlen("Range: bytes=")));
    response.status = 206;
    response.headers += "Content-Range: bytes " + std::to_string(begin) + "-" +
                        std::to_string(response.body.size() - 1) + "/" + total + "\r\n";
    response.body.erase(0, begin);
    response.claimed = response.body.size();
  }
}

void HttpServer::respond(int connection) {
  std::string request;
  char bytes[4096];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = ::recv(connection, bytes, sizeof bytes, 0);
    if (got <= 0) return;
    request.append(bytes, static_cast<size_t>(got));
  }
  ++requests_;
  const size_t begin = request.find(' ') + 1;
  const auto found = responses_.find(request.substr(begin, request.find(' ', begin) - begin));
  Response response = found != responses_.end() ? found->second : Response{404, {}, "no such page\n"};
  if (response.silent) return;
  if (response.busy > 0 && ++refused_[found->first] <= response.busy) response = Response{503, {}, "busy\n"};
  if (response.lost_after != std::string::npos) lose(request, found->first, response);
  const size_t claimed = response.claimed != std::string::npos ? response.claimed : response.body.size();
  const std::string text = "HTTP/1.1 " + std::to_string(response.status) +
                           " X\r\nConnection: close\r\nContent-Length: " + std::to_string(claimed) + "\r\n" +
                           response.headers + "\r\n" + response.body;
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<size_t>(n);
  }
  ::shutdown(connection, SHUT_RDWR);
}

}  // namespace actorhost::test
