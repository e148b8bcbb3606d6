#include "host/data/file/folder_lock.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/data/file/object_store.hpp"

namespace actorhost {

namespace fs = std::filesystem;

namespace {

constexpr int kTries = 100;  // each further try means that another run has just ended

/// "process 77 on alpha", as written by the holder; empty if the holder has not written yet.
std::string holder_of(int file) {
  std::array<char, 128> text{};
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  const std::string_view line(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  return std::string(line.substr(0, line.find('\n')));
}

void write_holder(int file) {
  std::array<char, 65> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const std::string text = "process " + std::to_string(::getpid()) + " on " + host.data() + "\n";
  if (::ftruncate(file, 0) == 0) (void)!::pwrite(file, text.data(), text.size(), 0);
}

/// Whether the open file still has this name: its previous holder may have removed it.
bool is_file_at(int file, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

Result<FolderLock> FolderLock::take(const fs::path& folder, const std::string& name) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return file_error(folder, "cannot make the directory", failed.value());
  const fs::path path = folder / ("." + name + ".lock");
  for (int i = 0; i < kTries; ++i) {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.valid()) return file_error(path, "cannot open", errno);
    const bool locked = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) {
      const std::string holder = holder_of(file.get());
      return Error{Code::refused, "another run keeps its checkpoints in '" + folder.string() + "'" +
                                      (holder.empty() ? "" : " (" + holder + ")") +
                                      "; give this run another folder, or end that run first"};
    }
    if (locked && !is_file_at(file.get(), path)) continue;
    write_holder(file.get());
    return FolderLock(std::move(file), path, locked);
  }
  return Error{Code::io, path.string() + ": other runs keep taking and releasing this lock"};
}

FolderLock::~FolderLock() {
  if (file_.valid() && locks_) ::unlink(path_.c_str());
}

Status FolderLocks::take(const fs::path& folder, const std::string& name) {
  if (is_object_url(folder.string())) return {};
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
  std::lock_guard lock(mutex_);
  const std::pair key(whole, name);
  if (held_.contains(key)) return {};
  AH_LET(auto taken, FolderLock::take(folder, name));
  held_.emplace(key, std::move(taken));
  return {};
}

}  // namespace actorhost
