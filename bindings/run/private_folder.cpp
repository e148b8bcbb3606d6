#include "bindings/run/private_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/data/file/files.hpp"

namespace actorhost {

namespace {

constexpr std::string_view kPrefix = "actorhost-run-";
constexpr std::string_view kSuffix = "XXXXXX";
constexpr const char* kMark = ".actorhost-files";  // all files in the folder are the program's own
constexpr int kTries = 100;  // a retry follows when another run has removed the folder before it was locked

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};
using Listing = std::unique_ptr<DIR, CloseDir>;

/// Opens and locks a folder of this user. Invalid for another user's folder, a folder locked by a living process, and a
/// removed folder.
Fd lock(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!folder.valid() || ::fstat(folder.get(), &info) != 0) return {};
  if (info.st_uid != ::geteuid() || (info.st_mode & 07777) != 0700) return {};
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return {};
  if (::fstat(folder.get(), &info) != 0 || info.st_nlink == 0) return {};
  return folder;
}

/// Removes a locked folder with its contents if it has the mark of `own_files`. Otherwise removes the sockets in it,
/// and the folder if it is then empty.
void remove_own(const std::string& path, const Fd& folder) {
  if (::faccessat(folder.get(), kMark, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    return;
  }
  const Listing names(::fdopendir(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0)));
  while (const dirent* entry = names ? ::readdir(names.get()) : nullptr) {
    struct stat info {};
    const bool there = ::fstatat(folder.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISSOCK(info.st_mode)) ::unlinkat(folder.get(), entry->d_name, 0);
  }
  ::rmdir(path.c_str());
}

void remove_left_over(const std::string& base) {
  const Listing names(::opendir(base.c_str()));
  while (const dirent* entry = names ? ::readdir(names.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kSuffix.size()) continue;
    const std::string path = base + "/" + std::string(name);
    if (const Fd folder = lock(path); folder.valid()) remove_own(path, folder);
  }
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make() {
  const std::string base = tmpdir();
  remove_left_over(base);
  for (int i = 0; i < kTries; ++i) {
    std::string path = base + "/" + std::string(kPrefix) + std::string(kSuffix);
    if (::mkdtemp(path.data()) == nullptr) {
      return Error{Code::io, "cannot make a private folder (" + path + "): " + std::strerror(errno)};
    }
    Fd locked = lock(path);
    if (locked.valid()) return PrivateFolder(std::move(path), std::move(locked));
    ::rmdir(path.c_str());
  }
  return Error{Code::io, base + ": a private folder cannot be locked there; set TMPDIR to a local disk"};
}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  remove();
  path_ = std::exchange(other.path_, {});
  lock_ = std::move(other.lock_);
  return *this;
}

Status PrivateFolder::own_files() {
  const Fd mark(::openat(lock_.get(), kMark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!mark.valid()) return file_error(path_ + "/" + kMark, "making", errno);
  return {};
}

void PrivateFolder::remove() noexcept {
  if (!lock_.valid()) return;
  remove_own(path_, lock_);
  lock_ = Fd();
}

}  // namespace actorhost
