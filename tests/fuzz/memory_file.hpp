#pragma once
// A file in memory with the input of a fuzz target. All executions share it, because a new file costs more than
// decoding most inputs.

#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace actorhost {

/// The path of a file that holds `bytes` until the next call. One thread.
inline const std::string& memory_file(std::string_view bytes) {
  static const int file = memfd_create("input", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto size = static_cast<ssize_t>(bytes.size());
  if (ftruncate(file, size) != 0 || pwrite(file, bytes.data(), bytes.size(), 0) != size) std::abort();
  return path;
}

}  // namespace actorhost
