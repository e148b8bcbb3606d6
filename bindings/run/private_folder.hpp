#pragma once
// A folder below TMPDIR that only this user can enter: for the sockets of an --isolate run, and for the files of a job
// that `actorhost launch` sends. The object holds a lock on its folder; an unlocked folder is left over from a killed
// process. Not thread-safe.

#include <string>

#include "host/base/fd.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class PrivateFolder {
 public:
  /// Also removes this user's left-over folders.
  static Result<PrivateFolder> make();
  PrivateFolder(PrivateFolder&& other) noexcept = default;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder() { remove(); }

  const std::string& path() const noexcept { return path_; }
  /// Marks all files in the folder as the program's own: they are then removed with it, like sockets.
  Status own_files();
  /// Removes the folder, and the sockets or the program's own files in it.
  void remove() noexcept;

 private:
  PrivateFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  Fd lock_;
};

}  // namespace actorhost
