#pragma once
// A web server for tests: a table maps paths to responses and faults. It answers on its own thread until it is
// destroyed, one connection after another.

#include "tests/test.hpp"

namespace actorhost::test {

class HttpServer : private NonCopyable {
 public:
  /// A response: the status of its first line, further header lines with their line ends, and the body. `claimed` is
  /// the announced size if it differs from the body's size; `silent`: the server never answers.
  struct Response {
    int status = 200;
    std::string headers = {};
    std::string body = {};
    size_t claimed = std::string::npos;
    bool silent = false;
    /// The first request gets this many bytes of the body, and then the connection is lost. Later requests may be for
    /// a range.
    size_t lost_after = std::string::npos;
    int busy = 0;  // so many requests get status 503 first
  };

  explicit HttpServer(std::map<std::string, Response> responses);
  ~HttpServer();

  /// "http://127.0.0.1:PORT"
  std::string url() const;
  /// The number of requests so far.
  int requests() const { return requests_; }

 private:
  void serve();
  void respond(int connection);
  void lose(const std::string& request, const std::string& path, Response& response);

  const std::map<std::string, Response> responses_;
  std::map<std::string, int> refused_;  // requests with status 503, by path; of the server's thread
  std::set<std::string> lost_;          // paths with a cut first response; of the server's thread
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> quit_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace actorhost::test
