#pragma once
// Writes a directory atomically, for checkpoints: it appears completely or not at all. The writer fills a temporary
// directory. `commit` makes its content durable (fsync) and then renames it to the final name. After a crash at any
// moment the older directories are intact. A temporary directory may remain: readers ignore it, and `clean_leftovers`
// removes it. A writer locks its temporary directory, so that other processes do not remove it as a leftover.
//
// A parent in an object storage (s3://BUCKET/KEY): the temporary directory is in $TMPDIR, and `commit` copies its files
// and then the manifest. Incomplete directories are leftovers (object_dir.hpp).
//
//   final name     = PREFIX "-" number:12 digits
//   temporary name = "." final-name ".tmp-" pid "-" attempt
//   manifest.json  = {"format": 1, "files": [{"name", "bytes", "xxh3"}, ...]}   in each directory, written last
//
// An AtomicDir belongs to one thread at a time; any thread may call the free functions. Calls block on the disk.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/base/fd.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class AtomicDir {
 public:
  /// Creates the temporary directory of `parent`/`prefix`-`number`, and `parent` if it is missing. `prefix` has only
  /// letters, digits, '_' and '-'.
  static Result<AtomicDir> begin(const std::filesystem::path& parent, const std::string& prefix, uint64_t number);
  AtomicDir(AtomicDir&& other) noexcept;
  AtomicDir& operator=(AtomicDir&&) = delete;
  /// Removes the temporary directory unless it was committed.
  ~AtomicDir();

  /// The directory for the files: regular files only, no subdirectories.
  const std::filesystem::path& path() const noexcept { return temporary_; }
  const std::filesystem::path& final_path() const noexcept { return final_; }

  /// Writes the manifest, syncs all files, and renames the directory to its final name, which atomically replaces a
  /// directory of that name. After an error before the rename, nothing has changed under the final name. If the sync of
  /// the parent after the rename fails, the new directory exists but may not survive a power failure. To be called
  /// once.
  Status commit();

 private:
  AtomicDir() = default;
  static Result<AtomicDir> begin_stored(const std::filesystem::path& parent, const std::string& name);

  std::filesystem::path parent_;
  std::filesystem::path final_;
  std::filesystem::path temporary_;  // empty once committed or moved from
  Fd lock_;
};

/// A directory to read from. Of a directory in an object storage, this is a copy in $TMPDIR, which the destructor
/// removes.
class FetchedDir : private NonCopyable {
 public:
  /// Code::bad_data for a directory without a manifest in an object storage; Code::io if the storage cannot be read.
  Status fetch(const std::filesystem::path& dir);
  ~FetchedDir();
  const std::filesystem::path& path() const noexcept { return copy_.empty() ? dir_ : copy_; }

 private:
  std::filesystem::path dir_;
  std::filesystem::path copy_;  // empty for a directory on a disk
};

struct NumberedDir {
  std::filesystem::path path;
  uint64_t number = 0;
};

/// The complete directories with this prefix, highest number first. A directory is incomplete if its manifest is
/// missing or unreadable, or if a listed file is missing or has another size. A missing parent gives an empty list. An
/// object storage that cannot be read is an error.
Result<std::vector<NumberedDir>> list_complete(const std::filesystem::path& parent, const std::string& prefix);

/// All directories with this prefix, complete or not, highest number first.
Result<std::vector<NumberedDir>> list_numbered(const std::filesystem::path& parent, const std::string& prefix);

/// Whether `parent` holds a complete directory with any prefix.
Result<bool> has_complete(const std::filesystem::path& parent);

/// Compares the hash of every file of a complete directory on a disk with the manifest. Code::bad_data names the file,
/// without the directory.
Status verify_dir(const std::filesystem::path& dir);

/// Removes the temporary directories with this prefix whose writer has ended; returns the number removed.
Result<size_t> clean_leftovers(const std::filesystem::path& parent, const std::string& prefix);

/// Removes all but the `keep` newest complete directories with this prefix; returns the number removed.
Result<size_t> prune_complete(const std::filesystem::path& parent, const std::string& prefix, size_t keep);

}  // namespace actorhost
