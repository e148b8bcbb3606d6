#pragma once
// The partitions that the nodes of one process have published for use under locks: bytes by table and id, with a small
// header that only the nodes interpret. A value is replaced as a whole, so a reader sees the old or the new value.
// Plain state, not thread-safe; used under its owner's mutex. Returned Blobs are read-only.

#include <compare>
#include <cstdint>
#include <map>

#include "host/wire/address.hpp"
#include "host/wire/carried_value.hpp"

namespace actorhost {

struct SharedPart {
  uint32_t table = 0;
  int64_t id = 0;
  static void fields(auto& m, auto&& field) { field(m.table, m.id); }
  friend auto operator<=>(const SharedPart&, const SharedPart&) = default;
};

class SharedStore {
 public:
  /// Stores the value and replaces an earlier value.
  void publish(const SharedPart& part, NodeId owner, PackedValue value);
  /// Removes the partitions of the table that the owner has published.
  void withdraw(uint32_t table, NodeId owner);
  /// Null if the part is not published, or published by another node.
  const PackedValue* find(const SharedPart& part, NodeId owner) const;
  /// The part of any owner.
  const PackedValue* find(const SharedPart& part) const;
  /// Replaces a published value; false if the part is not published.
  bool write(const SharedPart& part, PackedValue value);
  /// Adds to the elements of a published value. False if the value is not a tensor with the layout of `change`.
  bool add(const SharedPart& part, const PackedValue& change);

 private:
  struct Entry {
    NodeId owner = 0;
    PackedValue value;
  };
  std::map<SharedPart, Entry> parts_;
};

}  // namespace actorhost
