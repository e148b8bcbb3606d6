#pragma once
// Requests over http and https through libcurl, for reading files and for object storage. libcurl verifies
// certificates and uses the proxies of the environment. A request without a signature follows redirections, to http and
// https only. A request that fails for a moment is repeated: a server that is busy (429, 500, 502, 503, 504) or a lost
// connection. A source belongs to the thread that reads it; calls block on the network.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/data/file/byte_source.hpp"

namespace actorhost {

struct HttpOptions {
  double seconds = 30;  // the longest time without a byte; connecting may take no longer, and 10 seconds at most
  /// Called regularly during a wait; an error ends the wait.
  std::function<Status()> check = {};
  /// PEM certificates to verify the server with; by default $CURL_CA_BUNDLE or $SSL_CERT_FILE, else the system's.
  std::string ca_file = {};
};

/// Signs a request as Amazon's services require (version 4 of their signature).
struct HttpSignature {
  std::string region;
  std::string access_key;
  std::string secret_key;
};

struct HttpRequest {
  std::string url;
  std::string shown;  // the name of the content in messages
  std::string method = "GET";
  std::vector<std::string> headers = {};  // "name: value"
  std::string_view body = {};             // of PUT and POST
  bool is_storage = false;                // of an object storage, which explains its errors in XML
  std::optional<HttpSignature> signature = {};
  std::string range = {};  // "0-99", of bytes
};

/// The part of a content that a source returns.
struct HttpRange {
  uint64_t begin = 0;
  /// The requested end. A source that is read beyond it requests further bytes.
  uint64_t end = std::numeric_limits<uint64_t>::max();
  /// The size of the whole content when the read was planned. Another size is an error (changed_file).
  std::optional<uint64_t> planned = {};
};

class HttpSource : public ByteSource {
 public:
  /// The size of the whole content. Nothing before the first read, or if the server does not report it.
  virtual std::optional<uint64_t> size() const = 0;
};

struct HttpReply {
  std::string body;
  std::string etag;
};

/// The URL without its user name and password, for messages.
std::string shown_url(const std::string& url);

/// Makes the source, which connects at the first read. After a lost connection it continues where it was, if the server
/// supports ranges and the content has an ETag. Errors of the transfer are Code::io and name `request.shown`: a server
/// does not reply, replies with a status from 400 on, or ends the connection before the announced length.
std::unique_ptr<HttpSource> http_source(HttpRequest request, HttpOptions options = {}, const HttpRange& range = {});

/// Sends requests one after another over the same connections, and returns each whole reply.
class HttpClient : private NonCopyable {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();

  /// Sends a request, which must have the same effect when it is sent twice. The errors are those of http_source.
  Result<HttpReply> send(const HttpRequest& request) { return send(request, options_); }
  Result<HttpReply> send(const HttpRequest& request, const HttpOptions& options);
  const HttpOptions& options() const noexcept { return options_; }
  /// The status of the last reply; 0 if there was none.
  long status() const noexcept { return status_; }

 private:
  struct Connections;
  const HttpOptions options_;
  std::unique_ptr<Connections> connections_;
  long status_ = 0;
};

}  // namespace actorhost
