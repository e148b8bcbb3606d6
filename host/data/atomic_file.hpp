#pragma once
// Files that users save, which are replaced as a whole or not at all. The bytes go into an unnamed file beside the
// target, and `commit` makes them durable and gives them the target's name in one step, so a failure or a crash leaves
// the file that was there, and no temporary file. Where the file system has no unnamed files, the file is called
// ".actorhost-PID-NUMBER.tmp", which only a crash leaves behind.
//
// A link stays a link: the file behind it is replaced. The new file has the permissions of the old one, and its owner
// where this process may give files away; other hard links keep the old content. What is not a regular file (a device,
// a pipe, /dev/stdout) is written in place. A file that may not be written is refused, and so is a file in a folder
// that may not be: there is no place for the new file.
//
// An AtomicFile belongs to one thread at a time. Calls block on the disk.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "host/base/result.hpp"
#include "host/data/files.hpp"

namespace actorhost {

class AtomicFile {
 public:
  static Result<AtomicFile> begin(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Gives up what was written unless it was committed.
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes) const { return write_all(fd_.get(), bytes, path_); }
  /// Syncs and renames. A failure leaves the target as it was; a failure to sync the folder, after the rename, means
  /// that the new file is there but might not survive a power cut. Call once.
  Status commit();

 private:
  AtomicFile() = default;
  Status create_beside();
  Status take_after(const std::filesystem::path& old) const;
  Status give_name();

  std::filesystem::path path_;       // as it was given, for messages
  std::filesystem::path target_;     // behind all links; empty where the file is written in place
  std::filesystem::path temporary_;  // empty while the file has no name
  Fd fd_;
};

/// The file behind all links of `path`, which need not exist: the file that writing to `path` makes. Nothing when the
/// links lead nowhere or the target is not a regular file.
std::optional<std::filesystem::path> regular_file_behind(const std::filesystem::path& path);

}  // namespace actorhost
