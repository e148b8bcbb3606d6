#include "host/data/content/data_cache.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

#include "host/data/content/digits.hpp"

namespace actorhost {

namespace fs = std::filesystem;

namespace {

/// A key for the current content of the directory: its path with the names, sizes and times of its files.
std::string stamp(const fs::path& dir) {
  std::error_code error;
  fs::path full = fs::canonical(dir, error);
  if (error) full = fs::absolute(dir, error);
  std::vector<std::string> files;
  for (fs::directory_iterator it(full, error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;
    const auto size = it->file_size(unreadable);
    const auto time = it->last_write_time(unreadable).time_since_epoch().count();
    if (!unreadable) {
      files.push_back(it->path().filename().string() + "/" + std::to_string(size) + "/" + std::to_string(time));
    }
  }
  std::sort(files.begin(), files.end());
  std::string key = full.string();
  for (const std::string& file : files) key += "//" + file;
  return key;
}

}  // namespace

Result<std::shared_ptr<const Mnist>> DataCache::mnist(const fs::path& dir) {
  return get(stamp(dir), [&] { return read_mnist(dir); });
}

Result<std::shared_ptr<const Mnist>> DataCache::digits(uint64_t seed, size_t train, size_t test) {
  const std::string key = "digits " + std::to_string(seed) + " " + std::to_string(train) + " " + std::to_string(test);
  return get(key, [&]() -> Result<Mnist> { return draw_mnist(seed, train, test); });
}

Result<std::shared_ptr<const Mnist>> DataCache::get(const std::string& key,
                                                    const std::function<Result<Mnist>()>& load) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& item) {
      return item.first != key && item.second.use_count() == 1 && item.second->data.expired();
    });
    auto& slot = entries_[key];
    if (!slot) slot = std::make_shared<Entry>();
    entry = slot;
  }
  const std::lock_guard loading(entry->loading);
  if (auto data = entry->data.lock()) return data;
  AH_LET(auto loaded, load());
  auto data = std::make_shared<const Mnist>(std::move(loaded));
  entry->data = data;
  return data;
}

}  // namespace actorhost
