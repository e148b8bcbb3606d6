#pragma once
// The keys that a node holds, its own and copies of others': values with their optimiser's state, whose updates are in
// them, and staged updates. Passive and without time; the same calls in the same order make the same table on each
// node, bit for bit.

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "host/engine/param/param_store.hpp"
#include "host/engine/param/shard.hpp"
#include "host/engine/peer/peer_messages.hpp"

namespace actorhost {

class KeyTable {
 public:
  /// A push as it came: the pieces of a key's value stand together.
  struct Push {
    NodeId writer = 0;
    Mark mark = 0;
    PushRule rule;
    std::vector<ParamEntry> entries;
  };

  const ParamStore& store() const noexcept { return store_; }
  void pack(const ParamKey& key, EntryPacker& reply) const { store_.pack(key, reply); }

  /// Whether this update of the writer, or a later one, has been taken.
  bool taken(const ParamKey& key, NodeId writer, Mark mark) const;
  /// Removes the keys whose updates have been taken.
  void drop_taken(Push& push) const;
  /// Code::bad_argument when a native update does not fit its value.
  Status check(const Push& push) const;

  /// nil removes. Code::bad_data when pieces are missing, and nothing has changed.
  Status set(std::vector<ParamEntry> entries);
  /// Applies it, or keeps it when it is staged. For rules in C++; `check` has approved. A Lua pull's is noted as taken
  /// and left to the caller, unless it is staged.
  void push(Push&& push);
  bool staged(Mark below) const { return !staged_.empty() && staged_.begin()->first.first < below; }
  /// Merges what is staged of marks below this one, in the order of (mark, writer). What a Lua pull has to merge is
  /// given out, to be set later.
  std::vector<PullEntry> commit(Mark below);

 private:
  struct Group {
    size_t first, count;
  };
  static std::vector<Group> groups_of(std::span<const ParamEntry> entries);
  void apply(Push& push);

  ParamStore store_;
  std::unordered_map<ParamKey, std::map<NodeId, Mark>> taken_;
  std::map<std::pair<Mark, NodeId>, Push> staged_;
};

/// Values of a push for a Lua pull, whole.
std::vector<PullEntry> pull_entries(KeyTable::Push&& push);

}  // namespace actorhost
