#pragma once
// The keys of a shard, for those who look into the run: the store notes what it writes, any thread reads. A list for
// people: of many keys it has the first kMost.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/base/tally.hpp"
#include "host/base/tensor.hpp"

namespace actorhost {

/// One key's row. The writes are noted without a lock.
class KeyRow {
 public:
  Tally<uint64_t> version;  // writes
  Tally<uint64_t> updates;  // those that pushes have made
  Tally<uint64_t> bytes;    // of the whole value

 private:
  friend class KeyList;
  std::string name_;
  std::string dtype_;
  Shape shape_;
  bool tensor_ = false;
};

class KeyList {
 public:
  static constexpr size_t kMost = 10'000;

  // ---- the store's thread ----

  /// Null where there are too many.
  std::shared_ptr<KeyRow> add(const std::string& name);
  /// What the key holds now: a tensor, or a Lua value (null).
  void describe(KeyRow& row, const TensorLayout* tensor);
  void remove(const std::shared_ptr<KeyRow>& row);

  // ---- any thread ----

  /// Adds {"keys": [...]}.
  void report(nlohmann::json& out, uint32_t shard) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<KeyRow>> rows_;
};

}  // namespace actorhost
