#pragma once
// A folder below TMPDIR that only this user can enter: the processes of an --isolate run meet there. The object holds a
// lock on its folder; an unlocked folder is the rest of a killed process. One thread at a time.

#include <string>

#include "host/base/result.hpp"
#include "host/data/files.hpp"

namespace actorhost {

class PrivateFolder {
 public:
  /// Also removes this user's folders that were left over.
  static Result<PrivateFolder> make();
  PrivateFolder(PrivateFolder&& other) noexcept = default;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder() { remove(); }

  const std::string& path() const noexcept { return path_; }
  /// Removes the folder and the sockets in it.
  void remove() noexcept;

 private:
  PrivateFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  Fd lock_;
};

}  // namespace actorhost
