#pragma once
// The unchanged bytes of a file or pipe as a ByteSource: read(2) directly into the caller's memory.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "host/base/fd.hpp"
#include "host/data/file/byte_source.hpp"

namespace actorhost {

class PlainSource final : public ByteSource {
 public:
  /// Owns `fd`; `path` is for messages; `prefix` holds the bytes already read from `fd`, which are returned first.
  PlainSource(Fd fd, std::filesystem::path path, std::string prefix = {})
      : fd_(std::move(fd)), path_(std::move(path)), prefix_(std::move(prefix)) {}
  Result<size_t> read(std::span<std::byte> out) override {
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
  /// Releases the descriptor at the current position.
  Fd release() && noexcept { return std::move(fd_); }

 private:
  Fd fd_;
  std::filesystem::path path_;
  std::string prefix_;
  uint64_t offset_ = 0;
};

}  // namespace actorhost
