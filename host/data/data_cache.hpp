#pragma once
// Read-only data sets that the nodes of one process share: eight nodes that are threads load MNIST once. Asking again
// while somebody still holds a set gives the same one; when the last holder lets go, its memory is freed. Whoever
// makes the nodes owns the cache. Any thread; a call blocks while the set is read or drawn, by this or another caller,
// and calls for other sets do not wait for it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "host/base/result.hpp"
#include "host/data/idx.hpp"

namespace actorhost {

class DataCache {
 public:
  /// read_mnist(dir). A file that was changed since (size or time) is read again.
  Result<std::shared_ptr<const Mnist>> mnist(const std::filesystem::path& dir);
  /// draw_mnist(seed, train, test).
  Result<std::shared_ptr<const Mnist>> digits(uint64_t seed, size_t train, size_t test);

  /// What one node may take for a file that its text tells nothing about: LibsvmOptions::max_bytes. Set before there
  /// are nodes.
  void limit(size_t bytes) noexcept { most_bytes_ = bytes; }
  size_t most_bytes() const noexcept { return most_bytes_; }

 private:
  struct Entry {
    std::mutex loading;
    std::weak_ptr<const Mnist> data;  // weak: the cache itself keeps nothing alive
  };

  Result<std::shared_ptr<const Mnist>> get(const std::string& key, const std::function<Result<Mnist>()>& load);

  size_t most_bytes_ = size_t{16} << 30;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // shared: an entry outlives the lookup that is loading it
};

}  // namespace actorhost
