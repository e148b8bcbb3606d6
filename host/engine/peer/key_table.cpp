#include "host/engine/peer/key_table.hpp"

#include <algorithm>

#include <xxhash.h>

#include "host/engine/param/assembler.hpp"

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

// A piece that is all of its value, as it was packed: what a table stores of it.
ParamEntry whole_entry(const ParamKey& key, const TensorLayout& layout, const std::vector<Blob>& chunks) {
  ParamTensor tensor = ParamTensor::whole(layout, {});
  if (chunks.size() == 1) {
    tensor.data = chunks.front();
  } else {
    tensor.data = Blob::allocate(tensor.bytes());
    size_t at = 0;
    for (const Blob& chunk : chunks) {
      std::copy_n(chunk.data(), chunk.size(), tensor.data.data() + at);
      at += chunk.size();
    }
  }
  return {key, std::move(tensor), 0};
}

std::optional<SpreadValue> spread_in(const Stored* stored) {
  const auto* lua = stored != nullptr ? std::get_if<LuaValue>(&stored->value) : nullptr;
  return lua != nullptr ? SpreadValue::of(*lua) : std::nullopt;
}

// [first, end) of the entries are of one key.
template <typename Visit>
void by_key(std::span<ParamEntry> entries, Visit&& visit) {
  for (size_t first = 0, end = 0; first < entries.size(); first = end) {
    while (end < entries.size() && entries[end].key == entries[first].key) ++end;
    visit(entries.subspan(first, end - first));
  }
}

}  // namespace

std::vector<ParamEntry> joined(std::vector<ParamEntry> pieces, bool shared) {
  std::vector<ParamAssembler::Partial> values;
  for (ParamEntry& piece : pieces) {
    const bool goes_on = !values.empty() && values.back().is_tensor() && !values.back().complete() &&
                         values.back().entry.key == piece.key;
    if (!goes_on) values.emplace_back().entry.key = piece.key;
    ParamAssembler::add(values.back(), std::move(piece), shared);
  }
  std::vector<ParamEntry> out;
  for (auto& value : values) out.push_back(std::move(value.entry));
  return out;
}

template <typename Visit>
void KeyTable::visit(const Places& places, const Arc& arc, Visit&& visit) {
  const auto run = [&](RingId first, RingId last) {
    for (auto at = places.lower_bound({first, ParamKey()}); at != places.end() && at->first <= last; ++at) {
      visit(at->second);
    }
  };
  const RingId first = arc.from + 1;
  if (first <= arc.to && arc.from != arc.to) return run(first, arc.to);
  if (first != 0) run(first, kCircle);
  run(0, arc.to);
}

KeyTable::Known& KeyTable::know(const ParamKey& key) {
  const auto [at, fresh] = known_.try_emplace(key);
  if (fresh) places_.insert({place_of(key), key});
  return at->second;
}

bool KeyTable::taken(const ParamKey& key, NodeId writer, Mark mark) const {
  const auto known = known_.find(key);
  if (known == known_.end()) return false;
  const auto newest = known->second.taken.find(writer);
  return newest != known->second.taken.end() && newest->second >= mark;
}

Status KeyTable::check(const KeyOperation& operation) const {
  const KeyWrite& write = operation.write;
  if (write.what != KeyWrite::What::push || !write.rule.rule.is_native()) {
    return store_.check_set(operation.entries);
  }
  const std::string who = address_name(worker_address(write.writer));
  for (const ParamEntry& entry : operation.entries) AH_TRY(check_update(entry, write.rule.rule, who));
  return {};
}

Status KeyTable::check_update(const ParamEntry& entry, const UpdateRule& rule, const std::string& who) const {
  const auto is = spread_in(store_.find(entry.key));
  const auto meant = SpreadValue::of(entry.value);
  const auto* tensor = std::get_if<ParamTensor>(&entry.value);
  const bool could_be = meant || (is && tensor != nullptr && is->layout == *tensor);
  if (could_be && is != meant)
    return Error{Code::mismatch, "key " + entry.key.print() + ": its value is spread over other parts"};
  if (meant) return {};
  if (is && tensor != nullptr) {
    return Error{Code::bad_argument, "key " + entry.key.print() + ": an update by " + who + " is " + tensor->print() +
                                         ", the value is " + is->layout.print() + "; nothing is changed"};
  }
  return store_.check_update(entry, rule, who);
}

Status KeyTable::apply(KeyOperation&& operation) {
  ++changes_;
  switch (operation.write.what) {
    case KeyWrite::What::set: return set(std::move(operation));
    case KeyWrite::What::push: return push(std::move(operation));
    case KeyWrite::What::commit: commit(operation.write.arc, operation.write.mark); return {};
    case KeyWrite::What::pulled: return pulled(std::move(operation));
  }
  return {};
}

Status KeyTable::set(KeyOperation&& operation) {
  std::vector<ParamKey> removed_parts;
  for (const ParamEntry& entry : operation.entries) {
    know(entry.key).taken[operation.write.writer] = operation.write.mark;
    const bool removed = entry.key.is_part() && std::holds_alternative<std::monostate>(entry.value);
    if (removed) removed_parts.push_back(entry.key);
  }
  AH_TRY(put(std::move(operation.entries)));
  for (const ParamKey& key : removed_parts) erase(key);
  return {};
}

Status KeyTable::put(std::vector<ParamEntry>&& entries) {
  by_key(entries, [&](std::span<ParamEntry> group) {
    const ParamEntry& entry = group.front();
    const auto before = spread_in(store_.find(entry.key));
    if (before && before != SpreadValue::of(entry.value)) dropped_.push_back({entry.key, *before});
  });
  return store_.set(std::move(entries));
}

Status KeyTable::push(KeyOperation&& operation) {
  const KeyWrite& write = operation.write;
  by_key(operation.entries, [&](std::span<ParamEntry> group) {
    Known& known = know(group.front().key);
    known.taken[write.writer] = write.mark;
    std::vector<ParamEntry> entries(std::make_move_iterator(group.begin()), std::make_move_iterator(group.end()));
    if (!write.rule.staged) return merge(write.rule, write.mark, write.writer, std::move(entries));
    auto& kept = known.staged[{write.mark, write.writer}];
    kept.rule = write.rule;
    staged_.insert({place_of(entries.front().key), entries.front().key});
    for (ParamEntry& entry : entries) kept.entries.push_back(std::move(entry));
  });
  return {};
}

void KeyTable::merge(const PushRule& rule, Mark mark, NodeId writer, std::vector<ParamEntry>&& entries) {
  const uint64_t step = step_of(mark);
  if (!rule.rule.is_native()) {
    for (ParamEntry& entry : entries) entry.step = step;
    (void)put(std::move(entries));
    return;
  }
  const std::string who = address_name(worker_address(writer));
  for (ParamEntry& entry : entries) {
    if (!check_update(entry, rule.rule, who).ok())
      continue;                                           // a set may have changed a staged update's value meanwhile
    if (std::holds_alternative<LuaValue>(entry.value)) {  // of a spread value; its parts have updates of their own
      entry.step = step;
      (void)store_.set({std::move(entry)});
    } else {
      (void)store_.update(entry, rule.rule, {step - 1, 1});
    }
  }
}

void KeyTable::commit(const Arc& arc, Mark below) {
  // All keys at once, in the order of (mark, writer): as if nothing were spread.
  std::map<std::pair<Mark, NodeId>, std::vector<Staged>> due;
  std::vector<ParamKey> empty;
  visit(staged_, arc, [&](const ParamKey& key) {
    auto& staged = known_.at(key).staged;
    while (!staged.empty() && staged.begin()->first.first < below) {
      due[staged.begin()->first].push_back(std::move(staged.begin()->second));
      staged.erase(staged.begin());
    }
    if (staged.empty()) empty.push_back(key);
  });
  for (const ParamKey& key : empty) staged_.erase({place_of(key), key});
  for (auto& [from, updates] : due) {
    for (Staged& update : updates) merge(update.rule, from.first, from.second, std::move(update.entries));
  }
}

Status KeyTable::pulled(KeyOperation&& operation) {
  for (const TakenUpdate& update : operation.write.covered) {
    auto key = ParamKey::from_canonical(update.key);
    if (!key.ok()) return std::move(key).error();
    Known& known = know(*key);
    Mark& taken = known.taken[update.writer];
    taken = std::max(taken, update.mark);
    if (known.staged.erase({update.mark, update.writer}) > 0 && known.staged.empty()) {
      staged_.erase({place_of(*key), *key});
    }
  }
  for (const ParamEntry& entry : operation.entries) know(entry.key);
  return put(std::move(operation.entries));
}

bool KeyTable::staged(const ParamKey& key, Mark below) const {
  const auto known = known_.find(key);
  if (known == known_.end() || known->second.staged.empty()) return false;
  return known->second.staged.begin()->first.first < below;
}

bool KeyTable::staged(const Arc& arc, Mark below) const {
  bool found = false;
  visit(staged_, arc, [&](const ParamKey& key) { found = found || staged(key, below); });
  return found;
}

std::vector<PullEntry> KeyTable::staged_for_pull(const Arc& arc, Mark below, std::vector<TakenUpdate>& covered) const {
  std::map<std::pair<Mark, NodeId>, std::vector<PullEntry>> due;
  visit(staged_, arc, [&](const ParamKey& key) {
    for (const auto& [from, update] : known_.at(key).staged) {
      if (from.first >= below) break;
      if (!update.rule.rule.is_lua()) continue;
      covered.push_back({key.canonical(), from.second, from.first});
      for (ParamEntry& entry : joined(update.entries, update.rule.rule.shared)) {
        due[from].push_back({entry.key, std::move(entry.value), step_of(from.first), from.second});
      }
    }
  });
  std::vector<PullEntry> out;
  for (auto& [from, entries] : due) {
    for (PullEntry& entry : entries) out.push_back(std::move(entry));
  }
  return out;
}

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
  return digest.value();
}

KeySum KeyTable::sum(const Arc& arc) const {
  KeySum sum;
  visit(places_, arc, [&](const ParamKey& key) {
    ++sum.count;
    sum.digests += digest(key) * (place_of(key) | 1);
  });
  return sum;
}

std::vector<ParamKey> KeyTable::keys(const Arc& arc) const {
  std::vector<ParamKey> keys;
  visit(places_, arc, [&](const ParamKey& key) { keys.push_back(key); });
  return keys;
}

KeyCopy KeyTable::copy(const ParamKey& key, std::vector<ParamEntry>& entries) const {
  KeyCopy copy;
  const auto known = known_.find(key);
  if (known == known_.end()) return copy;
  copy.there = true;
  copy.taken = known->second.taken;
  if (const Stored* stored = store_.find(key)) {
    copy.stored = true;
    copy.step = stored->step;
    copy.version = stored->version;
    if (const auto* lua = std::get_if<LuaValue>(&stored->value)) {
      entries.push_back({key, *lua, 0});
    } else {
      const auto& tensor = std::get<StoredTensor>(stored->value);
      const auto part = [&](auto&& bytes_of) {
        std::vector<Blob> chunks;
        for (const StoredChunk& chunk : tensor.chunks) chunks.push_back(bytes_of(chunk));
        entries.push_back(whole_entry(key, tensor, chunks));
      };
      part([](const StoredChunk& chunk) { return chunk.value; });
      if (tensor.state_of) copy.optimiser = *tensor.state_of;
      copy.made = tensor.chunks.empty() ? 0 : tensor.chunks.front().made;
      copy.parts = static_cast<uint8_t>(tensor.state_parts);
      for (int i = 0; i < tensor.state_parts; ++i) part([i](const StoredChunk& chunk) { return chunk.state[i]; });
    }
  }
  for (const auto& [from, update] : known->second.staged) {
    std::vector<ParamEntry> values = joined(update.entries, true);
    copy.staged.push_back({from.first, from.second, update.rule, static_cast<uint32_t>(values.size())});
    for (ParamEntry& value : values) entries.push_back(std::move(value));
  }
  return copy;
}

Status KeyTable::restore(const ParamKey& key, const KeyCopy& copy, std::vector<ParamEntry> entries) {
  erase(key);
  if (!copy.there) return {};
  size_t wanted = copy.stored ? 1 + size_t{copy.parts} : 0;
  for (const StagedCopy& update : copy.staged) wanted += update.count;
  const auto other = [&](const ParamEntry& entry) { return entry.key != key; };
  if (entries.size() != wanted || std::any_of(entries.begin(), entries.end(), other)) {
    return Error{Code::bad_data, "a copy of key " + key.print() + " is not complete"};
  }
  Known& known = know(key);
  known.taken = copy.taken;
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
    staged_.insert({place_of(key), key});
    Staged& staged = known.staged[{update.mark, update.writer}];
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

void KeyTable::erase(const ParamKey& key) {
  ++changes_;
  known_.erase(key);
  places_.erase({place_of(key), key});
  staged_.erase({place_of(key), key});
  (void)store_.set({ParamEntry{key, std::monostate{}, 0}});
}

}  // namespace actorhost
