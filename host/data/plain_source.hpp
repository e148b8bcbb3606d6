#pragma once
// The bytes of an uncompressed file or pipe as a ByteSource: read(2) straight into the caller's memory.

#include <cstdint>
#include <filesystem>

#include "host/data/byte_source.hpp"
#include "host/data/files.hpp"

namespace actorhost {

class PlainSource final : public ByteSource {
 public:
  /// Owns `fd`; `path` is for messages.
  PlainSource(Fd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Result<size_t> read(std::span<std::byte> out) override;

 private:
  Fd fd_;
  std::filesystem::path path_;
  uint64_t offset_ = 0;
};

}  // namespace actorhost
