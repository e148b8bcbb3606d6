#pragma once
// A small web server over libmicrohttpd, which is loaded when the first server opens. One thread of that library reads
// and writes all connections; it never blocks and holds no lock of this class while it writes. A response is given at
// once, later, or as a stream of messages. A slow reader retains at most one unread message: a newer message replaces
// it. A second thread ends overdue connections (web_places.hpp). Made, used and stopped by one owner; `reply` and
// `push` may be called from any thread.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/cluster/place/endpoint.hpp"
#include "host/page/web_places.hpp"

namespace actorhost {

struct WebRequest {
  uint64_t id = 0;  // for `reply`, `push` and `on_request_ended`
  std::string method, path;
  std::string host, origin, cookie, authorization;  // header lines; empty: missing
  std::map<std::string, std::string> query;
};

struct WebResponse {
  enum class When {
    now,
    later,   // the site calls `reply`
    stream,  // server-sent events; the site calls `push`
  };
  When when = When::now;
  unsigned status = 200;
  const char* type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body = {};  // may be shared by several responses
  std::string_view lasting = {};                 // used without `body`: text with static lifetime
  std::map<std::string, std::string> headers = {};
};

/// A response with one sentence as its text.
WebResponse web_sentence(unsigned status, const std::string& sentence);

/// The content of a server. Both functions are called on the server's thread and must not block.
class WebSite : public Interface {
 public:
  virtual WebResponse respond(const WebRequest& request) = 0;
  /// A request has ended, completed or not.
  virtual void on_request_ended(uint64_t request) = 0;
};

class WebServer : private NonCopyable {
 public:
  /// Listens. Code::unsupported: libmicrohttpd cannot be loaded; Code::io: the address is in use or not of this
  /// machine.
  static Result<std::unique_ptr<WebServer>> open(const Endpoint& at, WebSite& site, WebLimits limits = {});
  ~WebServer();

  /// The address that it listens on, with the port that the system chose.
  const Endpoint& bound() const noexcept { return bound_; }
  /// Replies to a pending request (When::later). Does nothing if the request has ended.
  void reply(uint64_t request, WebResponse response);
  /// Sends a message to a stream, as text of server-sent events; `last` ends the stream. Does nothing if the stream has
  /// ended.
  void push(uint64_t request, std::shared_ptr<const std::string> message, bool last = false);
  /// Ends all connections. On return the server calls the site no more. Idempotent.
  void stop();

 private:
  struct Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
  Endpoint bound_;
};

}  // namespace actorhost
