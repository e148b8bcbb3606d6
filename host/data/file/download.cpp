#include "host/data/file/download.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include <pwd.h>
#include <unistd.h>

#include "host/base/clock.hpp"
#include "host/base/tasks.hpp"
#include "host/data/file/file_reader.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/plain_source.hpp"
#include "host/data/file/url_source.hpp"

namespace actorhost {

namespace fs = std::filesystem;

namespace {

constexpr double kStepSeconds = 0.1;
constexpr double kLockSeconds = 0.05;
constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr size_t kMostNameBytes = 200;

std::string home_folder() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != 0) return home;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(size_t{16} << 10);
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return "";
  return found->pw_dir != nullptr ? found->pw_dir : "";
}

/// Where the file of a URL is, below the cache: "files/HASH/NAME". Files of one remote folder share a folder.
fs::path place_of(const std::string& url) {
  const std::string plain = url.substr(0, url.find_first_of("?#"));
  const size_t slash = plain.rfind('/') + 1;
  std::string name = plain.substr(slash);
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
  const bool is_usable = is_plain && !name.empty() && name.front() != '.' && name.size() <= kMostNameBytes;
  const bool is_whole = is_usable && plain.size() == url.size();
  const std::string hash = sha256_of(is_whole ? url.substr(0, slash) : url).substr(0, 16);
  return fs::path("files") / hash / (is_usable ? name : "content");
}

/// The sum of a whole source.
Result<std::string> sum_of(ByteSource& source) {
  Sha256 sum;
  std::vector<std::byte> piece(kPieceBytes);
  for (;;) {
    AH_LET(const auto got, source.read(piece));
    if (got == 0) return sum.hex();
    sum.add(std::span(piece).first(got));
  }
}

Result<std::string> sum_of_file(const fs::path& path, bool of_unpacked) {
  if (of_unpacked) {
    AH_LET(const auto source, open_source(path, {UINT64_MAX}));
    return sum_of(*source);
  }
  AH_LET(auto file, open_for_reading(path));
  PlainSource source(std::move(file.fd), path);
  return sum_of(source);
}

Error wrong_sum(const DownloadRequest& request, const std::string& found) {
  return {Code::bad_data, shown_url(request.url) + ": the SHA-256 sum of the " +
                              (request.of_unpacked ? "unpacked content" : "content") + " is " + found + ", expected " +
                              request.sha256};
}

}  // namespace

/// The bytes of a source, which are also written to a file.
class Download::Copy final : public ByteSource {
 public:
  Copy(ByteSource& source, const AtomicFile& file, uint64_t& done) : source_(source), file_(file), done_(done) {}
  Result<size_t> read(std::span<std::byte> out) override {
    AH_LET(const auto got, source_.read(out));
    AH_TRY(file_.write(out.first(got)));
    done_ += got;
    return got;
  }

 private:
  ByteSource& source_;
  const AtomicFile& file_;
  uint64_t& done_;
};

Result<fs::path> cache_folder() {
  const char* given = std::getenv("XDG_CACHE_HOME");
  if (given != nullptr && *given == '/') return fs::path(given) / "actorhost";  // a relative path does not count
  const std::string home = home_folder();
  if (!home.empty()) return fs::path(home) / ".cache" / "actorhost";
  return Error{Code::io, "no folder for fetched files: neither XDG_CACHE_HOME nor HOME is set"};
}

Result<std::unique_ptr<Download>> Download::begin(DownloadRequest request) {
  std::unique_ptr<Download> download(new Download(std::move(request)));
  const DownloadRequest& wanted = download->request_;
  if (!is_remote(wanted.url)) {
    download->path_ = local_path(wanted.url);
    return download;
  }
  AH_LET(const auto cache, cache_folder());
  const fs::path place = place_of(wanted.url);
  download->path_ = cache / (wanted.folder.empty() ? place : wanted.folder / place.filename());
  return download;
}

Result<bool> Download::step() {
  if (!is_remote(request_.url)) {
    AH_TRY(open_for_reading(path_));
    if (request_.sha256.empty()) return true;
    AH_LET(const auto found, sum_of_file(path_, request_.of_unpacked));
    if (found != request_.sha256) return wrong_sum(request_, found);
    return true;
  }
  if (!lock_) {
    AH_LET(const auto cached, is_cached());
    if (cached) return true;
    AH_LET(const auto locked, take_lock());
    if (!locked) return false;
    AH_LET(const auto cached_since, is_cached());
    if (cached_since) return true;
    AH_TRY(open());
  }
  const SteadyClock clock;
  const double end = clock.now() + kStepSeconds;
  std::vector<std::byte> piece(kPieceBytes);
  do {
    AH_LET(const auto got, content_->read(piece));
    sum_.add(std::span(piece).first(got));
    if (got > 0) continue;
    AH_TRY(commit());
    return true;
  } while (clock.now() < end);
  return false;
}

/// Whether the file is there with the expected sum. A file with another sum is fetched again.
Result<bool> Download::is_cached() const {
  std::error_code error;
  if (!fs::exists(path_, error)) return false;
  if (request_.sha256.empty()) return true;
  const auto found = sum_of_file(path_, request_.of_unpacked);
  return found && *found == request_.sha256;
}

Result<bool> Download::take_lock() {
  auto lock = FolderLock::take(path_.parent_path(), path_.filename());
  if (lock) {
    lock_.emplace(*std::move(lock));
    is_waiting_ = false;
    return true;
  }
  if (lock.error().code != Code::refused) {
    return Error{lock.error().code, lock.error().message + " (XDG_CACHE_HOME names another folder for fetched files)"};
  }
  is_waiting_ = true;
  if (remote_options().check) AH_TRY(remote_options().check());
  Task::sleep(kLockSeconds);
  return false;
}

Status Download::open() {
  AH_LET(source_, url_source(request_.url));
  AH_LET(auto file, AtomicFile::begin(path_));
  file_.emplace(std::move(file));
  auto copy = std::make_unique<Copy>(*source_, *file_, done_);
  copy_ = copy.get();
  content_ = std::move(copy);
  if (request_.of_unpacked) {
    AH_LET(content_, open_source(std::move(content_), shown_url(request_.url), {UINT64_MAX}));
  }
  return {};
}

Status Download::commit() {
  AH_TRY(sum_of(*copy_));  // a decoder need not read to the end of the file
  const std::string found = sum_.hex();
  if (!request_.sha256.empty() && found != request_.sha256) return wrong_sum(request_, found);
  AH_TRY(file_->commit());
  lock_.reset();
  return {};
}

}  // namespace actorhost
