#include "host/rehearsal/simulated_disk.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "host/base/tasks.hpp"

namespace actorhost::rehearsal {

namespace {

constexpr double kByteSeconds = 1e-9;
constexpr double kSyncSeconds = 2e-3;
constexpr off_t kPage = 4096;

/// Copies the whole file to a new file.
void copy_to(int file, const char* path) {
  const Fd out(::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  std::array<char, 1 << 16> bytes{};
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), at);
    if (got <= 0 || ::write(out.get(), bytes.data(), static_cast<size_t>(got)) != got) return;
    at += got;
  }
}

}  // namespace

SimulatedDisk::SimulatedDisk(Scheduler& scheduler) : scheduler_(scheduler) { install(this); }

ssize_t SimulatedDisk::write(int fd, const void* bytes, size_t size) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return ::write(fd, bytes, size);
  if (fails(size)) return -1;
  const bool known = std::any_of(unsynced_.begin(), unsynced_.end(), [&](const Unsynced& file) {
    return file.device == info.st_dev && file.inode == info.st_ino;
  });
  if (!known) {
    unsynced_.push_back(
        {scheduler_.current_host(), info.st_dev, info.st_ino, Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), info.st_size});
  }
  return ::write(fd, bytes, size);
}

ssize_t SimulatedDisk::write_at(int fd, const void* bytes, size_t size, off_t offset) {
  return fails(size) ? -1 : ::pwrite(fd, bytes, size, offset);
}

/// Lets the time of a write pass, or of a sync with size 0. Sets errno if the disk is full or fails.
bool SimulatedDisk::fails(size_t size) {
  const uint32_t host = scheduler_.current_host();
  scheduler_.compute(static_cast<double>(size) * kByteSeconds);
  const auto full = full_.find(host);
  if (failing_.erase(host) > 0) {
    errno = EIO;
  } else if (size > 0 && full != full_.end() && scheduler_.time() < full->second) {
    errno = ENOSPC;
  } else {
    return false;
  }
  return true;
}

int SimulatedDisk::sync(int fd) {
  Task::sleep(kSyncSeconds);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return -1;
  const bool failed = fails(0);
  const auto is_this = [&](const Unsynced& file) { return file.device == info.st_dev && file.inode == info.st_ino; };
  if (failed) {
    for (const Unsynced& file : unsynced_) {
      if (is_this(file)) lose(file, nullptr);
    }
  }
  std::erase_if(unsynced_, is_this);
  if (failed) {
    errno = EIO;
    return -1;
  }
  std::erase_if(renames_, [&](const Rename& each) { return each.device == info.st_dev && each.folder == info.st_ino; });
  return 0;
}

int SimulatedDisk::rename(const char* from, const char* to, unsigned flags) {
  Fd replaced;
  if (flags == 0) replaced = Fd(::open(to, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, flags) != 0) return -1;
  const std::filesystem::path path = std::filesystem::absolute(to);
  struct stat folder {};
  if (::stat(path.parent_path().c_str(), &folder) == 0) {
    renames_.push_back({scheduler_.current_host(), folder.st_dev, folder.st_ino, std::filesystem::absolute(from), path,
                        flags != 0, std::move(replaced)});
  }
  return 0;
}

void SimulatedDisk::kill(uint32_t host) {
  std::erase_if(unsynced_, [host](const Unsynced& file) { return file.host == host; });
  std::erase_if(renames_, [host](const Rename& rename) { return rename.host == host; });
}

void SimulatedDisk::crash(uint32_t host, Rng& random) {
  for (const Unsynced& file : unsynced_) {
    if (file.host == host) lose(file, &random);
  }
  for (auto at = renames_.rbegin(); at != renames_.rend(); ++at) {
    if (at->host != host) continue;
    if (random.below(2) == 0) break;  // a journal keeps this rename and those before it
    undo(*at);
  }
  kill(host);
}

/// Loses some of the unsynced bytes, or all of them without `random`.
void SimulatedDisk::lose(const Unsynced& file, Rng* random) {
  struct stat info {};
  if (::fstat(file.file.get(), &info) != 0 || info.st_size <= file.synced) return;
  off_t end = file.synced;
  if (random != nullptr) end += static_cast<off_t>(random->below(static_cast<uint64_t>(info.st_size - end) + 1));
  (void)!::ftruncate(file.file.get(), end);
  constexpr std::array<char, kPage> kZeros{};
  for (off_t at = file.synced; random != nullptr && at < end; at += kPage) {
    if (random->below(4) != 0) continue;
    (void)!::pwrite(file.file.get(), kZeros.data(), static_cast<size_t>(std::min(kPage, end - at)), at);
  }
}

void SimulatedDisk::undo(const Rename& rename) {
  const unsigned flags = rename.exchange ? RENAME_EXCHANGE : 0;
  // Fails if the renamed file has been removed since, which then stays so.
  if (::renameat2(AT_FDCWD, rename.to.c_str(), AT_FDCWD, rename.from.c_str(), flags) != 0) return;
  if (rename.replaced.valid()) copy_to(rename.replaced.get(), rename.to.c_str());
}

}  // namespace actorhost::rehearsal
