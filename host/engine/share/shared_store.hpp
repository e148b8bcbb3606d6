#pragma once
// The partitions that the nodes of one process have published for others to use under locks: bytes by table and id,
// with a small header that only the nodes understand. A value is replaced as a whole, so a reader sees the old or the
// new one. Plain state, used under its owner's lock; a Blob that is handed out is read-only.

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
  /// Puts the value there, whatever was there before.
  void publish(const SharedPart& part, NodeId owner, PackedValue value);
  /// Takes away what the owner has published of the table.
  void withdraw(uint32_t table, NodeId owner);
  /// Nothing when it is not published, or by another node.
  const PackedValue* find(const SharedPart& part, NodeId owner) const;
  /// The same, whichever node has published it.
  const PackedValue* find(const SharedPart& part) const;
  /// Replaces a value that is published; false when it is not (any more).
  bool write(const SharedPart& part, PackedValue value);
  /// Adds to the elements of a value that is published. False where that is no tensor laid out as `change` is.
  bool add(const SharedPart& part, const PackedValue& change);

 private:
  struct Entry {
    NodeId owner = 0;
    PackedValue value;
  };
  std::map<SharedPart, Entry> parts_;
};

}  // namespace actorhost
