#pragma once
// The parameters of one shard of the parameter server: a map from a key to a tensor or Lua value, with the step of its
// last write, and for a tensor the state of its optimiser. The store belongs to the process and outlives the runs and
// server nodes that use it. One thread at a time uses it; no call blocks.
//
// A large tensor (splits()) is split over all shards, and each shard holds its split_range. Any other value is on the
// shard that owns its key. A shard stores its range of a tensor in chunks. Each entry of a message holds one chunk (a
// piece); the functions refuse all other pieces. Readers share the bytes of chunks. Before it writes a chunk that a
// reader still refers to, the store copies the chunk, so the values of readers do not change.

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
  uint64_t made = 0;  // number of updates of this chunk since the state was made
};

struct StoredTensor : TensorLayout {
  ElementRange range;  // this shard's elements; chunk i starts at element range.first + i * chunk_elements(dtype)
  std::vector<StoredChunk> chunks;
  std::optional<kernel::OptimiserKind> state_of;  // the optimiser of the state; no value without a state
  int state_parts = 0;                            // tensors in the state

  ParamTensor chunk(size_t i) const;
};

struct Stored {
  std::variant<StoredTensor, LuaValue> value;
  uint64_t step = 0;                 // steps that the last writer has completed, including the step of the write
  uint64_t version = 0;              // number of writes
  std::shared_ptr<KeyRow> row = {};  // its row in the list of keys, which shares it; set if this shard owns the key
};

struct UpdateContext {
  uint64_t clock = 0;  // the worker's completed steps when it began the step of this update
  double scale = 1;    // the factor of the update's values
};

class ParamStore {
 public:
  explicit ParamStore(uint32_t shard = 0, uint32_t shards = 1) : shard_(shard), shards_(shards) {}

  /// The list of keys, for observers. Any thread may read it.
  const KeyList& list() const noexcept { return list_; }

  uint32_t shard() const noexcept { return shard_; }
  uint32_t shards() const noexcept { return shards_; }
  size_t size() const noexcept { return values_.size(); }

  /// The value of a key, nullptr for a missing key. Valid until the next change of the store.
  const Stored* find(const ParamKey& key) const;
  /// The keys that this shard owns, sorted, without the keys of other shards' split tensors.
  std::vector<ParamKey> keys() const;
  /// Adds the stored value of `key` to a reply: nil for a missing key.
  void pack(const ParamKey& key, EntryPacker& reply) const;

  /// Writes all entries, or none if an entry is malformed. The pieces of a tensor must be consecutive entries, in
  /// order, and cover this shard's range. nil removes the key. The optimiser's state remains if the new tensor has the
  /// type and shape of the old tensor.
  Status set(std::vector<ParamEntry> entries);

  /// The error with which `set` would refuse the entries, if any.
  Status check_set(std::span<const ParamEntry> entries) const;

  /// Checks that `update` can apply `entry`: the key exists, and type and shape agree. The error names `sender`.
  Status check_update(const ParamEntry& entry, const UpdateRule& rule, const std::string& sender) const;
  /// Applies one piece of a native update, which check_update has accepted. Returns whether the piece has an infinite
  /// element or NaN.
  bool update(const ParamEntry& entry, const UpdateRule& rule, const UpdateContext& context);

  /// All values, sorted by key, for a checkpoint. Shares the bytes of chunks.
  std::vector<std::pair<ParamKey, Stored>> snapshot() const;
  /// Restores a value of a checkpoint, which may have another number of shards. `whole` is the whole tensor. `state`
  /// has the whole tensors of the state of optimiser `state_of` after `made` updates. The store takes its own range, if
  /// any.
  Status restore(const ParamKey& key, const Tensor& whole, const std::vector<Tensor>& state,
                 std::optional<kernel::OptimiserKind> state_of, uint64_t made, uint64_t step, uint64_t version);
  Status restore(const ParamKey& key, const LuaValue& value, uint64_t step, uint64_t version);

  /// The elements of a tensor that this shard holds.
  ElementRange held_range(const ParamTensor& tensor) const noexcept;
  /// Code::bad_data unless `piece` is one of the chunks of the tensor on this shard.
  Status check_piece(const ParamKey& key, const ParamTensor& piece) const;

 private:
  struct Group;  // consecutive entries of one value

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
