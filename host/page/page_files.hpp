#pragma once
// The files of the page, compiled in: host/page/assets and the chart library. Any thread.

#include <span>
#include <string_view>

namespace actorhost {

struct PageFile {
  std::string_view path;  // of the request: "/page.css"
  const char* type;
  std::string_view bytes;
};

std::span<const PageFile> page_files() noexcept;

}  // namespace actorhost
