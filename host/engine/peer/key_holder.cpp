#include "host/engine/peer/key_holder.hpp"

#include <algorithm>

namespace actorhost {

void KeyHolder::on_pull(OnPull pull) {
  pull_ = std::move(pull);
  pulling_ = false;
  next_pull();
}

void KeyHolder::tell(const Asked& asked, Told::How how, Status status) {
  frames_.push_back(message_frame(peer_kind::told, courier_address(asked.from.process), asked.tag,
                                  Told{{overlay_.self(), asked.from.node}, how, std::move(status)}));
  frames_.back().flags = param::kLast;
  frames_.back().src = courier_address(overlay_.self().process);
}

void KeyHolder::on_poke(const Frame& frame, const Envelope& poke) {
  const auto waits = [&](const Batch& batch) {
    return std::any_of(batch.askers.begin(), batch.askers.end(),
                       [&](const Asked& a) { return a.from.node == poke.from.node && a.tag == frame.tag; });
  };
  const bool working = std::any_of(batches_.begin(), batches_.end(), waits);
  tell({poke.from, frame.tag}, working ? Told::How::working : Told::How::unknown);
}

void KeyHolder::on_ask(Frame&& frame, Ask&& ask, Unpacker& in) {
  const Asked asked{ask.envelope.from, frame.tag};
  if (ask.what == Ask::What::get) {
    std::vector<ParamKey> keys;
    if (const Status read = read_keys(in, keys); !read.ok()) return tell(asked, Told::How::done, read);
    return get(asked, ask, keys);
  }
  std::vector<ParamEntry> entries;
  if (const Status read = read_entries(in, frame.body, true, entries); !read.ok()) {
    collecting_.erase(asked);
    return tell(asked, Told::How::done, malformed(frame, read.error().message));
  }
  frame.body = {};
  auto& all = collecting_[asked];
  all.insert(all.end(), std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
  if ((frame.flags & param::kLast) == 0) return;
  entries = std::move(all);
  collecting_.erase(asked);
  write(asked, ask, std::move(entries));
}

void KeyHolder::get(const Asked& asked, const Ask& ask, const std::vector<ParamKey>& keys) {
  if (!std::all_of(keys.begin(), keys.end(), [&](const ParamKey& key) { return mine(key); })) {
    return tell(asked, Told::How::moved);
  }
  commit(ask.mark + 1);
  EntryPacker reply(peer_kind::told, courier_address(asked.from.process), asked.tag,
                    pack(Told{{overlay_.self(), asked.from.node}}), true);
  for (const ParamKey& key : keys) table_.pack(key, reply);
  const size_t first = frames_.size();
  reply.finish(frames_);
  for (size_t i = first; i < frames_.size(); ++i) frames_[i].src = courier_address(overlay_.self().process);
}

void KeyHolder::write(const Asked& asked, const Ask& ask, std::vector<ParamEntry> entries) {
  if (!std::all_of(entries.begin(), entries.end(), [&](const ParamEntry& entry) { return mine(entry.key); })) {
    return tell(asked, Told::How::moved);
  }
  if (ask.what == Ask::What::set) {
    for (ParamEntry& entry : entries) entry.step = step_of(ask.mark);
    return tell(asked, Told::How::done, table_.set(std::move(entries)));
  }
  KeyTable::Push push{asked.from.node, ask.mark, ask.rule, std::move(entries)};
  table_.drop_taken(push);
  if (const Status fits = table_.check(push); !fits.ok()) return tell(asked, Told::How::done, fits);
  const bool lua = push.rule.rule.is_lua() && !push.rule.staged;
  std::vector<PullEntry> batch;
  if (lua) batch = pull_entries(KeyTable::Push(push));
  table_.push(std::move(push));
  if (batch.empty()) return tell(asked, Told::How::done);
  to_pull(std::move(batch), {asked});
}

void KeyHolder::pass(Mark mark) { commit(mark + 1); }

void KeyHolder::commit(Mark below) {
  if (!table_.staged(below)) return;
  std::vector<PullEntry> batch = table_.commit(below);
  if (!batch.empty()) to_pull(std::move(batch), {});
}

void KeyHolder::to_pull(std::vector<PullEntry> entries, std::vector<Asked> askers) {
  Batch batch{std::move(entries), {}, std::move(askers)};
  for (const PullEntry& entry : batch.entries) batch.keys.push_back(entry.key);
  batches_.push_back(std::move(batch));
  next_pull();
}

void KeyHolder::next_pull() {
  if (pulling_ || !pull_ || batches_.empty()) return;
  pulling_ = true;
  pull_(std::move(batches_.front().entries));
}

Status KeyHolder::answer_pull(std::vector<ParamEntry> values) {
  Batch& batch = batches_.front();
  for (const ParamEntry& value : values) {
    if (std::find(batch.keys.begin(), batch.keys.end(), value.key) == batch.keys.end()) {
      return Error{Code::bad_argument, "key " + value.key.print() + " is none of those that it was given"};
    }
  }
  const Status set = table_.set(std::move(values));
  for (const Asked& asked : batch.askers) tell(asked, Told::How::done, set);
  batches_.erase(batches_.begin());
  pulling_ = false;
  next_pull();
  return {};
}

}  // namespace actorhost
