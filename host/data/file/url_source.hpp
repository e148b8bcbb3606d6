#pragma once
// URLs in the place of paths: http, https, s3, and file with a path of this machine. Any thread; calls block on the
// network.

#include <memory>
#include <string>
#include <string_view>

#include "host/base/result.hpp"
#include "host/data/file/http_source.hpp"

namespace actorhost {

/// Whether the content has to be fetched: the scheme is http, https or s3.
bool is_remote(std::string_view path) noexcept;

/// The path of "file://PATH"; other texts are unchanged.
std::string local_path(std::string path);

/// The content of a remote URL, read with the options of this thread.
Result<std::unique_ptr<HttpSource>> url_source(const std::string& url, const HttpRange& range = {});

/// The options of this thread for remote files; without a RemoteOptions, the default ones.
const HttpOptions& remote_options() noexcept;

/// Sets the options of this thread during its lifetime, so that every reader of files can read remote files.
class RemoteOptions : private NonCopyable {
 public:
  explicit RemoteOptions(HttpOptions options);
  ~RemoteOptions();

 private:
  HttpOptions outer_;
};

}  // namespace actorhost
