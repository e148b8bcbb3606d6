#pragma once
// Locks that reserve the numbered directories of one name in a folder, such as checkpoints, for one run. Otherwise two
// runs would use the same numbers and remove each other's directories. A lock is the file ".NAME.lock" in the folder,
// locked with flock; on NFS the lock holds for all machines that share the folder. The lock ends with its process,
// even if the process is killed; a left-over file locks nothing. Any thread; calls block on the disk.

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "host/base/fd.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class FolderLock {
 public:
  /// Creates a missing folder. Code::refused names the process and the machine that hold the lock.
  static Result<FolderLock> take(const std::filesystem::path& folder, const std::string& name);
  FolderLock(FolderLock&&) noexcept = default;
  FolderLock& operator=(FolderLock&&) = delete;
  /// Removes the file.
  ~FolderLock();

  /// False where the file system does not support locks, so that other runs are not excluded.
  bool locks() const noexcept { return locks_; }

 private:
  FolderLock(Fd file, std::filesystem::path path, bool locks)
      : file_(std::move(file)), path_(std::move(path)), locks_(locks) {}

  Fd file_;
  std::filesystem::path path_;
  bool locks_;
};

/// The locks of one run in one process, held until the end of the run.
class FolderLocks {
 public:
  /// No effect if the run already holds the lock, or for an s3:// folder: an object storage has no locks.
  Status take(const std::filesystem::path& folder, const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, std::string>, FolderLock> held_;
};

}  // namespace actorhost
