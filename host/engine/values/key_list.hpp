#pragma once
// A list of the keys of a shard, for observers: the store records its writes, any thread reads. For people: with many
// keys it lists the first kMost.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/base/tally.hpp"
#include "host/base/tensor.hpp"

namespace actorhost {

/// One key's row. Writes are counted without a lock.
class KeyRow {
 public:
  Tally<uint64_t> version;  // writes
  Tally<uint64_t> updates;  // writes by pushes
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

  /// Null if the list is full.
  std::shared_ptr<KeyRow> add(const std::string& name);
  /// Sets the key's current content: a tensor, or a Lua value (null).
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
