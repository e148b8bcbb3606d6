#pragma once
// One HTTP request and its reply, through libcurl. http_source.cpp repeats requests that fail for a moment. A transfer
// belongs to the thread that reads it; reads block on the network.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/file/curl.hpp"
#include "host/data/file/http_source.hpp"

namespace actorhost {

/// Requests of one owner reuse its connections.
using HttpConnections = std::unique_ptr<CURLM, CurlMultiDelete>;

class HttpTransfer : private NonCopyable {
 public:
  /// The arguments outlive the transfer. `offset`: of the reply's first byte in the whole content, for messages.
  HttpTransfer(const HttpConnections& connections, const HttpRequest& request, const HttpOptions& options,
               uint64_t offset = 0)
      : connections_(connections.get()), request_(request), options_(options), received_(offset) {}
  ~HttpTransfer();

  /// Reads the body of a successful reply; 0 at its end. The first call sends the request and waits for the reply.
  Result<size_t> read(std::span<std::byte> out);
  /// The status of the reply; 0 before the reply.
  long status() const noexcept { return status_; }
  /// A header of the reply by its name in lower case; empty if it is absent.
  std::string header(const std::string& name) const;
  /// Whether the failure of `read` may be over a moment later: a lost connection, or a server that is busy.
  bool is_temporary() const noexcept { return is_temporary_; }

 private:
  Status start();
  Status set_request();
  Status receive_more();
  Status finish();
  Error failed(const std::string& reason) const;
  bool is_refused() const noexcept;
  static size_t on_bytes(const char* bytes, size_t one, size_t count, void* self_pointer);
  static size_t on_header(const char* bytes, size_t one, size_t count, void* self_pointer);

  const Curl& curl_ = Curl::get();
  CURLM* connections_;
  const HttpRequest& request_;
  const HttpOptions& options_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::unique_ptr<curl_slist, CurlListDelete> headers_;
  std::unique_ptr<CURL, CurlEasyDelete> easy_;
  std::map<std::string, std::string, std::less<>> reply_headers_;
  std::string buffer_;  // of the body, or of the page of an error
  size_t used_ = 0;     // consumed bytes of buffer_
  uint64_t received_;   // the offset of the next byte in the content
  long status_ = 0;
  bool paused_ = false;
  bool done_ = false;
  bool is_temporary_ = false;
};

}  // namespace actorhost
