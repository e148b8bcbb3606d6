#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bindings/commands/line_editor.hpp"
#include "host/base/fd.hpp"
#include "host/base/non_copyable.hpp"

namespace actorhost {

namespace {

constexpr size_t kLongestLine = size_t{16} << 10;
constexpr size_t kLongestFile = size_t{16} << 20;  // only this much of the file's end is read

/// The file, opened, locked, and readable only by its owner.
class LockedFile : private NonCopyable {
 public:
  explicit LockedFile(const std::string& path) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd_ < 0 || fchmod(fd_, 0600) != 0 || flock(fd_, LOCK_EX) != 0) error_ = errno;
  }
  ~LockedFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  int error() const { return error_; }

  int read(std::string& text) const {
    struct stat info {};
    if (fstat(fd_, &info) != 0) return errno;
    const auto size = static_cast<size_t>(info.st_size);
    const size_t skipped = size > kLongestFile ? size - kLongestFile : 0;
    text.resize(size - skipped);
    if (lseek(fd_, static_cast<off_t>(skipped), SEEK_SET) < 0) return errno;
    return transfer(text.data(), text.size(), [this](auto* to, size_t left) { return ::read(fd_, to, left); });
  }
  int append(std::string_view text) const {
    return transfer(text.data(), text.size(), [this](auto* from, size_t left) { return ::write(fd_, from, left); });
  }
  int replace(std::string_view text) const { return ftruncate(fd_, 0) != 0 ? errno : append(text); }

 private:
  int fd_ = -1;
  int error_ = 0;
};

Error history_error(const std::string& path, int number) {
  return {Code::io, "the history '" + path + "' cannot be saved: " + std::strerror(number)};
}

std::vector<std::string> lines_of_history(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end != 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace

Result<std::vector<std::string>> HistoryFile::load() const {
  std::vector<std::string> lines;
  if (path_.empty()) return lines;
  const LockedFile file(path_);
  std::string text;
  if (file.error() != 0) return history_error(path_, file.error());
  if (const int error = file.read(text); error != 0) return history_error(path_, error);
  lines = lines_of_history(text);
  const bool grown = lines.size() > 2 * most_ || text.size() == kLongestFile;
  if (lines.size() > most_) lines.erase(lines.begin(), lines.end() - static_cast<ptrdiff_t>(most_));
  if (!grown) return lines;
  std::string recent;
  for (const std::string& line : lines) recent.append(line) += '\n';
  if (const int error = file.replace(recent); error != 0) return history_error(path_, error);
  return lines;
}

Status HistoryFile::add(const std::string& line) const {
  if (path_.empty() || line.size() > kLongestLine) return {};
  const LockedFile file(path_);
  const int error = file.error() != 0 ? file.error() : file.append(line + "\n");
  if (error != 0) return history_error(path_, error);
  return {};
}

}  // namespace actorhost
