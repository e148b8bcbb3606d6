// Digests and copies of all data of a key, for comparison with and transfer from another node.

#include <algorithm>

#include <xxhash.h>

#include "host/engine/peer/key_table.hpp"

namespace actorhost {

namespace {

class Digest {
 public:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void add(T value) { add(&value, sizeof value); }
  void add(const Blob& bytes) { add(bytes.data(), bytes.size()); }
  void add(const ParamEntry& entry) {
    if (const auto* tensor = std::get_if<ParamTensor>(&entry.value)) {
      add(tensor->first);
      add(tensor->data);
    } else if (const auto* lua = std::get_if<LuaValue>(&entry.value)) {
      add(*lua);
    }
  }
  void add(const LuaValue& lua) {
    add(lua.encoded);
    for (const Tensor& tensor : lua.tensors) add(tensor.data);
  }
  uint64_t value() const noexcept { return value_ | 1; }

 private:
  void add(const void* bytes, size_t size) { value_ = XXH3_64bits_withSeed(bytes, size, value_ + size); }
  uint64_t value_ = 0;
};

// The number of values that these pieces and values make up.
uint32_t count_values(const std::vector<ParamEntry>& entries) {
  return static_cast<uint32_t>(std::count_if(entries.begin(), entries.end(), [](const ParamEntry& entry) {
    const auto* tensor = std::get_if<ParamTensor>(&entry.value);
    return tensor == nullptr || tensor->first == 0;
  }));
}

}  // namespace

uint64_t KeyTable::digest(const ParamKey& key) const {
  const auto known = known_.find(key);
  if (known == known_.end()) return 0;
  Digest digest;
  if (const Stored* stored = store_.find(key)) {
    digest.add(stored->step);
    digest.add(stored->version);
    if (const auto* lua = std::get_if<LuaValue>(&stored->value)) digest.add(*lua);
    if (const auto* tensor = std::get_if<StoredTensor>(&stored->value)) {
      for (const StoredChunk& chunk : tensor->chunks) {
        digest.add(chunk.value);
        digest.add(chunk.made);
        for (const Blob& state : chunk.state) digest.add(state);
      }
    }
  }
  for (const auto& [writer, mark] : known->second.taken) {
    digest.add(writer);
    digest.add(mark);
  }
  for (const auto& [from, update] : known->second.staged) {
    digest.add(from.first);
    digest.add(from.second);
    for (const ParamEntry& entry : update.entries) digest.add(entry);
  }
  for (const auto& [writer, held] : known->second.prepared) {
    digest.add(writer);
    digest.add(held.mark);
    digest.add(held.number);
    for (const ParamEntry& entry : held.entries) digest.add(entry);
  }
  for (const auto& [writer, number] : known->second.refused) {
    digest.add(writer);
    digest.add(number);
  }
  return digest.value();
}

KeyCopy KeyTable::copy(const ParamKey& key, std::vector<ParamEntry>& entries) const {
  KeyCopy copy;
  const auto known = known_.find(key);
  if (known == known_.end()) return copy;
  copy.exists = true;
  copy.taken = known->second.taken;
  copy.refused = known->second.refused;
  if (const Stored* stored = store_.find(key)) {
    copy.stored = true;
    copy.step = stored->step;
    copy.version = stored->version;
    if (const auto* lua = std::get_if<LuaValue>(&stored->value)) {
      entries.push_back({key, *lua, 0});
    } else {
      const auto& tensor = std::get<StoredTensor>(stored->value);
      const auto part = [&](auto&& bytes_of) {
        for (size_t i = 0; i < tensor.chunks.size(); ++i) {
          ParamTensor piece = tensor.chunk(i);
          piece.data = bytes_of(tensor.chunks[i]);
          entries.push_back({key, std::move(piece), 0});
        }
      };
      part([](const StoredChunk& chunk) { return chunk.value; });
      if (tensor.state_of) copy.optimiser = *tensor.state_of;
      copy.made = tensor.chunks.empty() ? 0 : tensor.chunks.front().made;
      copy.parts = static_cast<uint8_t>(tensor.state_parts);
      for (int i = 0; i < tensor.state_parts; ++i) part([i](const StoredChunk& chunk) { return chunk.state[i]; });
    }
  }
  const auto add = [&](const Staged& update, StagedCopy head) {
    head.rule = update.rule;
    head.count = count_values(update.entries);
    copy.staged.push_back(head);
    entries.insert(entries.end(), update.entries.begin(), update.entries.end());
  };
  for (const auto& [from, update] : known->second.staged) add(update, {from.first, from.second});
  for (const auto& [writer, held] : known->second.prepared) add(held, {held.mark, writer, {}, 0, true, held.number});
  return copy;
}

Status KeyTable::restore(const ParamKey& key, const KeyCopy& copy, std::vector<ParamEntry> entries) {
  erase(key);
  if (!copy.exists) return {};
  size_t wanted = copy.stored ? 1 + size_t{copy.parts} : 0;
  for (const StagedCopy& update : copy.staged) wanted += update.count;
  const auto other = [&](const ParamEntry& entry) { return entry.key != key; };
  if (entries.size() != wanted || std::any_of(entries.begin(), entries.end(), other)) {
    return Error{Code::bad_data, "a copy of key " + key.print() + " is incomplete"};
  }
  Known& known = find_or_add(key);
  known.taken = copy.taken;
  known.refused = copy.refused;
  size_t next = 0;
  if (copy.stored) {
    ParamValue& value = entries[next++].value;
    if (const auto* lua = std::get_if<LuaValue>(&value)) {
      AH_TRY(store_.restore(key, *lua, copy.step, copy.version));
    } else if (const auto* tensor = std::get_if<ParamTensor>(&value)) {
      const auto tensor_of = [](const ParamTensor& whole) { return Tensor{whole, whole.data}; };
      std::vector<Tensor> state;
      for (int i = 0; i < copy.parts; ++i) {
        const auto* part = std::get_if<ParamTensor>(&entries[next++].value);
        if (part == nullptr) return Error{Code::bad_data, "an optimiser's state that is no tensor"};
        state.push_back(tensor_of(*part));
      }
      AH_TRY(store_.restore(key, tensor_of(*tensor), state, copy.optimiser, copy.made, copy.step, copy.version));
    }
  }
  for (const StagedCopy& update : copy.staged) {
    (update.prepared ? prepared_ : staged_).insert({place_of(key), key});
    Staged& staged = update.prepared ? known.prepared[update.writer] : known.staged[{update.mark, update.writer}];
    if (update.prepared) {
      known.prepared[update.writer].mark = update.mark;
      known.prepared[update.writer].number = update.number;
    }
    staged.rule = update.rule;
    for (uint32_t i = 0; i < update.count; ++i) {
      ParamEntry& entry = entries[next++];
      if (const auto* tensor = std::get_if<ParamTensor>(&entry.value)) {
        for_each_chunk(*tensor, [&](ParamTensor piece) { staged.entries.push_back({key, std::move(piece), 0}); });
      } else {
        staged.entries.push_back(std::move(entry));
      }
    }
  }
  return {};
}

}  // namespace actorhost
