#include "host/engine/values/param_store.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

// An update processes a chunk in blocks that fit the first-level cache. So memory is read once both for finding
// infinite values and for applying.
constexpr uint64_t kScratchBytes = 16 << 10;

Error misfit(const ParamKey& key, const std::string& what) {
  return {Code::bad_argument, "key " + key.print() + ": " + what};
}

}  // namespace

ParamTensor StoredTensor::chunk(size_t i) const {
  const Blob& bytes = chunks[i].value;
  return {*this, range.first + i * chunk_elements(dtype), bytes.size() / dtype_size(dtype), bytes};
}

// Entries [first, first + count) of a message are the pieces of one tensor, or one other value.
struct ParamStore::Group {
  size_t first;
  size_t count;
};

const Stored* ParamStore::find(const ParamKey& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<ParamKey> ParamStore::keys() const {
  std::vector<ParamKey> out;
  for (const auto& [key, stored] : values_) {
    if (owner_of(key, shards_) == shard_) out.push_back(key);
  }
  std::sort(out.begin(), out.end());
  return out;
}

void ParamStore::pack(const ParamKey& key, EntryPacker& reply) const {
  const Stored* stored = find(key);
  if (stored == nullptr) return reply.add(key, std::monostate{});
  if (const auto* lua = std::get_if<LuaValue>(&stored->value)) return reply.add(key, *lua, stored->step);
  const auto& tensor = std::get<StoredTensor>(stored->value);
  for (size_t i = 0; i < tensor.chunks.size(); ++i) reply.add_tensor(key, tensor.chunk(i), stored->step);
}

ElementRange ParamStore::held_range(const ParamTensor& tensor) const noexcept {
  const uint64_t elements = tensor.elements();
  if (!splits(elements * dtype_size(tensor.dtype), shards_)) return {0, elements};
  return split_range(elements, shard_, shards_);
}

Status ParamStore::check_piece(const ParamKey& key, const ParamTensor& piece) const {
  const ElementRange range = held_range(piece);
  const uint64_t chunk = chunk_elements(piece.dtype);
  const uint64_t at = piece.first - range.first;
  const bool fits = piece.first >= range.first && at <= range.count && at % chunk == 0 &&
                    piece.count == std::min(chunk, range.count - at) && piece.data.size() == piece.bytes() &&
                    (piece.count != 0 || range.count == 0);
  if (fits) return {};
  return Error{Code::bad_data, "key " + key.print() + ": elements " + std::to_string(piece.first) + " to " +
                                   std::to_string(piece.first + piece.count) + " of " + piece.print() +
                                   " are not a chunk of shard " + std::to_string(shard_) + " of " +
                                   std::to_string(shards_)};
}

Status ParamStore::group(std::span<const ParamEntry> entries, std::vector<Group>& out) const {
  for (size_t i = 0; i < entries.size();) {
    const ParamEntry& entry = entries[i];
    if (std::holds_alternative<ParamFetch>(entry.value)) return misfit(entry.key, "there is no value to set");
    size_t n = 1;
    if (const auto* tensor = std::get_if<ParamTensor>(&entry.value)) {
      const ElementRange range = held_range(*tensor);
      uint64_t next = range.first;
      for (n = 0; n == 0 || next < range.first + range.count; ++n) {
        const auto* piece = i + n < entries.size() && entries[i + n].key == entry.key
                                ? std::get_if<ParamTensor>(&entries[i + n].value)
                                : nullptr;
        if (piece == nullptr || piece->first != next || piece->dtype != tensor->dtype ||
            piece->shape != tensor->shape) {
          return Error{Code::bad_data, "key " + entry.key.print() + ": the pieces of " + tensor->print() +
                                           " are not complete and in order"};
        }
        AH_TRY(check_piece(entry.key, *piece));
        next += piece->count;
      }
    }
    out.push_back({i, n});
    i += n;
  }
  return {};
}

Status ParamStore::check_set(std::span<const ParamEntry> entries) const {
  std::vector<Group> groups;
  return group(entries, groups);
}

Status ParamStore::set(std::vector<ParamEntry> entries) {
  std::vector<Group> groups;
  AH_TRY(group(entries, groups));
  for (const Group& g : groups) {
    ParamEntry& entry = entries[g.first];
    if (std::holds_alternative<std::monostate>(entry.value)) {
      erase(entry.key);
      continue;
    }
    Stored& stored = values_[entry.key];
    stored.step = entry.step;
    ++stored.version;
    bool changed = false;
    if (auto* lua = std::get_if<LuaValue>(&entry.value)) {
      for (Tensor& t : lua->tensors) t.data = Blob::copy_of(t.data.view());
      changed = std::holds_alternative<StoredTensor>(stored.value);
      stored.value = std::move(*lua);
    } else {
      changed = set_tensor(stored, std::span(entries).subspan(g.first, g.count));
    }
    list(entry.key, stored, changed, entry.step > 0 ? 1 : 0);
  }
  return {};
}

void ParamStore::erase(const ParamKey& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return;
  if (found->second.row) list_.remove(found->second.row);
  values_.erase(found);
}

/// Notes for observers that `stored` was written, and whether its type or shape has changed.
void ParamStore::list(const ParamKey& key, Stored& stored, bool changed, uint64_t updates) {
  const auto* tensor = std::get_if<StoredTensor>(&stored.value);
  if (!stored.row) {
    if (owner_of(key, shards_) != shard_) return;
    stored.row = list_.add(key.is_number() ? key.print() : std::string(key.text()));
    if (!stored.row) return;
    changed = true;
  }
  if (changed) list_.describe(*stored.row, tensor);
  if (tensor == nullptr) stored.row->bytes.set(payload_bytes(std::get<LuaValue>(stored.value)));
  if (tensor != nullptr && changed) stored.row->bytes.set(tensor->bytes());
  stored.row->version.set(stored.version);
  stored.row->updates.add(updates);
}

/// True if the type or shape has changed.
bool ParamStore::set_tensor(Stored& stored, std::span<ParamEntry> pieces) {
  const auto& like = std::get<ParamTensor>(pieces.front().value);
  auto* old = std::get_if<StoredTensor>(&stored.value);
  const bool changed = old == nullptr || static_cast<const TensorLayout&>(*old) != like;
  if (changed) {
    StoredTensor fresh;
    static_cast<TensorLayout&>(fresh) = like;
    fresh.range = held_range(like);
    fresh.chunks.resize(pieces.size());
    stored.value = std::move(fresh);
    old = &std::get<StoredTensor>(stored.value);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    // Moves the bytes out of the message, so bytes without another owner are stored without a copy.
    Blob bytes = std::move(std::get<ParamTensor>(pieces[i].value).data);
    old->chunks[i].value = bytes.unique() ? std::move(bytes) : Blob::copy_of(bytes.view());
  }
  return changed;
}

Status ParamStore::check_update(const ParamEntry& entry, const UpdateRule& rule, const std::string& sender) const {
  const auto* piece = std::get_if<ParamTensor>(&entry.value);
  const std::string by = " by " + sender + " (native update " + update_name(rule) + ")";
  if (piece == nullptr) return misfit(entry.key, "an update" + by + " has to be a tensor");
  const Stored* stored = find(entry.key);
  if (stored == nullptr)
    return misfit(entry.key, "an update" + by + " of a key that has no value: set it first, in init");
  const auto* tensor = std::get_if<StoredTensor>(&stored->value);
  if (tensor == nullptr) return misfit(entry.key, "an update" + by + " of a value that is not a tensor");
  if (tensor->dtype != piece->dtype || tensor->shape != piece->shape) {
    return misfit(entry.key, "an update" + by + " is " + piece->print() + ", the value is " +
                                 ParamTensor{tensor->dtype, tensor->shape, 0, 0, {}}.print() + "; nothing is changed");
  }
  return check_piece(entry.key, *piece);
}

bool ParamStore::update(const ParamEntry& entry, const UpdateRule& rule, const UpdateContext& context) {
  const auto& piece = std::get<ParamTensor>(entry.value);
  Stored& stored = values_.find(entry.key)->second;
  auto& tensor = std::get<StoredTensor>(stored.value);
  prepare_state(tensor, rule.spec);
  if (piece.first == tensor.range.first) {
    ++stored.version;
    if (stored.row) {
      stored.row->version.set(stored.version);
      stored.row->updates.add(1);
    }
  }
  stored.step = context.clock + 1;
  if (piece.count == 0) return false;

  StoredChunk& chunk = tensor.chunks[(piece.first - tensor.range.first) / chunk_elements(tensor.dtype)];
  make_writable(chunk.value);
  for (int i = 0; i < tensor.state_parts; ++i) make_writable(chunk.state[i]);
  const size_t item = dtype_size(tensor.dtype);
  scratch_.resize(kScratchBytes);
  // The rate depends on the worker's clock, Adam's correction on the updates.
  const double lr = kernel::learning_rate(rule.spec, static_cast<int64_t>(context.clock));
  bool non_finite = false;
  for (uint64_t at = 0; at < piece.count; at += kScratchBytes / item) {
    const uint64_t n = std::min<uint64_t>(kScratchBytes / item, piece.count - at);
    const void* values = piece.data.data() + at * item;
    non_finite = non_finite || has_non_finite(tensor.dtype, n, values);
    if (context.scale != 1) {
      scale_into(tensor.dtype, n, context.scale, values, scratch_.data());
      values = scratch_.data();
    }
    void* state[kernel::kMaxStateParts] = {};
    for (int i = 0; i < tensor.state_parts; ++i) state[i] = chunk.state[i].data() + at * item;
    kernel::apply_update(kernel::kernels(), rule.spec, tensor.dtype, static_cast<int64_t>(n), lr,
                         static_cast<int64_t>(chunk.made), values, state, chunk.value.data() + at * item);
  }
  ++chunk.made;
  return non_finite;
}

void ParamStore::prepare_state(StoredTensor& tensor, const kernel::OptimiserSpec& spec) {
  const int parts = kernel::state_parts(spec);
  if (tensor.state_of == spec.kind && tensor.state_parts == parts) return;
  const double fill = kernel::state_fill(spec);
  for (StoredChunk& chunk : tensor.chunks) {
    chunk.made = 0;
    for (Blob& state : chunk.state) state = {};
    const uint64_t n = chunk.value.size() / dtype_size(tensor.dtype);
    for (int i = 0; i < parts && n != 0; ++i) {
      chunk.state[i] = Blob::allocate(chunk.value.size());
      void* to = chunk.state[i].data();
      if (tensor.dtype == Dtype::f32) {
        std::fill_n(static_cast<float*>(to), n, static_cast<float>(fill));
      } else {
        std::fill_n(static_cast<double*>(to), n, fill);
      }
    }
  }
  tensor.state_of = spec.kind;
  tensor.state_parts = parts;
}

void ParamStore::make_writable(Blob& bytes) {
  if (bytes.empty() || bytes.unique()) return;
  bytes = Blob::copy_of(bytes.view());
}

std::vector<std::pair<ParamKey, Stored>> ParamStore::snapshot() const {
  std::vector<std::pair<ParamKey, Stored>> out(values_.begin(), values_.end());
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

Status ParamStore::restore(const ParamKey& key, const Tensor& value, const std::vector<Tensor>& state,
                           std::optional<kernel::OptimiserKind> state_of, uint64_t made, uint64_t step,
                           uint64_t version) {
  if (!is_floating(value.dtype)) {
    return Error{Code::bad_data, "key " + key.print() + ": " + value.print() +
                                     ", where the parameter server has float32 and float64 only"};
  }
  const auto whole = ParamTensor::whole(value, value.data);
  const ElementRange range = held_range(whole);
  if (!splits(whole.bytes(), shards_) && owner_of(key, shards_) != shard_) return {};
  StoredTensor tensor;
  static_cast<TensorLayout&>(tensor) = value;
  tensor.range = range;
  for_each_chunk(cut(whole, range), [&](const ParamTensor& piece) {
    StoredChunk& chunk = tensor.chunks.emplace_back();
    chunk.value = Blob::copy_of(piece.data.view());
    chunk.made = made;
  });
  for (size_t part = 0; part < state.size(); ++part) {
    if (part >= kernel::kMaxStateParts || static_cast<const TensorLayout&>(state[part]) != value) {
      return Error{Code::bad_data, "key " + key.print() + ": optimiser state that does not fit the value"};
    }
    size_t i = 0;
    for_each_chunk(cut(ParamTensor::whole(state[part], state[part].data), range), [&](const ParamTensor& piece) {
      tensor.chunks[i++].state[part] = Blob::copy_of(piece.data.view());
    });
  }
  tensor.state_of = state_of;
  tensor.state_parts = static_cast<int>(state.size());
  erase(key);
  list(key, values_[key] = Stored{std::move(tensor), step, version}, true, 0);
  return {};
}

Status ParamStore::restore(const ParamKey& key, const LuaValue& value, uint64_t step, uint64_t version) {
  if (owner_of(key, shards_) != shard_) return {};
  erase(key);
  list(key, values_[key] = Stored{value, step, version}, true, 0);
  return {};
}

}  // namespace actorhost
