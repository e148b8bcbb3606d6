#include "host/data/file/url_source.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "host/data/file/object_store.hpp"

namespace actorhost {

namespace {

HttpOptions& options_of_thread() noexcept {
  thread_local HttpOptions options;
  return options;
}

bool has_scheme(std::string_view path, std::string_view scheme) noexcept {
  if (path.size() < scheme.size()) return false;
  return std::equal(scheme.begin(), scheme.end(), path.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

}  // namespace

bool is_remote(std::string_view path) noexcept {
  return has_scheme(path, "http://") || has_scheme(path, "https://") || is_object_url(path);
}

std::string local_path(std::string path) {
  constexpr std::string_view kFile = "file://";
  if (has_scheme(path, kFile)) path.erase(0, kFile.size());
  return path;
}

Result<std::unique_ptr<HttpSource>> url_source(const std::string& url, const HttpRange& range) {
  if (!is_object_url(url)) return http_source({.url = url, .shown = shown_url(url)}, remote_options(), range);
  AH_LET(const auto object, parse_object_url(url));
  AH_LET(const auto store, ObjectStore::open());
  return http_source(store.get(object), remote_options(), range);
}

const HttpOptions& remote_options() noexcept { return options_of_thread(); }

RemoteOptions::RemoteOptions(HttpOptions options) : outer_(std::exchange(options_of_thread(), std::move(options))) {}
RemoteOptions::~RemoteOptions() { options_of_thread() = std::move(outer_); }

}  // namespace actorhost
