#pragma once
// The system calls that make files durable. They go to the system, or to the simulated disk of a rehearsal, which may
// be full, fail, or lose unsynced bytes in a crash. Any thread.

#include <cerrno>
#include <cstddef>
#include <cstdio>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "host/base/non_copyable.hpp"

namespace actorhost {

/// The calls behave as the system's: a negative result and errno on failure.
class Disk : public Interface {
 public:
  virtual ssize_t write(int fd, const void* bytes, size_t size) = 0;
  /// Only for files without a name, which no crash leaves behind.
  virtual ssize_t write_at(int fd, const void* bytes, size_t size, off_t offset) = 0;
  /// fsync(2). The caller holds no lock that another task may want.
  virtual int sync(int fd) = 0;
  /// renameat2(2); `flags` is 0 or RENAME_EXCHANGE.
  virtual int rename(const char* from, const char* to, unsigned flags) = 0;

  /// The simulated disk; nullptr in production.
  static Disk* installed() noexcept { return installed_; }
  /// Sets the simulated disk. Before the first task starts.
  static void install(Disk* disk) noexcept { installed_ = disk; }

 private:
  inline static Disk* installed_ = nullptr;
};

namespace disk {

inline ssize_t write(int fd, const void* bytes, size_t size) {
  return Disk::installed() == nullptr ? ::write(fd, bytes, size) : Disk::installed()->write(fd, bytes, size);
}
inline ssize_t write_at(int fd, const void* bytes, size_t size, off_t offset) {
  if (Disk::installed() == nullptr) return ::pwrite(fd, bytes, size, offset);
  return Disk::installed()->write_at(fd, bytes, size, offset);
}
inline int sync(int fd) { return Disk::installed() == nullptr ? ::fsync(fd) : Disk::installed()->sync(fd); }
inline int rename(const char* from, const char* to, unsigned flags = 0) {
  if (Disk::installed() == nullptr) return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
  return Disk::installed()->rename(from, to, flags);
}

}  // namespace disk

}  // namespace actorhost
