#include "host/data/file/atomic_file.hpp"

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/data/file/disk.hpp"
#include "host/data/file/url_source.hpp"

namespace actorhost {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;  // the system's own limit
constexpr int kMostNames = 100;
constexpr int kFlags = O_WRONLY | O_CLOEXEC;

fs::path temporary_beside(const fs::path& target) {
  static std::atomic<unsigned> count = 0;  // per process; its threads may save at the same time
  return target.parent_path() /
         (".actorhost-" + std::to_string(::getpid()) + "-" + std::to_string(count.fetch_add(1)) + ".tmp");
}

/// Whether a path names a descriptor of this process. Even if the descriptor is a regular file, its earlier output must
/// not be replaced.
bool names_descriptor(const fs::path& path) {
  const std::string text = path.string();
  return text.starts_with("/dev/fd/") || text.starts_with("/dev/std") || text.starts_with("/proc/");
}

Result<Fd> open_in_place(const fs::path& path) {
  if (path == "/dev/stdout" || path == "/dev/stderr") {  // reopening these would start at the beginning of the file
    Fd fd(::fcntl(path == "/dev/stdout" ? STDOUT_FILENO : STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!fd.valid()) return file_error(path, "cannot open for writing", errno);
    return fd;
  }
  return open_for_writing(path);
}

}  // namespace

std::optional<fs::path> regular_file_behind(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return std::nullopt;
  fs::path at = fs::absolute(path, error);
  if (error) return std::nullopt;
  if (!fs::exists(status)) {  // `canonical` does not follow links to files that do not exist yet
    for (int links = 0; fs::is_symlink(at, error); ++links) {
      if (links == kMostLinks) return std::nullopt;
      at = at.parent_path() / fs::read_symlink(at, error);
      if (error) return std::nullopt;
    }
  }
  at = fs::weakly_canonical(at, error);
  if (error) return std::nullopt;
  return at;
}

Result<AtomicFile> AtomicFile::begin(const fs::path& path) {
  AtomicFile file;
  file.path_ = path;
  if (is_object_url(path.string())) {
    AH_LET(file.upload_, ObjectUpload::begin(path.string()));
    return file;
  }
  if (is_remote(path.string())) {
    return Error{Code::io,
                 shown_url(path.string()) + ": cannot be written; the only URLs for writing are s3://BUCKET/KEY"};
  }
  const auto target = names_descriptor(path) ? std::nullopt : regular_file_behind(path);
  if (!target || !target->has_filename()) {
    AH_LET(file.fd_, open_in_place(path));
    return file;
  }
  file.target_ = *target;
  const bool exists = ::access(target->c_str(), F_OK) == 0;
  // A rename would ignore this permission.
  if (exists && ::faccessat(AT_FDCWD, target->c_str(), W_OK, AT_EACCESS) != 0) {
    return file_error(path, "cannot open for writing", errno);
  }
  AH_TRY(file.create_beside());
  if (exists) AH_TRY(file.copy_permissions(*target));
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)),
      upload_(std::move(other.upload_)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::create_beside() {
  const fs::path folder = target_.parent_path();
  fd_ = Fd(::open(folder.c_str(), kFlags | O_TMPFILE, 0666));
  for (int i = 0; !fd_.valid() && (errno == EOPNOTSUPP || errno == EISDIR || errno == EEXIST) && i < kMostNames; ++i) {
    const fs::path name = temporary_beside(target_);
    fd_ = Fd(::open(name.c_str(), kFlags | O_CREAT | O_EXCL, 0666));
    if (fd_.valid()) temporary_ = name;
  }
  if (fd_.valid()) return {};
  return file_error(path_, "cannot open for writing: no file can be made in " + folder.string(), errno);
}

Status AtomicFile::copy_permissions(const fs::path& old) const {
  struct stat info {};
  if (::stat(old.c_str(), &info) != 0) return file_error(path_, "cannot examine", errno);
  const bool given = ::fchown(fd_.get(), info.st_uid, info.st_gid) == 0;  // succeeds for root, usually not for others
  const mode_t mode = info.st_mode & (given ? 07777 : 0777);
  if (::fchmod(fd_.get(), mode) != 0) return file_error(path_, "cannot set the permissions", errno);
  return {};
}

Status AtomicFile::give_name() {
  for (int i = 0; temporary_.empty() && i < kMostNames; ++i) {  // linkat cannot replace a file, so it first takes a
                                                                // temporary name
    const fs::path name = temporary_beside(target_);
    const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
    } else if (errno != EEXIST) {
      return file_error(path_, "naming the finished file", errno);
    }
  }
  if (disk::rename(temporary_.c_str(), target_.c_str()) != 0) return file_error(path_, "replacing", errno);
  temporary_.clear();
  return {};
}

Status AtomicFile::commit() {
  if (upload_) return upload_->close();
  if (target_.empty()) return fd_.close(path_);
  AH_TRY(sync_file(fd_.get(), path_));
  AH_TRY(give_name());
  AH_TRY(fd_.close(path_));
  return sync_path(target_.parent_path());
}

}  // namespace actorhost
