#pragma once
// The compiled-in files of the page: host/page/assets and the chart library. Thread-safe.

#include <span>
#include <string_view>

namespace actorhost {

struct PageFile {
  std::string_view path;  // of the request, as "/page.css"
  const char* type;
  std::string_view bytes;
};

std::span<const PageFile> page_files() noexcept;

}  // namespace actorhost
