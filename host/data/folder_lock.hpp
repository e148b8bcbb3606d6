#pragma once
// Locks by which a run claims the numbered directories of one name in a folder, such as its checkpoints: two runs would
// give them the same numbers and remove each other's. A lock is the file ".NAME.lock" in the folder, locked by flock,
// which on NFS holds for all machines of the folder. It ends with the process that holds it, however that ends; a file
// that is left over locks nothing. Any thread; calls block on the disk.

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "host/base/result.hpp"
#include "host/data/files.hpp"

namespace actorhost {

class FolderLock {
 public:
  /// Makes the folder where it is missing. Code::refused names the process and the machine that hold the lock.
  static Result<FolderLock> take(const std::filesystem::path& folder, const std::string& name);
  FolderLock(FolderLock&&) noexcept = default;
  FolderLock& operator=(FolderLock&&) = delete;
  /// Removes the file.
  ~FolderLock();

  /// False where the file system knows no locks, so that nothing keeps other runs away.
  bool locks() const noexcept { return locks_; }

 private:
  FolderLock(Fd file, std::filesystem::path path, bool locks)
      : file_(std::move(file)), path_(std::move(path)), locks_(locks) {}

  Fd file_;
  std::filesystem::path path_;
  bool locks_;
};

/// The locks of one run in one process, which holds each of them up to its end.
class FolderLocks {
 public:
  /// Does nothing where the run has the lock already.
  Status take(const std::filesystem::path& folder, const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, std::string>, FolderLock> held_;
};

}  // namespace actorhost
