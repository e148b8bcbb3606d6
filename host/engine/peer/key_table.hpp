#pragma once
// The keys that a node holds: values with their optimiser's state, which updates are in them, staged updates, and
// prepared ones (native updates of parts of which it is not decided yet whether they count; README.md).
// Passive and without time. The same operations in the same order make the same table on each node, bit for bit.

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "host/engine/param/param_store.hpp"
#include "host/engine/param/shard.hpp"
#include "host/engine/peer/key_groups.hpp"
#include "host/engine/peer/peer_messages.hpp"
#include "host/engine/peer/spread_value.hpp"

namespace actorhost {

/// What changes a table. The pieces of a value stand together.
struct KeyOperation {
  KeyWrite write;
  std::vector<ParamEntry> entries;
};

class KeyTable {
 public:
  const ParamStore& store() const noexcept { return store_; }
  void pack(const ParamKey& key, EntryPacker& reply) const { store_.pack(key, reply); }

  /// Whether this update of the writer, or a later one, has been taken.
  bool taken(const ParamKey& key, NodeId writer, Mark mark) const;
  /// Whether the writer's attempt of that number to update the spread value is refused.
  bool refused(const ParamKey& key, NodeId writer, uint64_t number) const;
  /// A prepared update of a part. A part has at most one of each writer.
  struct Prepared {
    ParamKey key;
    NodeId writer = 0;
    Mark mark = 0;
    uint64_t number = 0;
  };
  std::optional<Prepared> prepared(const ParamKey& key, NodeId writer) const;
  std::vector<Prepared> prepared(const ParamKey& key) const;
  std::vector<Prepared> prepared(const Arc& arc) const;
  /// A part that is gone with its value.
  bool removed(const ParamKey& key) const { return key.is_part() && store_.find(key) == nullptr; }
  /// Code::bad_argument when an update does not fit its value, Code::bad_data when pieces of a value are missing,
  /// Code::mismatch when a native update is not for the parts over which its value is spread, or its attempt is
  /// refused.
  Status check(const KeyOperation& operation) const;
  Status apply(KeyOperation&& operation);
  /// Spread values that keys have no longer, since the last call.
  struct Dropped {
    ParamKey key;
    SpreadValue value;
  };
  std::vector<Dropped> take_dropped() { return std::exchange(dropped_, {}); }

  /// Whether something is staged of marks below this one.
  bool staged(const ParamKey& key, Mark below) const;
  /// Prepared updates count, too.
  bool staged(const Arc& arc, Mark below) const;
  /// Whether a commit would merge something in the arc. What is staged waits for prepared updates that come before it
  /// and whose step all live workers have completed: of marks up to `passed`.
  bool due(const Arc& arc, Mark below, Mark passed) const;
  /// What a Lua pull has to merge of that, in the order of (mark, writer), and which updates these are.
  std::vector<PullEntry> staged_for_pull(const Arc& arc, Mark below, std::vector<TakenUpdate>& covered) const;

  /// A hash of all that is known of a key; 0 of one of which nothing is.
  uint64_t digest(const ParamKey& key) const;
  /// How many keys lie in the arc, and the sum of their digests.
  KeySum sum(const Arc& arc) const;
  std::vector<ParamKey> keys(const Arc& arc) const;
  /// All that is known of a key, and back.
  KeyCopy copy(const ParamKey& key, std::vector<ParamEntry>& entries) const;
  Status restore(const ParamKey& key, const KeyCopy& copy, std::vector<ParamEntry> entries);
  void erase(const ParamKey& key);
  /// Rises with each of these changes.
  uint64_t changes() const noexcept { return changes_; }

 private:
  /// A staged update of one key.
  struct Staged {
    PushRule rule;
    std::vector<ParamEntry> entries;
  };
  struct Known {
    std::map<NodeId, Mark> taken;  // each writer's newest
    std::map<NodeId, uint64_t> refused;
    std::map<std::pair<Mark, NodeId>, Staged> staged;
    struct Held : Staged {
      Mark mark = 0;
      uint64_t number = 0;
    };
    std::map<NodeId, Held> prepared;

    std::pair<Mark, NodeId> end_of_due(Mark below, Mark passed) const;
  };

  Known& know(const ParamKey& key);
  Status check_update(const ParamEntry& entry, const UpdateRule& rule, const std::string& who) const;
  Status set(KeyOperation&& operation);
  Status put(std::vector<ParamEntry>&& entries);
  Status push(KeyOperation&& operation);
  void merge(const PushRule& rule, Mark mark, NodeId writer, std::vector<ParamEntry>&& entries);
  void commit(const Arc& arc, Mark below, Mark passed);
  void count(KeyOperation&& operation);
  void refuse(const KeyOperation& operation);
  Status pulled(KeyOperation&& operation);
  using Places = std::set<std::pair<RingId, ParamKey>>;
  /// Keys of the arc, in the order of the ring from its begin.
  template <typename Visit>
  static void visit(const Places& places, const Arc& arc, Visit&& visit);

  ParamStore store_;
  std::unordered_map<ParamKey, Known> known_;
  Places places_;  // of all known keys
  Places staged_;  // of those that have staged updates
  Places prepared_;
  std::vector<Dropped> dropped_;
  uint64_t changes_ = 0;
};

/// Values out of their pieces, which stand together.
std::vector<ParamEntry> joined(std::vector<ParamEntry> pieces, bool shared = false);

}  // namespace actorhost
