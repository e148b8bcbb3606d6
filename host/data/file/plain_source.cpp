#include "host/data/file/plain_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace actorhost {

Result<size_t> PlainSource::read(std::span<std::byte> out) {
  constexpr size_t kLargestRead = size_t{1} << 30;  // slightly below the kernel's own limit
  if (offset_ < prefix_.size()) {
    const size_t n = std::min(out.size(), prefix_.size() - static_cast<size_t>(offset_));
    if (n != 0) std::memcpy(out.data(), prefix_.data() + offset_, n);
    offset_ += n;
    return n;
  }
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
