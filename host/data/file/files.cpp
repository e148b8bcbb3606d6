#include "host/data/file/files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/fd.hpp"
#include "host/data/file/disk.hpp"
#include "host/data/file/url_source.hpp"

namespace actorhost {

namespace {

Result<OpenedFile> fetched_file(const std::string& url) {
  AH_LET(const auto source, url_source(url));
  OpenedFile file;
  file.regular = true;
  std::vector<std::byte> bytes(size_t{256} << 10);
  for (;;) {
    AH_LET(const auto got, source->read(bytes));
    if (!file.fd.valid()) {  // after a server's error, no file is made
      file.fd = unnamed_file(tmpdir());
      if (!file.fd.valid()) return file_error(tmpdir(), "no file can be made here (TMPDIR)", errno);
    }
    if (got == 0) break;
    AH_TRY(write_all(file.fd.get(), std::span(bytes).first(got), "a temporary copy of " + shown_url(url)));
    file.size += got;
  }
  if (::lseek(file.fd.get(), 0, SEEK_SET) < 0) return file_error(shown_url(url), "cannot be read again", errno);
  return file;
}

}  // namespace

Error changed_file(const std::filesystem::path& path, uint64_t planned, uint64_t now) {
  return {Code::bad_data, path.string() + ": had " + std::to_string(planned) +
                              " bytes when the job was planned and has " + std::to_string(now) +
                              " now; is it being written?"};
}

Result<OpenedFile> open_for_reading(const std::filesystem::path& given) {
  if (is_remote(given.string())) return fetched_file(given.string());
  const std::filesystem::path path = local_path(given.string());
  OpenedFile file;
  file.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.fd.valid()) return file_error(path, "cannot open for reading", errno);
  struct stat info {};
  if (::fstat(file.fd.get(), &info) != 0) return file_error(path, "cannot examine", errno);
  if (S_ISDIR(info.st_mode)) return Error{Code::io, path.string() + ": is a directory, a file is needed"};
  file.regular = S_ISREG(info.st_mode);
  file.size = file.regular ? static_cast<uint64_t>(info.st_size) : 0;
  return file;
}

Result<Fd> open_for_writing(const std::filesystem::path& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) return file_error(path, "cannot open for writing", errno);
  return fd;
}

std::string tmpdir() {
  const char* given = std::getenv("TMPDIR");
  return given != nullptr && *given != 0 ? given : "/tmp";
}

Fd unnamed_file(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  // Not every file system supports files without a name, and kernels report that with different errors.
  if (file.valid() || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)) return file;
  std::string name = folder + "/.actorhost-XXXXXX";
  file = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (file.valid()) ::unlink(name.c_str());
  return file;
}

Status write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  const auto write = [fd](const std::byte* at, size_t left) { return disk::write(fd, at, left); };
  const int error = transfer(bytes.data(), bytes.size(), write);
  return error == 0 ? Status() : file_error(path, "writing", error);
}

Status exchange_names(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (disk::rename(from.c_str(), to.c_str(), RENAME_EXCHANGE) == 0) return {};
  const bool unable = errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
  if (!unable) return file_error(to, "cannot be replaced", errno);
  return Error{Code::io, to.string() +
                             ": is not replaced, since this file system cannot exchange two names in one step; "
                             "remove it first, or write under another name"};
}

Status sync_path(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return file_error(path, "cannot open to sync", errno);
  return sync_file(fd.get(), path);
}

Status sync_file(int fd, const std::filesystem::path& path) {
  if (disk::sync(fd) != 0) return file_error(path, "syncing to disk", errno);
  return {};
}

}  // namespace actorhost
