#include "host/engine/param/client.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr int kMaxRounds = 20;  // attempts to read a key whose shape is being changed

}  // namespace

ParamClient::Pending& ParamClient::begin(Request& number) {
  do {
    number = next_++;
  } while (number == 0 || requests_.count(number) != 0);
  return requests_[number];
}

// Requests the keys in `places` from their owners, the other shards, or both.
void ParamClient::send_gets(Request number, Pending& pending, const std::vector<uint32_t>& places, bool owner,
                            bool others, std::vector<Frame>& out) {
  std::map<uint32_t, std::vector<ParamKey>> lists;
  for (const uint32_t place : places) {
    const ParamKey& key = pending.keys[place];
    const uint32_t home = owner_of(key, shards_);
    for (uint32_t shard = 0; shard < shards_; ++shard) {
      if (shard == home ? owner : others) lists[shard].push_back(key);
    }
  }
  for (const auto& [shard, keys] : lists) {
    const size_t first = out.size();
    pack_keys(param_kind::get, server_address(shard), number, {}, keys, out);
    for (size_t i = first; i < out.size(); ++i) {
      out[i].flags |= static_cast<uint8_t>(flags() | (pending.filtered ? param::kFiltered : 0));
      pending.waiting.push_back(shard);  // each frame gets its own reply
    }
  }
}

ParamClient::Request ParamClient::get(std::vector<ParamKey> keys, std::vector<Frame>& out, bool filtered) {
  Request number = 0;
  Pending& pending = begin(number);
  pending.filtered = filtered;
  pending.keys = std::move(keys);
  pending.values.resize(pending.keys.size());
  pending.requested_from_all.resize(pending.keys.size(), shards_ == 1);
  std::vector<uint32_t> from_owner;
  std::vector<uint32_t> from_all;
  for (uint32_t i = 0; i < pending.keys.size(); ++i) {
    pending.values[i].entry.key = pending.keys[i];
    auto& places = pending.places[pending.keys[i]];
    places.push_back(i);
    if (places.size() > 1) continue;  // already requested
    const bool split = !whole_ && shards_ > 1 && split_.count(pending.keys[i]) != 0;
    pending.requested_from_all[i] = pending.requested_from_all[i] || split;
    (split ? from_all : from_owner).push_back(i);
  }
  send_gets(number, pending, from_owner, true, false, out);
  send_gets(number, pending, from_all, true, true, out);
  return number;
}

ParamClient::Request ParamClient::set(std::span<const ParamEntry> entries, uint64_t step, std::vector<Frame>& out) {
  Request number = 0;
  Pending& pending = begin(number);
  std::map<uint32_t, EntryPacker> packers;
  for (const ParamEntry& entry : entries) {
    for_each_home(entry.key, entry.value, shards_, true, [&](uint32_t shard, const ParamValue& value) {
      auto at = packers.try_emplace(shard, param_kind::set, server_address(shard), number, "", true).first;
      at->second.flags(flags()).add(entry.key, value, step);
    });
  }
  for (auto& [shard, packer] : packers) {
    packer.finish(out);
    pending.waiting.push_back(shard);
  }
  return number;
}

ParamClient::Request ParamClient::keys(std::vector<Frame>& out) {
  Request number = 0;
  Pending& pending = begin(number);
  for (uint32_t shard = 0; shard < shards_; ++shard) {
    Frame frame;
    frame.kind = param_kind::keys;
    frame.flags = flags();
    frame.dst = server_address(shard);
    frame.tag = number;
    out.push_back(std::move(frame));
    pending.waiting.push_back(shard);
  }
  return number;
}

ParamClient::Request ParamClient::fence(const std::vector<uint32_t>& shards, std::vector<Frame>& out) {
  Request number = 0;
  Pending& pending = begin(number);
  for (const uint32_t shard : shards) {
    pack_keys(param_kind::get, server_address(shard), number, {}, {}, out);
    pending.waiting.push_back(shard);
  }
  return number;
}

void ParamClient::handle(Frame&& frame, std::vector<Frame>& out) {
  const uint32_t shard = address_index(frame.src);
  if (!is_server(frame.src) || shard >= shards_) return;
  const auto found = requests_.find(frame.tag);
  if (found == requests_.end()) return;
  Pending& pending = found->second;
  const bool last =
      (frame.flags & kLastFrame) != 0 || frame.kind == param_kind::done || frame.kind == param_kind::failed;
  if (frame.kind == param_kind::values) {
    on_values(std::move(frame), pending);
  } else if (frame.kind == param_kind::key_list) {
    Unpacker in(frame.meta.view());
    if (const Status read = read_keys(in, pending.keys); !read.ok()) pending.error = read.error();
  } else if (frame.kind == param_kind::failed) {
    pending.error = error_of(frame);
  }
  if (!last) return;
  const auto at = std::find(pending.waiting.begin(), pending.waiting.end(), shard);
  if (at != pending.waiting.end()) pending.waiting.erase(at);
  if (pending.waiting.empty() && !pending.error) after_round(found->first, pending, out);
}

void ParamClient::on_values(Frame&& frame, Pending& pending) {
  const uint32_t shard = address_index(frame.src);
  std::vector<ParamEntry> entries;
  Unpacker in(frame.meta.view());
  FilterBytes* bytes = pending.filtered ? &pulled_ : nullptr;
  if (const Status read = read_entries(in, frame.body, true, entries, bytes); !read.ok()) {
    pending.error = malformed(frame, read.error().message);
    return;
  }
  frame.body = {};  // so that a value alone in its frame has one owner
  for (ParamEntry& entry : entries) {
    const auto places = pending.places.find(entry.key);
    if (places == pending.places.end()) continue;
    // Only the owner decides that there is no value, or that the value is not a tensor.
    const bool tensor = std::holds_alternative<ParamTensor>(entry.value);
    if (!tensor && owner_of(entry.key, shards_) != shard) continue;
    const std::vector<uint32_t>& all = places->second;
    for (size_t i = 1; i < all.size(); ++i) ParamAssembler::add(pending.values[all[i]], ParamEntry(entry));
    ParamAssembler::add(pending.values[all[0]], std::move(entry));
  }
}

// All requested shards have replied. Requests the remaining parts of split tensors from the other shards. Requests
// tensors again whose parts do not fit together because a node is replacing them.
void ParamClient::after_round(Request number, Pending& pending, std::vector<Frame>& out) {
  std::vector<uint32_t> rest;
  std::vector<uint32_t> again;
  for (uint32_t i = 0; i < pending.values.size(); ++i) {
    ParamAssembler::Partial& partial = pending.values[i];
    const bool first = pending.places[pending.keys[i]].front() == i;
    if (!first) continue;
    const auto* tensor = std::get_if<ParamTensor>(&partial.entry.value);
    if (tensor != nullptr && splits(tensor->bytes(), shards_)) {
      split_.insert(pending.keys[i]);
    } else {
      split_.erase(pending.keys[i]);
    }
    if (partial.complete()) continue;
    if (!partial.conflict && pending.requested_from_all[i] == 0) {
      rest.push_back(i);
      pending.requested_from_all[i] = 1;
      continue;
    }
    again.push_back(i);
    pending.requested_from_all[i] = 0;
    for (const uint32_t place : pending.places[pending.keys[i]]) {
      pending.values[place] = {};
      pending.values[place].entry.key = pending.keys[i];
    }
  }
  if (!again.empty() && ++pending.rounds > kMaxRounds) {
    pending.error = Error{Code::mismatch, "the parts of key " + pending.keys[again[0]].print() +
                                              " on the shards do not fit together: another node keeps replacing it"};
    return;
  }
  send_gets(number, pending, rest, false, true, out);
  send_gets(number, pending, again, true, false, out);
}

bool ParamClient::finished(Request request) const {
  const auto found = requests_.find(request);
  return found == requests_.end() || found->second.waiting.empty();
}

std::vector<uint32_t> ParamClient::missing(Request request) const {
  const auto found = requests_.find(request);
  return found == requests_.end() ? std::vector<uint32_t>() : found->second.waiting;
}

Result<std::vector<ParamEntry>> ParamClient::take_values(Request request) {
  auto node = requests_.extract(request);
  if (node.empty()) return Error{Code::internal, "no such request"};
  Pending& pending = node.mapped();
  if (pending.error) return *std::move(pending.error);
  std::vector<ParamEntry> out;
  out.reserve(pending.values.size());
  for (ParamAssembler::Partial& partial : pending.values) out.push_back(std::move(partial.entry));
  return out;
}

Result<std::vector<ParamKey>> ParamClient::take_keys(Request request) {
  auto node = requests_.extract(request);
  if (node.empty()) return Error{Code::internal, "no such request"};
  if (node.mapped().error) return *std::move(node.mapped().error);
  std::vector<ParamKey> keys = std::move(node.mapped().keys);
  std::sort(keys.begin(), keys.end());
  return keys;
}

Status ParamClient::take_done(Request request) {
  auto node = requests_.extract(request);
  if (node.empty()) return Error{Code::internal, "no such request"};
  return node.mapped().error ? Status(*std::move(node.mapped().error)) : Status();
}

}  // namespace actorhost
