#include "host/base/record_file.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/fd.hpp"

namespace actorhost {

namespace {

Error unwritable(const std::string& path, const std::string& reason) {
  return {Code::bad_argument, "--record: cannot write to '" + path + "': " + reason};
}

}  // namespace

Result<RecordFile> RecordFile::open(const std::string& path, Log& log) {
  // O_NONBLOCK, so that opening a pipe without a reader fails instead of waiting; it has no effect on files.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
  if (file < 0) return unwritable(path, errno == ENXIO ? "it is a pipe or a socket" : std::strerror(errno));
  RecordFile record(path, Fd(file), log);
  struct stat status {};
  if (::fstat(file, &status) != 0) return unwritable(path, std::strerror(errno));
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return unwritable(path, "it is a pipe or a socket");
  if (S_ISREG(status.st_mode) && ::ftruncate(file, 0) != 0) return unwritable(path, std::strerror(errno));
  return record;
}

void RecordFile::write(std::string_view bytes) {
  if (!open() || bytes.empty()) return;
  const auto some = [this](const char* at, size_t size) { return ::write(file_.get(), at, size); };
  const int error = transfer(bytes.data(), bytes.size(), some);
  if (error == 0) return;
  log_.error("record", "cannot write to '" + path_ + "': " + std::strerror(error) +
                           "; the recording ends here, the run continues");
  file_ = Fd();
}

}  // namespace actorhost
