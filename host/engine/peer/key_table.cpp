#include "host/engine/peer/key_table.hpp"

#include <algorithm>

#include <xxhash.h>

#include "host/engine/values/assembler.hpp"

namespace actorhost {

namespace {

std::optional<SplitTensor> split_in(const Stored* stored) {
  const auto* lua = stored != nullptr ? std::get_if<LuaValue>(&stored->value) : nullptr;
  return lua != nullptr ? SplitTensor::of(*lua) : std::nullopt;
}

// Visits the adjacent entries of each key.
template <typename Visit>
void by_key(std::span<ParamEntry> entries, Visit&& visit) {
  for (size_t first = 0, end = 0; first < entries.size(); first = end) {
    while (end < entries.size() && entries[end].key == entries[first].key) ++end;
    visit(entries.subspan(first, end - first));
  }
}

class Digest {
 public:
  template <typename... T>
  void add(const T&... values) {
    (take(values), ...);
  }
  uint64_t value() const noexcept { return value_ | 1; }

 private:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void take(T value) { take(&value, sizeof value); }
  void take(const Blob& bytes) { take(bytes.data(), bytes.size()); }
  void take(const ParamEntry& entry) {
    if (const auto* tensor = std::get_if<ParamTensor>(&entry.value)) {
      add(tensor->first, tensor->data);
    } else if (const auto* lua = std::get_if<LuaValue>(&entry.value)) {
      take(*lua);
    }
  }
  void take(const LuaValue& lua) {
    take(lua.encoded);
    for (const Tensor& tensor : lua.tensors) take(tensor.data);
  }
  void take(const void* bytes, size_t size) { value_ = XXH3_64bits_withSeed(bytes, size, value_ + size); }

  uint64_t value_ = 0;
};

// The number of values in the entries. The pieces of a tensor count once.
uint32_t count_values(const std::vector<ParamEntry>& entries) {
  return static_cast<uint32_t>(std::count_if(entries.begin(), entries.end(), [](const ParamEntry& entry) {
    const auto* tensor = std::get_if<ParamTensor>(&entry.value);
    return tensor == nullptr || tensor->first == 0;
  }));
}

}  // namespace

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

KeyTable::Known& KeyTable::find_or_add(const ParamKey& key) {
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

bool KeyTable::refused(const ParamKey& key, NodeId writer, uint64_t number) const {
  const auto known = known_.find(key);
  if (known == known_.end()) return false;
  const auto newest = known->second.refused.find(writer);
  return newest != known->second.refused.end() && newest->second >= number;
}

std::vector<KeyTable::Prepared> KeyTable::prepared(const ParamKey& key) const {
  std::vector<Prepared> all;
  const auto known = known_.find(key);
  if (known == known_.end()) return all;
  for (const auto& [writer, held] : known->second.prepared) {
    all.push_back({key, writer, held.mark, held.number});
  }
  return all;
}

std::optional<KeyTable::Prepared> KeyTable::prepared(const ParamKey& key, NodeId writer) const {
  for (const Prepared& update : prepared(key)) {
    if (update.writer == writer) return update;
  }
  return std::nullopt;
}

std::vector<KeyTable::Prepared> KeyTable::prepared(const Arc& arc) const {
  std::vector<Prepared> all;
  visit(prepared_, arc, [&](const ParamKey& key) {
    for (Prepared& update : prepared(key)) all.push_back(std::move(update));
  });
  return all;
}

Status KeyTable::check(const KeyOperation& operation) const {
  const KeyWrite& write = operation.write;
  if (write.type != KeyWrite::Type::push || !write.rule.rule.is_native()) {
    return store_.check_set(operation.entries);
  }
  const std::string writer_name = address_name(worker_address(write.writer));
  for (const ParamEntry& entry : operation.entries) {
    AH_TRY(check_update(entry, write.rule.rule, writer_name));
    if (SplitTensor::of(entry.value) && refused(entry.key, write.writer, write.number)) {
      return Error{Code::mismatch,
                   "key " + entry.key.print() + ": this attempt of " + writer_name + " has been refused"};
    }
  }
  return store_.check_set(operation.entries);  // requires all pieces of each update
}

Status KeyTable::check_update(const ParamEntry& entry, const UpdateRule& rule, const std::string& writer_name) const {
  const auto current = split_in(store_.find(entry.key));
  const auto expected = SplitTensor::of(entry.value);
  const auto* tensor = std::get_if<ParamTensor>(&entry.value);
  const bool could_be = expected || (current && tensor != nullptr && current->layout == *tensor);
  if (could_be && current != expected)
    return Error{Code::mismatch, "key " + entry.key.print() + ": its value is split into other parts"};
  if (expected) return {};
  if (current && tensor != nullptr) {
    return Error{Code::bad_argument, "key " + entry.key.print() + ": an update by " + writer_name + " is " +
                                         tensor->print() + ", the value is " + current->layout.print() +
                                         "; nothing is changed"};
  }
  Status checked = store_.check_update(entry, rule, writer_name);
  if (checked || store_.find(entry.key) != nullptr) return checked;
  return Error{checked.error().code,
               checked.error().message + "; if the run has set it, the run has lost all replicas of it at once"};
}

Status KeyTable::apply(KeyOperation&& operation) {
  ++changes_;
  switch (operation.write.type) {
    case KeyWrite::Type::set: return set(std::move(operation));
    case KeyWrite::Type::push: return push(std::move(operation));
    case KeyWrite::Type::commit: commit(operation.write.arc, operation.write.mark, operation.write.number); return {};
    case KeyWrite::Type::pulled: return pulled(std::move(operation));
    case KeyWrite::Type::count: count(std::move(operation)); return {};
    case KeyWrite::Type::refuse: refuse(operation); return {};
  }
  return {};
}

Status KeyTable::set(KeyOperation&& operation) {
  std::vector<ParamKey> removed_parts;
  for (const ParamEntry& entry : operation.entries) {
    find_or_add(entry.key).taken[operation.write.writer] = operation.write.mark;
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
    const auto before = split_in(store_.find(entry.key));
    if (before && before != SplitTensor::of(entry.value)) dropped_.push_back({entry.key, *before});
  });
  return store_.set(std::move(entries));
}

Status KeyTable::push(KeyOperation&& operation) {
  const KeyWrite& write = operation.write;
  by_key(operation.entries, [&](std::span<ParamEntry> group) {
    const ParamKey key = group.front().key;
    Known& known = find_or_add(key);
    std::vector<ParamEntry> entries(std::make_move_iterator(group.begin()), std::make_move_iterator(group.end()));
    if (write.rule.rule.is_native() && key.is_part()) {
      known.prepared[write.writer] = {{write.rule, std::move(entries)}, write.mark, write.number};
      prepared_.insert({place_of(key), key});
      return;
    }
    known.taken[write.writer] = write.mark;
    if (!write.rule.staged) return merge(write.rule, write.mark, write.writer, std::move(entries));
    auto& update = known.staged[{write.mark, write.writer}];
    update.rule = write.rule;
    staged_.insert({place_of(key), key});
    for (ParamEntry& entry : entries) update.entries.push_back(std::move(entry));
  });
  return {};
}

void KeyTable::count(KeyOperation&& operation) {
  const KeyWrite& write = operation.write;
  for (const ParamEntry& entry : operation.entries) {
    const auto known = known_.find(entry.key);
    if (known == known_.end()) continue;
    const auto held = known->second.prepared.find(write.writer);
    if (held == known->second.prepared.end() || held->second.mark != write.mark) continue;
    Staged update = std::move(held->second);
    known->second.prepared.erase(held);
    if (known->second.prepared.empty()) prepared_.erase({place_of(entry.key), entry.key});
    known->second.taken[write.writer] = write.mark;
    if (update.rule.staged) {
      known->second.staged[{write.mark, write.writer}] = std::move(update);
      staged_.insert({place_of(entry.key), entry.key});
    } else {
      merge(update.rule, write.mark, write.writer, std::move(update.entries));
    }
  }
}

void KeyTable::refuse(const KeyOperation& operation) {
  const KeyWrite& write = operation.write;
  for (const ParamEntry& entry : operation.entries) {
    const auto known = known_.find(entry.key);
    if (known == known_.end()) continue;
    if (!entry.key.is_part()) {
      uint64_t& newest = known->second.refused[write.writer];
      newest = std::max(newest, write.number);
      continue;
    }
    const auto held = known->second.prepared.find(write.writer);
    if (held == known->second.prepared.end() || held->second.number > write.number) continue;
    known->second.prepared.erase(held);
    if (known->second.prepared.empty()) prepared_.erase({place_of(entry.key), entry.key});
  }
}

void KeyTable::merge(const PushRule& rule, Mark mark, NodeId writer, std::vector<ParamEntry>&& entries) {
  const uint64_t step = step_of(mark);
  if (!rule.rule.is_native()) {
    for (ParamEntry& entry : entries) entry.step = step;
    (void)put(std::move(entries));
    return;
  }
  const std::string writer_name = address_name(worker_address(writer));
  for (ParamEntry& entry : entries) {
    if (!check_update(entry, rule.rule, writer_name).ok()) continue;  // a later set may have changed the value
    if (std::holds_alternative<LuaValue>(
            entry.value)) {  // description of a split tensor; its parts have their own updates
      entry.step = step;
      (void)store_.set({std::move(entry)});
    } else {
      (void)store_.update(entry, rule.rule, {step - 1, 1});
    }
  }
}

void KeyTable::commit(const Arc& arc, Mark below, Mark passed) {
  // Merges all keys together in the order of (mark, writer), as if no tensor were split.
  std::map<std::pair<Mark, NodeId>, std::vector<Staged>> due;
  std::vector<ParamKey> empty;
  visit(staged_, arc, [&](const ParamKey& key) {
    const auto end = known_.at(key).end_of_due(below, passed);
    auto& staged = known_.at(key).staged;
    while (!staged.empty() && staged.begin()->first < end) {
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
    Known& known = find_or_add(*key);
    Mark& taken = known.taken[update.writer];
    taken = std::max(taken, update.mark);
    if (known.staged.erase({update.mark, update.writer}) > 0 && known.staged.empty()) {
      staged_.erase({place_of(*key), *key});
    }
  }
  for (const ParamEntry& entry : operation.entries) find_or_add(entry.key);
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
  for (const Prepared& update : prepared(arc)) found = found || update.mark < below;
  return found;
}

std::pair<Mark, NodeId> KeyTable::Known::end_of_due(Mark below, Mark passed) const {
  std::pair<Mark, NodeId> end{below, 0};
  for (const auto& [writer, held] : prepared) {
    if (held.rule.staged && held.mark <= passed) end = std::min(end, {held.mark, writer});
  }
  return end;
}

bool KeyTable::due(const Arc& arc, Mark below, Mark passed) const {
  bool found = false;
  visit(staged_, arc, [&](const ParamKey& key) {
    const Known& known = known_.at(key);
    found = found || known.staged.begin()->first < known.end_of_due(below, passed);
  });
  return found;
}

std::vector<PullEntry> KeyTable::staged_for_pull(const Arc& arc, Mark below, std::vector<TakenUpdate>& covered) const {
  std::map<std::pair<Mark, NodeId>, std::vector<PullEntry>> due;
  visit(staged_, arc, [&](const ParamKey& key) {
    for (const auto& [from, update] : known_.at(key).staged) {
      if (from.first >= below) break;
      if (!update.rule.rule.is_lua()) continue;
      covered.push_back({key.canonical(), from.second, from.first});
      auto whole = join_pieces(update.entries, update.rule.rule.shared);
      if (!whole.ok()) continue;  // `check` has refused incomplete updates
      for (ParamEntry& entry : *whole) {
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
    digest.add(stored->step, stored->version);
    if (const auto* lua = std::get_if<LuaValue>(&stored->value)) digest.add(*lua);
    if (const auto* tensor = std::get_if<StoredTensor>(&stored->value)) {
      for (const StoredChunk& chunk : tensor->chunks) {
        digest.add(chunk.value, chunk.made);
        for (const Blob& state : chunk.state) digest.add(state);
      }
    }
  }
  for (const auto& [writer, mark] : known->second.taken) digest.add(writer, mark);
  for (const auto& [from, update] : known->second.staged) {
    digest.add(from.first, from.second);
    for (const ParamEntry& entry : update.entries) digest.add(entry);
  }
  for (const auto& [writer, held] : known->second.prepared) {
    digest.add(writer, held.mark, held.number);
    for (const ParamEntry& entry : held.entries) digest.add(entry);
  }
  for (const auto& [writer, number] : known->second.refused) digest.add(writer, number);
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

void KeyTable::erase(const ParamKey& key) {
  ++changes_;
  known_.erase(key);
  places_.erase({place_of(key), key});
  staged_.erase({place_of(key), key});
  prepared_.erase({place_of(key), key});
  (void)store_.set({ParamEntry{key, std::monostate{}, 0}});
}

}  // namespace actorhost
