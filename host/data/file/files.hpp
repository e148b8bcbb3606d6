#pragma once
// File helpers for the readers and writers of this folder: opening with clear error messages, syncing to disk. Any
// thread; each call blocks on the disk.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "host/base/fd.hpp"
#include "host/base/result.hpp"

namespace actorhost {

struct OpenedFile {
  Fd fd;
  uint64_t size = 0;  // bytes at the time of opening; 0 for files without a size (pipes, /proc)
  bool regular = false;
};

/// Opens for reading. A directory is an error with its own message. The content of a remote URL is fetched into an
/// unnamed file in $TMPDIR.
Result<OpenedFile> open_for_reading(const std::filesystem::path& path);
/// The error of a file with another size than its size when the job was planned.
Error changed_file(const std::filesystem::path& path, uint64_t planned, uint64_t now);
/// Creates or truncates, mode 0666 less the umask.
Result<Fd> open_for_writing(const std::filesystem::path& path);

/// The folder for temporary files: $TMPDIR, else /tmp.
std::string tmpdir();
/// A file for reading and writing that has no name, so the system frees it however the process ends. Invalid, with
/// errno, on failure.
Fd unnamed_file(const std::string& folder);

Status write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);
/// Exchanges the names `from` and `to` in one step: `to` exists at every moment. Code::io leaves both unchanged; some
/// file systems (NFS) do not support the exchange.
Status exchange_names(const std::filesystem::path& from, const std::filesystem::path& to);
/// fsync(2) of a file or a directory. The caller holds no lock that another task may want.
Status sync_file(int fd, const std::filesystem::path& path);
Status sync_path(const std::filesystem::path& path);

}  // namespace actorhost
