#pragma once
// Copies a remote file into the cache of this user, once for all processes of the machine: the first locks the file's
// name, the others wait and then use the file. The file appears when it is complete and has the expected sum, so an
// interrupted download leaves nothing behind. A Download belongs to one thread; calls block on the network and the
// disk.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "host/base/result.hpp"
#include "host/data/file/atomic_file.hpp"
#include "host/data/file/folder_lock.hpp"
#include "host/data/file/http_source.hpp"
#include "host/data/file/sha256.hpp"

namespace actorhost {

struct DownloadRequest {
  std::string url;           // of url_source.hpp; a local file is used where it is
  std::string sha256 = {};   // the expected sum, as sha256sum prints it; empty: any content
  bool of_unpacked = false;  // the sum is of the decompressed content
  std::string folder = {};   // within the cache; empty: a folder of the URL
};

/// $XDG_CACHE_HOME/actorhost, else .cache/actorhost in $HOME, else in the home directory of the user database.
Result<std::filesystem::path> cache_folder();

class Download : private NonCopyable {
 public:
  static Result<std::unique_ptr<Download>> begin(DownloadRequest request);

  /// Works or waits for about a tenth of a second. Returns whether the file is complete. Code::bad_data names the found
  /// and the expected sum.
  Result<bool> step();

  const std::filesystem::path& path() const noexcept { return path_; }
  /// Whether another process or thread downloads the file.
  bool is_waiting() const noexcept { return is_waiting_; }
  uint64_t done() const noexcept { return done_; }
  /// Nothing before the server reports it.
  std::optional<uint64_t> size() const { return source_ ? source_->size() : std::nullopt; }

 private:
  class Copy;
  explicit Download(DownloadRequest request) : request_(std::move(request)) {}
  Result<bool> is_cached() const;
  Result<bool> take_lock();
  Status open();
  Status commit();

  DownloadRequest request_;
  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
  std::unique_ptr<HttpSource> source_;
  std::optional<AtomicFile> file_;
  std::unique_ptr<ByteSource> content_;  // the bytes of the sum; reads and owns copy_
  Copy* copy_ = nullptr;                 // reads source_, and writes the bytes to file_
  Sha256 sum_;
  uint64_t done_ = 0;
  bool is_waiting_ = false;
};

}  // namespace actorhost
