#pragma once
// The keys of a node: values with optimiser state, the updates they contain, staged updates, and prepared updates
// (native updates of parts that may or may not count; NOTES.md). Passive and without time. The same operations in the
// same order produce the same table on each node, bit for bit.

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "host/engine/peer/key_groups.hpp"
#include "host/engine/peer/peer_messages.hpp"
#include "host/engine/values/param_store.hpp"
#include "host/engine/values/split_tensor.hpp"

namespace actorhost {

/// A change of a table. The pieces of a value are adjacent.
struct KeyOperation {
  KeyWrite write;
  std::vector<ParamEntry> entries;
};

class KeyTable {
 public:
  const ParamStore& store() const noexcept { return store_; }
  void pack(const ParamKey& key, EntryPacker& reply) const { store_.pack(key, reply); }

  /// Whether this update of the writer, or a later one, has been accepted.
  bool taken(const ParamKey& key, NodeId writer, Mark mark) const;
  /// Whether the writer's attempt of this number to update the split tensor is refused.
  bool refused(const ParamKey& key, NodeId writer, uint64_t number) const;
  /// A prepared update of a part. A part has at most one prepared update of each writer.
  struct Prepared {
    ParamKey key;
    NodeId writer = 0;
    Mark mark = 0;
    uint64_t number = 0;
  };
  std::optional<Prepared> prepared(const ParamKey& key, NodeId writer) const;
  std::vector<Prepared> prepared(const ParamKey& key) const;
  std::vector<Prepared> prepared(const Arc& arc) const;
  /// The part was removed with its value.
  bool removed(const ParamKey& key) const { return key.is_part() && store_.find(key) == nullptr; }
  /// Code::bad_argument: an update does not fit its value. Code::bad_data: pieces of a value are missing.
  /// Code::mismatch: a native update is for other parts than the present ones of its value, or its attempt is refused.
  Status check(const KeyOperation& operation) const;
  Status apply(KeyOperation&& operation);
  /// Split tensors replaced since the last call.
  struct Dropped {
    ParamKey key;
    SplitTensor value;
  };
  std::vector<Dropped> take_dropped() { return std::exchange(dropped_, {}); }

  /// Whether an update of a mark below this one is staged.
  bool staged(const ParamKey& key, Mark below) const;
  /// Includes prepared updates.
  bool staged(const Arc& arc, Mark below) const;
  /// Whether a commit would merge anything in the arc. Staged updates wait for earlier prepared updates of steps that
  /// all live workers have completed (marks up to `passed`).
  bool due(const Arc& arc, Mark below, Mark passed) const;
  /// The updates that a Lua pull must merge, in the order of (mark, writer); `covered` names them.
  std::vector<PullEntry> staged_for_pull(const Arc& arc, Mark below, std::vector<TakenUpdate>& covered) const;

  /// A hash of all data of a key; 0 if there is none.
  uint64_t digest(const ParamKey& key) const;
  /// The number of keys in the arc and the sum of their digests.
  KeySum sum(const Arc& arc) const;
  std::vector<ParamKey> keys(const Arc& arc) const;
  /// Exports all data of a key, tensors in chunks. `restore` imports it, with whole tensors (join_pieces).
  KeyCopy copy(const ParamKey& key, std::vector<ParamEntry>& entries) const;
  Status restore(const ParamKey& key, const KeyCopy& copy, std::vector<ParamEntry> entries);
  void erase(const ParamKey& key);
  /// Increases with each change of the table.
  uint64_t changes() const noexcept { return changes_; }

 private:
  /// A staged update of one key.
  struct Staged {
    PushRule rule;
    std::vector<ParamEntry> entries;
  };
  struct Known {
    std::map<NodeId, Mark> taken;  // latest mark of each writer
    std::map<NodeId, uint64_t> refused;
    std::map<std::pair<Mark, NodeId>, Staged> staged;
    struct Held : Staged {
      Mark mark = 0;
      uint64_t number = 0;
    };
    std::map<NodeId, Held> prepared;

    std::pair<Mark, NodeId> end_of_due(Mark below, Mark passed) const;
  };

  Known& find_or_add(const ParamKey& key);
  Status check_update(const ParamEntry& entry, const UpdateRule& rule, const std::string& writer_name) const;
  Status set(KeyOperation&& operation);
  Status put(std::vector<ParamEntry>&& entries);
  Status push(KeyOperation&& operation);
  void merge(const PushRule& rule, Mark mark, NodeId writer, std::vector<ParamEntry>&& entries);
  void commit(const Arc& arc, Mark below, Mark passed);
  void count(KeyOperation&& operation);
  void refuse(const KeyOperation& operation);
  Status pulled(KeyOperation&& operation);
  using Places = std::set<std::pair<RingId, ParamKey>>;
  /// Visits the keys of the arc in ring order from its start.
  template <typename Visit>
  static void visit(const Places& places, const Arc& arc, Visit&& visit);

  ParamStore store_;
  std::unordered_map<ParamKey, Known> known_;
  Places places_;  // of all known keys
  Places staged_;  // of keys with staged updates
  Places prepared_;
  std::vector<Dropped> dropped_;
  uint64_t changes_ = 0;
};

}  // namespace actorhost
