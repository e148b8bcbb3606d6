#pragma once
// Read-only data sets, shared by the nodes of one process: eight nodes on threads load MNIST once. A request for a set
// in use returns the same set; the last release frees its memory. The creator of the nodes owns the cache. Thread-safe.
// A call blocks while this or another caller reads or draws the set; calls for other sets do not wait.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "host/base/result.hpp"
#include "host/data/content/idx.hpp"

namespace actorhost {

class DataCache {
 public:
  /// read_mnist(dir). A file with a changed size or time is read again.
  Result<std::shared_ptr<const Mnist>> mnist(const std::filesystem::path& dir);
  /// draw_mnist(seed, train, test).
  Result<std::shared_ptr<const Mnist>> digits(uint64_t seed, size_t train, size_t test);

  /// Returns true once: one node of a process reports that MNIST is missing.
  bool reports_missing() noexcept { return !reported_missing_.exchange(true); }

  /// The memory limit of a node for a file that does not announce its size: LibsvmOptions::max_bytes. Set before nodes
  /// start.
  void limit(size_t bytes) noexcept { most_bytes_ = bytes; }
  size_t most_bytes() const noexcept { return most_bytes_; }

 private:
  struct Entry {
    std::mutex loading;
    std::weak_ptr<const Mnist> data;  // weak: the cache itself does not keep the data alive
  };

  Result<std::shared_ptr<const Mnist>> get(const std::string& key, const std::function<Result<Mnist>()>& load);

  size_t most_bytes_ = size_t{16} << 30;
  std::atomic<bool> reported_missing_{false};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // shared: an entry outlives the lookup that loads it
};

}  // namespace actorhost
