#pragma once
// One shard's values: key -> tensor or Lua value, the step of its last writer, and the optimiser's state, which lives
// with the parameter. The store outlives runs and the server VMs that serve it, and belongs to one thread at a time.
// Tensors are kept in chunks. A reader shares the chunks' bytes; a chunk that a reader still holds is copied before it
// is written, so a reader's values do not change.
//
// Of a tensor that is large enough to be split (splits()), a shard holds its split_range; of any other, the owner of
// the key holds all. Every function that takes pieces takes them in those chunks and no others.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "host/base/result.hpp"
#include "host/engine/param/key_list.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/update.hpp"
#include "host/engine/param/value.hpp"

namespace actorhost {

struct StoredChunk {
  Blob value;
  Blob state[kernel::kMaxStateParts];
  uint64_t made = 0;  // native updates of this chunk by the optimiser that the state belongs to
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
  uint64_t step = 0;                 // completed by its last writer with this write; 0 for set
  uint64_t version = 0;              // writes so far
  std::shared_ptr<KeyRow> row = {};  // shared with the list of keys; of a key that this shard owns
};

/// One update's circumstances.
struct UpdateContext {
  uint64_t clock = 0;  // completed steps of the worker when it worked on it
  double scale = 1;    // of the update's values
};

class ParamStore {
 public:
  explicit ParamStore(uint32_t shard = 0, uint32_t shards = 1) : shard_(shard), shards_(shards) {}

  /// The keys for those who look into the run; any thread may read it.
  const KeyList& list() const noexcept { return list_; }

  uint32_t shard() const noexcept { return shard_; }
  uint32_t shards() const noexcept { return shards_; }
  size_t size() const noexcept { return values_.size(); }

  /// nullptr when there is none. Valid until the next change.
  const Stored* find(const ParamKey& key) const;
  /// The keys that this shard owns (not those of which it only holds a part), sorted.
  std::vector<ParamKey> keys() const;
  /// Adds what is held under `key` to a reply; nothing held is nil.
  void pack(const ParamKey& key, EntryPacker& reply) const;

  /// Writes all entries, or none when one is malformed. The pieces of a tensor stand together, in order, and make up
  /// what this shard holds of it. nil removes. A tensor of the same type and shape keeps its optimiser's state.
  Status set(std::vector<ParamEntry> entries);

  /// Whether `set` would write the entries.
  Status check_set(std::span<const ParamEntry> entries) const;

  /// Whether `update` would apply `entry`: the key is there, type and shape agree. `who` is named in the message.
  Status check_update(const ParamEntry& entry, const UpdateRule& rule, const std::string& who) const;
  /// Applies one piece of a native update that check_update has approved of. True when it holds a value that is
  /// infinite or not a number.
  bool update(const ParamEntry& entry, const UpdateRule& rule, const UpdateContext& context);

  /// Everything that is held, sorted by key; shares bytes.
  std::vector<std::pair<ParamKey, Stored>> snapshot() const;
  /// Puts back what snapshot gave on a store of any shard and number of shards: whole tensors, of which this shard
  /// takes what it holds. `state` has as many whole tensors as `state_of` needs, `made` the count of its updates.
  Status restore(const ParamKey& key, const Tensor& whole, const std::vector<Tensor>& state,
                 std::optional<kernel::OptimiserKind> state_of, uint64_t made, uint64_t step, uint64_t version);
  Status restore(const ParamKey& key, const LuaValue& value, uint64_t step, uint64_t version);

  /// What this shard holds of a tensor.
  ElementRange held_range(const ParamTensor& tensor) const noexcept;
  /// Code::bad_data unless `piece` is one of the chunks in which this shard holds the tensor.
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
