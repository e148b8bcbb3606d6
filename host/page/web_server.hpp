#pragma once
// A small web server over libmicrohttpd, which is loaded when the first one is opened. One thread of that library reads
// and writes all connections and never blocks; it holds no lock of this class while it writes. An answer comes at once,
// later, or as a stream of messages. A slow reader costs one message: what it has not begun to read is replaced by what
// is newer. A second thread ends connections whose deadline has passed (web_places.hpp). Made, used and stopped by one
// owner; `reply` and `push` from any thread.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/result.hpp"
#include "host/cluster/endpoint.hpp"
#include "host/page/web_places.hpp"

namespace actorhost {

struct WebRequest {
  uint64_t id = 0;  // for `reply`, `push` and `gone`
  std::string method, path;
  std::string host, origin, cookie, authorization;  // header lines; empty: absent
  std::map<std::string, std::string> query;
};

struct WebAnswer {
  enum class When {
    now,
    later,   // `reply` brings it
    stream,  // of server-sent events, which `push` brings
  };
  When when = When::now;
  unsigned status = 200;
  const char* type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body = {};  // shared with others that get the same
  std::string_view lasting = {};                 // instead of `body`: text that is there for ever
  std::map<std::string, std::string> headers = {};
};

/// An answer of one sentence.
WebAnswer web_sentence(unsigned status, const std::string& sentence);

/// What a server serves. Both calls come on the server's thread and must not block.
class WebSite {
 public:
  WebSite() = default;
  WebSite(const WebSite&) = delete;
  WebSite& operator=(const WebSite&) = delete;
  virtual ~WebSite() = default;
  virtual WebAnswer answer(const WebRequest& request) = 0;
  /// A request has come to its end, however it did.
  virtual void gone(uint64_t request) = 0;
};

class WebServer {
 public:
  /// Listens. Code::unsupported: libmicrohttpd is not there; Code::io: the address is taken or is none of this machine.
  static Result<std::unique_ptr<WebServer>> open(const Endpoint& at, WebSite& site, WebLimits limits = {});
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  /// Where it listens, with the port that the system chose.
  const Endpoint& bound() const noexcept { return bound_; }
  /// The answer to a request that was to be answered later. Does nothing for one that is gone.
  void reply(uint64_t request, WebAnswer answer);
  /// A message for a stream, as text of server-sent events; `last` ends it. Does nothing for one that is gone or
  /// has had its last.
  void push(uint64_t request, std::shared_ptr<const std::string> message, bool last = false);
  /// Ends all connections. On return the site is not called any more. Idempotent.
  void stop();

 private:
  struct Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
  Endpoint bound_;
};

}  // namespace actorhost
