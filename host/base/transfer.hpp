#pragma once
// Transfers of bytes by system calls that may transfer fewer bytes than requested.

#include <cerrno>
#include <cstddef>

#include <sys/types.h>

namespace actorhost {

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
