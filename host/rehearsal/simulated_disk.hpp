#pragma once
// The disk of the simulated hosts. The files are the files of this machine, but a crash of a host loses unsynced bytes,
// and a disk may be full or fail. Only tasks use it.
//
// After a crash, a file keeps its synced bytes and a random number of the later bytes; some pages of these are zero.
// The newest renames may be undone if no sync of their folder followed. A killed host loses nothing.

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sys/stat.h>

#include "host/base/fd.hpp"
#include "host/base/random.hpp"
#include "host/data/file/disk.hpp"
#include "host/rehearsal/scheduler.hpp"

namespace actorhost::rehearsal {

class SimulatedDisk final : public Disk {
 public:
  /// Makes this the disk of the process, until its end.
  explicit SimulatedDisk(Scheduler& scheduler);
  ~SimulatedDisk() override { install(nullptr); }

  ssize_t write(int fd, const void* bytes, size_t size) override;
  ssize_t write_at(int fd, const void* bytes, size_t size, off_t offset) override;
  int sync(int fd) override;
  int rename(const char* from, const char* to, unsigned flags) override;

  /// The host's disk is full until `until`.
  void fill(uint32_t host, Time until) { full_[host] = until; }
  /// The next write or sync of the host fails. A failed sync loses the unsynced bytes of its file.
  void fail_next(uint32_t host) { failing_.insert(host); }
  void kill(uint32_t host);
  void crash(uint32_t host, Rng& random);

 private:
  /// A file with bytes after its last sync.
  struct Unsynced {
    uint32_t host;
    dev_t device;
    ino_t inode;
    Fd file;
    off_t synced;  // bytes
  };
  /// A rename without a later sync of its folder.
  struct Rename {
    uint32_t host;
    dev_t device;  // of the folder
    ino_t folder;
    std::string from;
    std::string to;
    bool exchange;
    Fd replaced;  // the file that had the name `to` before
  };

  bool fails(size_t size);
  static void lose(const Unsynced& file, Rng* random);
  static void undo(const Rename& rename);

  Scheduler& scheduler_;
  std::vector<Unsynced> unsynced_;
  std::vector<Rename> renames_;
  std::unordered_map<uint32_t, Time> full_;
  std::unordered_set<uint32_t> failing_;
};

}  // namespace actorhost::rehearsal
