#pragma once
// The values of one shard: key -> tensor or Lua value, the step of its last writer, and the optimiser's state, which is
// stored with the parameter. The store outlives runs and the server nodes that serve it; one thread at a time uses it.
// Tensors are stored in chunks. Readers share the chunks' bytes. Before a write the store copies a chunk that a reader
// still holds, so a reader's values do not change.
//
// Of a tensor that is large enough to be split (splits()), each shard holds its split_range. Of any other tensor the
// owner of the key holds everything. Every function with pieces accepts exactly the chunks of that range.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "host/base/result.hpp"
#include "host/engine/values/entries.hpp"
#include "host/engine/values/key_list.hpp"
#include "host/engine/values/update.hpp"
#include "host/engine/values/value.hpp"

namespace actorhost {

struct StoredChunk {
  Blob value;
  Blob state[kernel::kMaxStateParts];
  uint64_t made = 0;  // native updates of this chunk by the optimiser of the state
};

struct StoredTensor : TensorLayout {
  ElementRange range;  // of the tensor; chunk i starts at range.first + i * chunk_elements(type)
  std::vector<StoredChunk> chunks;
  std::optional<kernel::OptimiserKind> state_of;
  int state_parts = 0;

  ParamTensor chunk(size_t i) const;
};

struct Stored {
  std::variant<StoredTensor, LuaValue> value;
  uint64_t step = 0;                 // the last writer's completed steps, this write included; 0 for set
  uint64_t version = 0;              // number of writes
  std::shared_ptr<KeyRow> row = {};  // shared with the list of keys; set if this shard owns the key
};

/// The circumstances of one update.
struct UpdateContext {
  uint64_t clock = 0;  // completed steps of the worker when it began the work
  double scale = 1;    // of the update's values
};

class ParamStore {
 public:
  explicit ParamStore(uint32_t shard = 0, uint32_t shards = 1) : shard_(shard), shards_(shards) {}

  /// The list of keys, for observers. Any thread may read it.
  const KeyList& list() const noexcept { return list_; }

  uint32_t shard() const noexcept { return shard_; }
  uint32_t shards() const noexcept { return shards_; }
  size_t size() const noexcept { return values_.size(); }

  /// nullptr for a missing key. Valid until the next change.
  const Stored* find(const ParamKey& key) const;
  /// The keys that this shard owns, sorted. Keys with only a part on this shard are not included.
  std::vector<ParamKey> keys() const;
  /// Adds the stored value of `key` to a reply; nil for a missing key.
  void pack(const ParamKey& key, EntryPacker& reply) const;

  /// Writes all entries, or none if an entry is malformed. The pieces of a tensor must be adjacent, in order, and cover
  /// this shard's range. nil removes the key. A tensor of the same type and shape keeps its optimiser's state.
  Status set(std::vector<ParamEntry> entries);

  /// Whether `set` would write the entries.
  Status check_set(std::span<const ParamEntry> entries) const;

  /// Whether `update` would apply `entry`: the key exists, type and shape agree. The message names `sender`.
  Status check_update(const ParamEntry& entry, const UpdateRule& rule, const std::string& sender) const;
  /// Applies one piece of a native update that check_update has accepted. True if the piece contains an infinite value
  /// or NaN.
  bool update(const ParamEntry& entry, const UpdateRule& rule, const UpdateContext& context);

  /// All values, sorted by key; shares bytes.
  std::vector<std::pair<ParamKey, Stored>> snapshot() const;
  /// Restores a value of a snapshot of any store, with any number of shards. `whole` is the whole tensor; this shard
  /// stores its part. `state` has the whole tensors that `state_of` needs, `made` is the number of its updates.
  Status restore(const ParamKey& key, const Tensor& whole, const std::vector<Tensor>& state,
                 std::optional<kernel::OptimiserKind> state_of, uint64_t made, uint64_t step, uint64_t version);
  Status restore(const ParamKey& key, const LuaValue& value, uint64_t step, uint64_t version);

  /// The elements of a tensor that this shard holds.
  ElementRange held_range(const ParamTensor& tensor) const noexcept;
  /// Code::bad_data unless `piece` is one of the chunks of the tensor on this shard.
  Status check_piece(const ParamKey& key, const ParamTensor& piece) const;

 private:
  struct Group;  // the entries of one value

  Status group(std::span<const ParamEntry> entries, std::vector<Group>& out) const;
  bool set_tensor(Stored& stored, std::span<ParamEntry> pieces);
  void prepare_state(StoredTensor& tensor, const kernel::OptimiserSpec& spec);
  void make_writable(Blob& bytes);
  void erase(const ParamKey& key);
  void list(const ParamKey& key, Stored& stored, bool changed, uint64_t updates);

  uint32_t shard_;
  uint32_t shards_;
  std::unordered_map<ParamKey, Stored> values_;
  KeyList list_;
  std::vector<std::byte> scratch_;
};

}  // namespace actorhost
