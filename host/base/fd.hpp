#pragma once
// An owned file descriptor, the error of a failed call on a file, and transfers of bytes by system calls. One thread at
// a time.

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

#include "host/base/result.hpp"

namespace actorhost {

/// Code::io with "PATH: OPERATION: reason", from an errno value.
inline Error file_error(const std::string& path, std::string_view operation, int error_number) {
  return {Code::io, path + ": " + std::string(operation) + ": " + std::generic_category().message(error_number)};
}

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    const Fd closed(std::exchange(fd_, other.release()));
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes now. If close(2) fails, the error names `path`.
  Status close(const std::string& path) {
    if (valid() && ::close(release()) != 0 && errno != EINTR) return file_error(path, "closing", errno);
    return {};
  }

 private:
  int fd_ = -1;
};

/// The result of `transfer` when a call moves no bytes: the end of the input.
inline constexpr int kNoMore = ENODATA;

/// Calls `io(bytes, size)`, which is read(2), pwrite(2), send(2) or the like, until all bytes are moved; repeats a call
/// that a signal interrupts. Returns 0, the error number, or kNoMore.
template <typename Byte, typename Io>
int transfer(Byte* bytes, size_t size, const Io& io) {
  while (size > 0) {
    const ssize_t moved = io(bytes, size);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return moved < 0 ? errno : kNoMore;
    bytes += moved;
    size -= static_cast<size_t>(moved);
  }
  return 0;
}

}  // namespace actorhost
