#include "host/data/file/atomic_dir.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/number.hpp"
#include "host/data/file/disk.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/manifest.hpp"
#include "host/data/file/object_dir.hpp"
#include "host/data/file/object_store.hpp"

namespace actorhost {

namespace fs = std::filesystem;

namespace {

constexpr size_t kDigits = 12;

Status check_prefix(const std::string& prefix) {
  const bool good = std::all_of(prefix.begin(), prefix.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (good && !prefix.empty() && prefix.size() <= 64) return {};
  return Error{Code::bad_argument,
               "prefix '" + prefix + "' of a directory: 1 to 64 letters, digits, '_' or '-' are needed"};
}

std::string final_name(const std::string& prefix, uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return prefix + "-" + digits;
}

/// The number of "PREFIX-digits"; nothing for other names.
std::optional<uint64_t> number_in(std::string_view name, const std::string& prefix) {
  if (name.size() < prefix.size() + 1 + kDigits || !name.starts_with(prefix) || name[prefix.size()] != '-') return {};
  name.remove_prefix(prefix.size() + 1);
  return number_of<uint64_t>(name);
}

bool is_temporary(std::string_view name, const std::string& prefix) {
  if (!name.starts_with('.')) return false;
  name.remove_prefix(1);
  const size_t mark = name.find(".tmp-");
  return mark != std::string_view::npos && number_in(name.substr(0, mark), prefix).has_value();
}

bool is_stored(const fs::path& dir) { return is_object_url(dir.string()); }

/// The names of the directories in `dir`, and perhaps of its files; empty if `dir` does not exist.
Result<std::vector<std::string>> names_in(const fs::path& dir) {
  if (is_stored(dir)) return object_folders(dir);
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) return file_error(dir, "cannot list", error.value());
  return names;
}

/// Whether the manifest and its files are there with their sizes.
Result<bool> is_complete_in_storage(const fs::path& dir) {
  AH_LET(const auto sizes, object_sizes(dir));
  if (!sizes.contains(kManifestName)) return false;
  const auto files = read_manifest(dir);
  if (!files && files.error().code != Code::bad_data) return files.error();
  return files && std::all_of(files->begin(), files->end(), [&](const ManifestFile& file) {
           const auto found = sizes.find(file.name);
           return found != sizes.end() && found->second == file.bytes;
         });
}

Result<bool> is_complete(const fs::path& dir) {
  if (is_stored(dir)) return is_complete_in_storage(dir);
  const auto files = read_manifest(dir);
  return files && std::all_of(files->begin(), files->end(), [&](const ManifestFile& file) {
           std::error_code error;
           return fs::file_size(dir / file.name, error) == file.bytes && !error;
         });
}

/// Locks a directory. Invalid if another process holds the lock or has removed the directory.
Fd lock_dir(const fs::path& dir) {
  Fd fd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return {};
  if (::fstat(fd.get(), &info) != 0 || info.st_nlink == 0) return {};
  return fd;
}

/// Renames `from` to `to`. If `to` exists, the two directories exchange their names.
Status rename_over(const fs::path& from, const fs::path& to) {
  if (disk::rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno != EEXIST && errno != ENOTEMPTY) return file_error(to, "renaming the finished directory to this", errno);
  return exchange_names(from, to);
}

/// Removes the directories without a manifest.
Result<size_t> clean_stored(const fs::path& parent, const std::string& prefix) {
  AH_LET(const auto found, list_numbered(parent, prefix));
  size_t removed = 0;
  for (const NumberedDir& dir : found) {
    AH_LET(const auto sizes, object_sizes(dir.path));
    if (sizes.contains(kManifestName)) continue;
    AH_TRY(remove_object_folder(dir.path, kManifestName));
    ++removed;
  }
  return removed;
}

/// Makes an empty directory for files of this process.
Result<fs::path> temporary_folder() {
  std::string name = tmpdir() + "/actorhost-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return file_error(name, "cannot make the directory", errno);
  return fs::path(name);
}

}  // namespace

Result<AtomicDir> AtomicDir::begin_stored(const fs::path& parent, const std::string& name) {
  AH_TRY(try_object_folder(parent));
  AtomicDir dir;
  dir.parent_ = parent;
  dir.final_ = parent / name;
  AH_LET(dir.temporary_, temporary_folder());
  return dir;
}

Result<AtomicDir> AtomicDir::begin(const fs::path& parent, const std::string& prefix, uint64_t number) {
  AH_TRY(check_prefix(prefix));
  if (is_stored(parent)) return begin_stored(parent, final_name(prefix, number));
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return file_error(parent, "cannot make the directory", error.value());
  AtomicDir dir;
  dir.parent_ = parent;
  dir.final_ = parent / final_name(prefix, number);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const fs::path path = parent / ("." + final_name(prefix, number) + ".tmp-" + std::to_string(::getpid()) + "-" +
                                    std::to_string(attempt));
    if (::mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST)
        continue;  // another writer of this process, or a leftover of an earlier process with this
                   // pid
      return file_error(path, "cannot make the directory", errno);
    }
    dir.lock_ = lock_dir(path);
    if (!dir.lock_.valid() && !fs::exists(path, error)) continue;  // another process removed it before the lock
    dir.temporary_ = path;
    return dir;
  }
  return Error{Code::io, parent.string() + ": cannot make a temporary directory, 100 names are taken"};
}

AtomicDir::AtomicDir(AtomicDir&& other) noexcept
    : parent_(std::move(other.parent_)),
      final_(std::move(other.final_)),
      temporary_(std::exchange(other.temporary_, {})),
      lock_(std::move(other.lock_)) {}

AtomicDir::~AtomicDir() {
  if (temporary_.empty()) return;
  std::error_code ignored;  // a remaining directory is a leftover for a later clean_leftovers
  fs::remove_all(temporary_, ignored);
}

Status AtomicDir::commit() {
  AH_LET(auto files, hash_files(temporary_));
  AH_TRY(write_manifest(temporary_, files));
  if (is_stored(final_)) {
    AH_TRY(upload_folder(temporary_, final_, kManifestName));
    std::error_code ignored;  // a remaining directory is in $TMPDIR
    fs::remove_all(std::exchange(temporary_, {}), ignored);
    return {};
  }
  for (const ManifestFile& file : files) AH_TRY(sync_path(temporary_ / file.name));
  AH_TRY(sync_path(temporary_ / kManifestName));
  AH_TRY(sync_path(temporary_));
  AH_TRY(rename_over(temporary_, final_));
  const fs::path replaced = std::exchange(temporary_, {});
  AH_TRY(sync_path(parent_));
  std::error_code ignored;  // the replaced directory, if any, is a leftover now
  fs::remove_all(replaced, ignored);
  lock_ = Fd();
  return {};
}

Result<std::vector<NumberedDir>> list_complete(const fs::path& parent, const std::string& prefix) {
  AH_LET(const auto found, list_numbered(parent, prefix));
  std::vector<NumberedDir> complete;
  for (const NumberedDir& dir : found) {
    AH_LET(const auto is_usable, is_complete(dir.path));
    if (is_usable) complete.push_back(dir);
  }
  return complete;
}

Result<std::vector<NumberedDir>> list_numbered(const fs::path& parent, const std::string& prefix) {
  AH_TRY(check_prefix(prefix));
  AH_LET(auto names, names_in(parent));
  std::vector<NumberedDir> found;
  for (const std::string& name : names) {
    if (const auto number = number_in(name, prefix)) found.push_back({parent / name, *number});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.number > b.number; });
  return found;
}

Result<bool> has_complete(const fs::path& parent) {
  AH_LET(const auto names, names_in(parent));
  for (const std::string& name : names) {
    if (name.starts_with('.')) continue;
    AH_LET(const auto is_usable, is_complete(parent / name));
    if (is_usable) return true;
  }
  return false;
}

Status FetchedDir::fetch(const fs::path& dir) {
  dir_ = dir;
  if (!is_stored(dir)) return {};
  AH_LET(copy_, temporary_folder());
  return fetch_folder(dir, copy_, kManifestName);
}

FetchedDir::~FetchedDir() {
  std::error_code ignored;  // a remaining directory is in $TMPDIR
  if (!copy_.empty()) fs::remove_all(copy_, ignored);
}

Status verify_dir(const fs::path& dir) {
  AH_LET(auto expected, read_manifest(dir));
  auto found = hash_files(dir);
  if (!found) return std::move(found).error();
  for (const ManifestFile& file : expected) {
    const auto at = std::find_if(found->begin(), found->end(), [&](const auto& f) { return f.name == file.name; });
    if (at == found->end()) return Error{Code::bad_data, file.name + ": missing, the manifest lists it"};
    if (at->bytes != file.bytes) {
      return Error{Code::bad_data, file.name + ": " + std::to_string(at->bytes) + " bytes found, the manifest lists " +
                                       std::to_string(file.bytes)};
    }
    if (at->xxh3 != file.xxh3) {
      return Error{Code::bad_data, file.name + ": hash " + at->xxh3 + " found, the manifest lists " + file.xxh3};
    }
  }
  return {};
}

Result<size_t> clean_leftovers(const fs::path& parent, const std::string& prefix) {
  AH_TRY(check_prefix(prefix));
  if (is_stored(parent)) return clean_stored(parent, prefix);
  AH_LET(auto names, names_in(parent));
  size_t removed = 0;
  for (const std::string& name : names) {
    if (!is_temporary(name, prefix)) continue;
    const Fd lock = lock_dir(parent / name);
    if (!lock.valid()) continue;
    std::error_code error;
    fs::remove_all(parent / name, error);
    if (!error) ++removed;
  }
  return removed;
}

Result<size_t> prune_complete(const fs::path& parent, const std::string& prefix, size_t keep) {
  AH_LET(auto found, list_complete(parent, prefix));
  size_t removed = 0;
  for (size_t i = keep; i < found.size(); ++i) {
    if (is_stored(parent)) {
      AH_TRY(remove_object_folder(found[i].path, kManifestName));
      ++removed;
      continue;
    }
    // Renames first, so that a crash during the removal leaves a leftover instead of an incomplete directory.
    const fs::path& path = found[i].path;
    const fs::path away = parent / ("." + path.filename().string() + ".tmp-" + std::to_string(::getpid()) + "-old");
    std::error_code error;
    fs::rename(path, away, error);
    if (!error) fs::remove_all(away, error);
    if (error) return file_error(path, "cannot remove", error.value());
    ++removed;
  }
  return removed;
}

}  // namespace actorhost
