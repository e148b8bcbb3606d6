#include "host/engine/param/shard.hpp"

#include <algorithm>

#include "host/engine/values/assembler.hpp"
#include "host/kernel/aggregate.hpp"

namespace actorhost {

namespace {

/// The update of these parts of a value, each with its scale.
ParamTensor combined(const std::vector<std::pair<const ParamTensor*, double>>& parts, const Combination& combination) {
  const ParamTensor& first = *parts.front().first;
  ParamTensor out = first;
  out.data = Blob::allocate(first.data.size());
  if (combination.kind == Combination::Kind::trimmed_mean && is_floating(first.dtype)) {
    std::vector<const void*> vectors;
    for (const auto& [part, scale] : parts) vectors.push_back(part->data.data());
    const size_t trim = std::min<size_t>(combination.trim, (vectors.size() - 1) / 2);
    kernel::trimmed_mean(first.dtype, first.count, vectors, trim, out.data.data());
    return out;
  }
  scale_into(first.dtype, first.count, parts.front().second, first.data.data(), out.data.data());
  for (size_t i = 1; i < parts.size(); ++i) {
    add_scaled(first.dtype, first.count, parts[i].second, parts[i].first->data.data(), out.data.data());
  }
  return out;
}

std::string worker_name(NodeId worker) { return address_name(worker_address(worker)); }

// Copies bytes with another owner: this owner may write to them, and so may the pull.
void own_bytes(ParamValue& value) {
  const auto own = [](Blob& bytes) {
    if (!bytes.empty() && !bytes.unique()) bytes = Blob::copy_of(bytes.view());
  };
  if (auto* tensor = std::get_if<ParamTensor>(&value)) own(tensor->data);
  if (auto* lua = std::get_if<LuaValue>(&value)) {
    for (Tensor& t : lua->tensors) own(t.data);
  }
}

}  // namespace

ParamShard::ParamShard(ParamStore& store, RunId run, const UpdateRule& update, Log& log, std::vector<Frame>& out,
                       CheckpointSink* checkpoints)
    : store_(store), run_(run), update_(update), log_(log), out_(out), checkpoints_(checkpoints) {}

void ParamShard::handle(Frame&& frame) {
  if (!batches_.empty() && (frame.flags & param::kNow) == 0) {
    waiting_.push_back(std::move(frame));
  } else {
    dispatch(std::move(frame));
  }
}

void ParamShard::dispatch(Frame&& frame) {
  if (frame.kind == param_kind::push) return on_push(std::move(frame));
  if (frame.kind == param_kind::get) return on_get(frame);
  if (frame.kind == param_kind::set) return on_set(std::move(frame));
  if (frame.kind == param_kind::keys) return on_keys(frame);
  if (!is_server(frame.src)) return;
  if (frame.kind == param_kind::commit) {
    if (const auto read = read_message<Commit>(frame)) commit(*read);
  } else if (frame.kind == param_kind::discard) {
    if (const auto read = read_message<Discard>(frame)) discard(*read);
  } else if (frame.kind == param_kind::cut) {
    const auto read = read_message<CheckpointCut>(frame);
    if (!read) return;
    if (!read->query) return cut(read->number);
    out_.push_back(message_frame(param_kind::cut, server_address(0), 0, CheckpointCut{read->number, false}));
  }
}

void ParamShard::resume() {
  while (batches_.empty() && !waiting_.empty()) {
    Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    dispatch(std::move(frame));
  }
}

void ParamShard::fail(const Frame& frame, const Error& error) {
  log_.warn(address_name(server_address(store_.shard())), error.message);
  out_.push_back(message_frame(param_kind::failed, frame.src, frame.tag, ErrorMessage{error}));
}

void ParamShard::on_get(const Frame& frame) {
  Unpacker in(frame.meta.view());
  std::vector<ParamKey> keys;
  if (const Status read = read_keys(in, keys); !read.ok()) return fail(frame, malformed(frame, read.error().message));
  EntryPacker reply(param_kind::values, frame.src, frame.tag, {}, true);
  const bool filtered = (frame.flags & param::kFiltered) != 0 && is_worker(frame.src);
  for (const ParamKey& key : keys) {
    if (filtered) {
      pack_filtered(address_index(frame.src), key, reply);
    } else {
      store_.pack(key, reply);
    }
  }
  reply.finish(out_);
}

void ParamShard::pack_filtered(NodeId worker, const ParamKey& key, EntryPacker& reply) {
  const Stored* stored = store_.find(key);
  const auto* tensor = stored == nullptr ? nullptr : std::get_if<StoredTensor>(&stored->value);
  if (tensor == nullptr || tensor->chunks.empty() || !filter_.applies_to(tensor->chunk(0)))
    return store_.pack(key, reply);
  for (size_t i = 0; i < tensor->chunks.size(); ++i) {
    const ParamTensor chunk = tensor->chunk(i);
    filter_.begin(worker, key, chunk);
    reply.add_filtered(key, chunk, filter_.piece(chunk), stored->step);
  }
}

void ParamShard::on_keys(const Frame& frame) {
  pack_keys(param_kind::key_list, frame.src, frame.tag, {}, store_.keys(), out_);
}

void ParamShard::append(std::vector<ParamEntry>& entries, std::vector<ParamEntry>& into) {
  into.insert(into.end(), std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
  entries.clear();
}

void ParamShard::on_set(Frame&& frame) {
  // Shard 0 can learn of the loss before it reads the worker's last frames. No reply reaches the worker.
  if (is_worker(frame.src) && lost_.contains(address_index(frame.src))) return;
  Unpacker in(frame.meta.view());
  auto entries = sets_.add(frame.src, frame, in, true);
  if (!entries.ok()) return fail(frame, entries.error());
  if (!*entries) return;
  const Status set = store_.set(**std::move(entries));
  Frame reply;
  reply.kind = param_kind::done;
  if (!set.ok()) reply = message_frame(param_kind::failed, frame.src, frame.tag, ErrorMessage{set.error()});
  reply.dst = frame.src;
  reply.tag = frame.tag;
  out_.push_back(std::move(reply));
}

void ParamShard::on_push(Frame&& frame) {
  Unpacker in(frame.meta.view());
  const auto head = unpack_head<PushHead>(in);
  if (!head || !is_worker(frame.src) || head->run != run_) return;
  const PushName name{address_index(frame.src), head->step};
  if (const auto ignored = ignored_from_.find(name.first);
      ignored != ignored_from_.end() && name.second >= ignored->second)
    return;
  const bool last = (frame.flags & kLastFrame) != 0;
  std::vector<ParamEntry> entries;
  const Status read = read_entries(in, frame.body, false, entries);
  if (!read.ok()) {
    refuse(name, malformed(frame, read.error().message));
  } else if (update_.is_native() && !head->staged) {
    apply_at_once(name, frame, entries);
  } else {
    frame.body = {};
    Push& push = pushes_[name];
    for (ParamEntry& entry : entries) {
      if (push.refused) break;
      const Status fits = update_.is_native() ? store_.check_update(entry, update_, worker_name(name.first)) : Status();
      if (!fits.ok()) refuse(name, fits.error());
      if (!head->uncopied) own_bytes(entry.value);
    }
    if (!push.refused) append(entries, push.entries);
  }
  if (!last) return;
  if (!head->staged) {
    std::vector<PullEntry> batch;
    if (const auto found = pushes_.find(name); found != pushes_.end()) {
      if (const Status done = finish_push(name, found->second, 1, batch); !done.ok()) refuse(name, done.error());
      pushes_.erase(name);
    }
    if (!batch.empty()) batches_.push_back(std::move(batch));
  }
  done_.push_back({name.first, name.second, head->seconds, head->traffic});
}

void ParamShard::apply_at_once(const PushName& name, Frame& frame, std::vector<ParamEntry>& entries) {
  if (const auto found = pushes_.find(name); found != pushes_.end() && found->second.refused) return;
  for (const ParamEntry& entry : entries) {
    if (const Status fits = store_.check_update(entry, update_, address_name(frame.src)); !fits.ok()) {
      return refuse(name, fits.error());
    }
  }
  for (const ParamEntry& entry : entries) {
    if (store_.update(entry, update_, {name.second, 1})) report(name, entry.key);
  }
}

void ParamShard::refuse(const PushName& name, const Error& error) {
  Push& push = pushes_[name];
  push.entries.clear();
  if (std::exchange(push.refused, true)) return;
  log_.warn(address_name(server_address(store_.shard())), error.message);
  out_.push_back(
      message_frame(param_kind::reject, worker_address(name.first), 0, Reject{run_, name.second, error.message}));
}

void ParamShard::report(const PushName& name, const ParamKey& key) {
  uint64_t& reported = reported_[name.first];
  if (reported > name.second) return;
  reported = name.second + 1;
  reports_.push_back({name.first, name.second, "the update of key " + key.print() + " holds infinite values or NaN"});
}

Status ParamShard::apply_all(std::vector<ParamEntry>& entries, const UpdateContext& context, const PushName& name) {
  for (const ParamEntry& entry : entries) {
    AH_TRY(store_.check_update(entry, update_, worker_name(name.first)));  // a set may have changed the shape meanwhile
  }
  for (const ParamEntry& entry : entries) {
    if (store_.update(entry, update_, context)) report(name, entry.key);
  }
  return {};
}

Status ParamShard::finish_push(const PushName& name, Push& push, double scale, std::vector<PullEntry>& batch) {
  if (push.refused) return {};
  if (update_.is_native()) return apply_all(push.entries, {name.second, scale}, name);
  for (ParamEntry& entry : push.entries) {
    entry.step = name.second + 1;
    if (has_non_finite(entry.value)) report(name, entry.key);
  }
  if (update_.is_lua()) return to_pull(push.entries, name, scale, batch);
  if (scale != 1) AH_TRY(mix(push.entries, scale));
  return store_.set(std::move(push.entries));
}

// Replaces each pushed tensor by weight * pushed + (1 - weight) * stored.
Status ParamShard::mix(std::vector<ParamEntry>& entries, double weight) const {
  for (ParamEntry& entry : entries) {
    auto* piece = std::get_if<ParamTensor>(&entry.value);
    const Stored* stored = store_.find(entry.key);
    const auto* tensor = stored == nullptr ? nullptr : std::get_if<StoredTensor>(&stored->value);
    if (piece == nullptr || tensor == nullptr || !is_floating(piece->dtype) || tensor->dtype != piece->dtype ||
        tensor->shape != piece->shape) {
      return Error{Code::bad_argument, "key " + entry.key.print() +
                                           ": a weight of the merge rule mixes a push with the stored value; both have "
                                           "to be tensors of floats of one shape, so set the value first, in init"};
    }
    Blob mixed = Blob::allocate(piece->data.size());
    scale_into(piece->dtype, piece->count, weight, piece->data.data(), mixed.data());
    for (size_t i = 0; i < tensor->chunks.size(); ++i) {
      const ParamTensor chunk = tensor->chunk(i);
      const uint64_t first = std::max(chunk.first, piece->first);
      const uint64_t last = std::min(chunk.first + chunk.count, piece->first + piece->count);
      if (first >= last) continue;
      const size_t size = dtype_size(piece->dtype);
      add_scaled(piece->dtype, last - first, 1 - weight, chunk.data.data() + (first - chunk.first) * size,
                 mixed.data() + (first - piece->first) * size);
    }
    piece->data = std::move(mixed);
  }
  return {};
}

Status ParamShard::to_pull(std::vector<ParamEntry>& entries, const PushName& name, double weight,
                           std::vector<PullEntry>& out) {
  auto whole = join_pieces(std::move(entries), update_.shared);
  if (!whole.ok()) return std::move(whole).error();
  for (ParamEntry& entry : *whole)
    out.push_back({std::move(entry.key), std::move(entry.value), name.second + 1, name.first, weight});
  return {};
}

void ParamShard::commit(const Commit& commit) {
  if (commit.run != run_) return;
  if (commit.combination.kind != Combination::Kind::each && update_.is_native()) {
    commit_combined(commit);
  } else {
    commit_each(commit);
  }
}

void ParamShard::commit_each(const Commit& commit) {
  std::vector<PullEntry> batch;
  for (const CommitItem& item : commit.items) {
    const PushName name{item.worker, item.step};
    const auto found = pushes_.find(name);
    if (found == pushes_.end()) continue;  // the push had no part for this shard
    if (const Status done = finish_push(name, found->second, item.scale, batch); !done.ok()) refuse(name, done.error());
    pushes_.erase(name);
  }
  if (!batch.empty()) batches_.push_back(std::move(batch));
}

// Makes one update of the pushes, key by key in the order of the keys' first occurrence.
void ParamShard::commit_combined(const Commit& commit) {
  struct Parts {
    ParamKey key;
    std::vector<std::pair<const ParamTensor*, double>> of_pushes;  // with their scales
  };
  std::vector<Parts> pieces;
  std::map<std::pair<ParamKey, uint64_t>, size_t> places;  // of a key's piece in `pieces`
  uint64_t clock = 0;
  for (const CommitItem& item : commit.items) {
    const PushName name{item.worker, item.step};
    const auto found = pushes_.find(name);
    if (found == pushes_.end()) continue;
    clock = std::max(clock, item.step);
    Status fits;
    for (const ParamEntry& entry : found->second.entries) {
      if (fits.ok()) fits = store_.check_update(entry, update_, worker_name(name.first));
    }
    if (!fits.ok()) {
      refuse(name, fits.error());
      continue;
    }
    for (const ParamEntry& entry : found->second.entries) {
      if (has_non_finite(entry.value)) report(name, entry.key);
      const auto& part = std::get<ParamTensor>(entry.value);
      const auto [place, fresh] = places.try_emplace({entry.key, part.first}, pieces.size());
      if (fresh) pieces.push_back({entry.key, {}});
      pieces[place->second].of_pushes.emplace_back(&part, item.scale);
    }
  }
  for (const Parts& piece : pieces) {
    store_.update({piece.key, combined(piece.of_pushes, commit.combination), 0}, update_, {clock, 1});
  }
  for (const CommitItem& item : commit.items) pushes_.erase({item.worker, item.step});
}

void ParamShard::discard(const Discard& discard) {
  if (discard.run != run_) return;
  const PushName first{discard.worker, discard.step};
  if (discard.extent == Discard::Extent::one) {
    pushes_.erase(first);
    return;
  }
  ignored_from_[discard.worker] = discard.step;
  pushes_.erase(pushes_.lower_bound(first), pushes_.lower_bound({discard.worker + 1, 0}));
  if (discard.extent == Discard::Extent::rest) return;
  filter_.forget(discard.worker);
  lost_.insert(discard.worker);
  sets_.forget([&](Address from) { return from == worker_address(discard.worker); });
}

double ParamShard::dot(const PushName& a, const PushName& b) const {
  const auto left = pushes_.find(a);
  const auto right = pushes_.find(b);
  if (left == pushes_.end() || right == pushes_.end()) return 0;
  std::map<std::pair<ParamKey, uint64_t>, const ParamTensor*> pieces;
  for (const ParamEntry& entry : right->second.entries) {
    if (const auto* part = std::get_if<ParamTensor>(&entry.value)) pieces[{entry.key, part->first}] = part;
  }
  double total = 0;
  for (const ParamEntry& entry : left->second.entries) {
    const auto* part = std::get_if<ParamTensor>(&entry.value);
    if (part == nullptr || !is_floating(part->dtype)) continue;
    const auto other = pieces.find({entry.key, part->first});
    if (other == pieces.end() || other->second->dtype != part->dtype || other->second->count != part->count) continue;
    total += kernel::dot(part->dtype, part->count, part->data.data(), other->second->data.data());
  }
  return total;
}

Result<std::vector<ParamEntry>> ParamShard::values_of(const PushName& name) const {
  const auto found = pushes_.find(name);
  if (found == pushes_.end()) return std::vector<ParamEntry>{};
  return join_pieces(found->second.entries, true);
}

Status ParamShard::set_values(const PushName& name, std::vector<ParamEntry> values) {
  std::vector<ParamEntry> entries;
  for (ParamEntry& entry : values) {
    const auto* tensor = std::get_if<ParamTensor>(&entry.value);
    if (tensor == nullptr || update_.is_lua()) {
      entries.push_back(std::move(entry));
    } else {
      for_each_chunk(*tensor, [&](ParamTensor piece) { entries.push_back({entry.key, std::move(piece), 0}); });
    }
  }
  for (const ParamEntry& entry : entries) {
    if (update_.is_native()) AH_TRY(store_.check_update(entry, update_, "the merge rule"));
  }
  if (const auto found = pushes_.find(name); found != pushes_.end()) found->second.entries = std::move(entries);
  return {};
}

void ParamShard::cut(uint64_t number) {
  if (checkpoints_ != nullptr) checkpoints_->add(number, store_.shard(), store_.snapshot());
}

Status ParamShard::answer_pull(const std::vector<ParamEntry>& values) {
  if (batches_.empty()) return Error{Code::internal, "an answer without a pull"};
  uint64_t step = 0;
  for (const PullEntry& entry : batches_.front()) step = std::max(step, entry.step);
  batches_.pop_front();

  std::vector<ParamEntry> mine;
  std::map<uint32_t, EntryPacker> theirs;
  for (const ParamEntry& entry : values) {
    for_each_home(entry.key, entry.value, store_.shards(), true, [&](uint32_t shard, ParamValue value) {
      if (shard == store_.shard()) {
        if (const auto* tensor = std::get_if<ParamTensor>(&value)) {
          for_each_chunk(*tensor, [&](ParamTensor piece) { mine.push_back({entry.key, std::move(piece), step}); });
        } else {
          mine.push_back({entry.key, std::move(value), step});
        }
        return;
      }
      own_bytes(value);  // the pull may continue to write to its tensors
      auto to = theirs.try_emplace(shard, param_kind::set, server_address(shard), 0, "", true).first;
      to->second.flags(param::kNow).add(entry.key, value, step);
    });
  }
  // The other shards get their parts before any node that waits for this pull gets a reply: all shards are in this
  // process.
  for (auto& [shard, packer] : theirs) packer.finish(out_);
  Status set = store_.set(std::move(mine));
  resume();
  return set;
}

}  // namespace actorhost
