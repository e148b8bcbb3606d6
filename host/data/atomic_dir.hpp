#pragma once
// Directories that are there completely or not at all: checkpoints. One is written under a temporary name,
// and `commit` makes it durable (files and directories are fsynced) before a rename gives it its final name,
// so a crash at any moment leaves the older ones and perhaps a temporary directory, which readers ignore and
// `clean_leftovers` removes. A writer holds a lock on its temporary directory: another process never takes it
// for a leftover.
//
//   final name     = PREFIX "-" number:12 digits
//   temporary name = "." final-name ".tmp-" pid "-" attempt
//   manifest.json  = {"format": 1, "files": [{"name", "bytes", "xxh3"}, ...]}   in each directory, written last
//
// An AtomicDir belongs to one thread at a time; the free functions may be called from any. Calls block on the
// disk.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/files.hpp"

namespace actorhost {

class AtomicDir {
 public:
  /// Makes the temporary directory for PARENT/PREFIX-number, and PARENT when it is missing. PREFIX holds
  /// letters, digits, '_' and '-' only.
  static Result<AtomicDir> begin(const std::filesystem::path& parent, const std::string& prefix, uint64_t number);
  AtomicDir(AtomicDir&& other) noexcept;
  AtomicDir& operator=(AtomicDir&&) = delete;
  /// Removes the temporary directory unless it was committed.
  ~AtomicDir();

  /// Where to put the files: plain files, no directories below.
  const std::filesystem::path& path() const noexcept { return temporary_; }
  const std::filesystem::path& final_path() const noexcept { return final_; }

  /// Writes the manifest, syncs everything and renames; a directory of that name that exists is replaced in
  /// the same instant. A failure before the rename leaves what was under the final name as it was; one of
  /// syncing PARENT after it means that the new directory is there but might not survive a power cut. Call
  /// once.
  Status commit();

 private:
  AtomicDir() = default;

  std::filesystem::path parent_;
  std::filesystem::path final_;
  std::filesystem::path temporary_;  // empty once committed or moved from
  Fd lock_;
};

struct NumberedDir {
  std::filesystem::path path;
  uint64_t number = 0;
};

/// The complete directories of that prefix, highest number first. Those whose manifest is missing or
/// unreadable, or that lack a file or have one of another size, are left out. A missing parent is an empty
/// list.
Result<std::vector<NumberedDir>> list_complete(const std::filesystem::path& parent, const std::string& prefix);

/// All directories of that prefix, complete or not, highest number first.
Result<std::vector<NumberedDir>> list_numbered(const std::filesystem::path& parent, const std::string& prefix);

/// Whether there is a complete one of any prefix.
Result<bool> has_complete(const std::filesystem::path& parent);

/// Reads every file of a complete directory and compares its hash with the manifest. Code::bad_data names the
/// file.
Status verify_dir(const std::filesystem::path& dir);

/// Removes the temporary directories of that prefix whose writer is gone; returns how many.
Result<size_t> clean_leftovers(const std::filesystem::path& parent, const std::string& prefix);

/// Removes all but the `keep` newest complete directories of that prefix; returns how many.
Result<size_t> prune_complete(const std::filesystem::path& parent, const std::string& prefix, size_t keep);

}  // namespace actorhost
