#pragma once
// The unchanged bytes of a file or pipe as a ByteSource: read(2) directly into the caller's memory.

#include <cstdint>
#include <filesystem>
#include <string>

#include "host/data/file/byte_source.hpp"
#include "host/data/file/files.hpp"

namespace actorhost {

class PlainSource final : public ByteSource {
 public:
  /// Owns `fd`; `path` is for messages; `prefix` holds the bytes already read from `fd`, which are returned first.
  PlainSource(Fd fd, std::filesystem::path path, std::string prefix = {})
      : fd_(std::move(fd)), path_(std::move(path)), prefix_(std::move(prefix)) {}
  Result<size_t> read(std::span<std::byte> out) override;
  /// Releases the descriptor at the current position.
  Fd release() && noexcept { return std::move(fd_); }

 private:
  Fd fd_;
  std::filesystem::path path_;
  std::string prefix_;
  uint64_t offset_ = 0;
};

}  // namespace actorhost
