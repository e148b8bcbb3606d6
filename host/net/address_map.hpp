#pragma once
// A map from addresses to pointers, null for unknown addresses. Each frame needs a lookup. Ids are assigned from 0
// without gaps, so a lookup is an array access; large ids go into a hash table. Not thread-safe.

#include <array>
#include <unordered_map>
#include <vector>

#include "host/wire/address.hpp"

namespace actorhost {

template <typename T>
class AddressMap {
 public:
  T* find(Address address) const {
    const auto& row = dense_[address >> kKindShift];
    const uint32_t index = address_index(address);
    if (index < row.size()) return row[index];
    if (far_.empty()) return nullptr;
    const auto found = far_.find(address);
    return found != far_.end() ? found->second : nullptr;
  }
  /// Null removes the address.
  void set(Address address, T* value) {
    auto& row = dense_[address >> kKindShift];
    const uint32_t index = address_index(address);
    if (index >= kDense) {
      far_[address] = value;
      return;
    }
    if (index >= row.size()) row.resize(index + 1);
    row[index] = value;
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& row : dense_) {
      for (T* value : row) {
        if (value != nullptr) visit(*value);
      }
    }
    for (const auto& [address, value] : far_) {
      if (value != nullptr) visit(*value);
    }
  }
  void clear() {
    for (auto& row : dense_) row.clear();
    far_.clear();
  }

 private:
  static constexpr uint32_t kDense = 1U << 16;

  std::array<std::vector<T*>, size_t{1} << (32 - kKindShift)> dense_;  // by the kind bits of the address
  std::unordered_map<Address, T*> far_;
};

}  // namespace actorhost
