#pragma once
// Files that users save, replaced completely or not at all. The bytes go into an unnamed file beside the target.
// `commit` makes them durable, gives the file a temporary name and renames it to the target. A failure or a crash
// leaves the old file unchanged. Only a crash can leave the temporary name ".actorhost-PID-NUMBER.tmp" behind: during
// the rename or, on a file system without unnamed files, also before `commit`.
//
// A symbolic link stays a link: the file that it points to is replaced. The new file takes the permissions of the old
// file, and the owner if this process may change owners; other hard links keep the old content. A target that is not a
// regular file (a device, a pipe, /dev/stdout) is written in place. `begin` refuses a file without write permission,
// and a file in a folder without write permission, since the folder cannot hold the new file.
//
// An s3:// URL is an object, which appears or is replaced at `commit` (object_upload.hpp).
//
// An AtomicFile belongs to one thread at a time. Calls block on the disk.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "host/base/result.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/object_upload.hpp"

namespace actorhost {

class AtomicFile {
 public:
  static Result<AtomicFile> begin(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Discards the written bytes unless they were committed.
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes) const {
    return upload_ ? upload_->write(bytes) : write_all(fd_.get(), bytes, path_);
  }
  /// Syncs and renames. A failure before the rename leaves the target unchanged. If the sync of the folder after the
  /// rename fails, the new file exists but may not survive a power failure. Call once.
  Status commit();

 private:
  AtomicFile() = default;
  Status create_beside();
  Status copy_permissions(const std::filesystem::path& old) const;
  Status give_name();

  std::filesystem::path path_;       // as given, for messages
  std::filesystem::path target_;     // with all links resolved; empty where the file is written in place
  std::filesystem::path temporary_;  // empty while the file is unnamed
  Fd fd_;
  std::unique_ptr<ObjectUpload> upload_;  // of an object, instead of a file
};

/// The file that a write to `path` creates or changes, with all links resolved; it need not exist. Nothing if the links
/// cannot be resolved or the target is not a regular file.
std::optional<std::filesystem::path> regular_file_behind(const std::filesystem::path& path);

}  // namespace actorhost
