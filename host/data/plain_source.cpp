#include "host/data/plain_source.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

namespace actorhost {

Result<size_t> PlainSource::read(std::span<std::byte> out) {
  constexpr size_t kLargestRead = size_t{1} << 30;  // the kernel's own limit is a little above
  for (;;) {
    const ssize_t n = ::read(fd_.get(), out.data(), std::min(out.size(), kLargestRead));
    if (n >= 0) {
      offset_ += static_cast<uint64_t>(n);
      return static_cast<size_t>(n);
    }
    if (errno != EINTR) return file_error(path_, "reading at byte " + std::to_string(offset_), errno);
  }
}

}  // namespace actorhost
