#include "host/engine/peer/key_holder.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kLookAgain = 0.05;  // seconds, at what waits
constexpr double kForgotten = 150;   // more than an asker waits

}  // namespace

void KeyHolder::tell(const Asked& asked, Told::How how, Status status) {
  working_.erase(asked);
  Told told{{overlay_.self(), asked.from.node}, how, std::move(status)};
  if (how == Told::How::working) told.awaited = log_.missing();
  Frame frame = message_frame(peer_kind::told, courier_address(asked.from.process), asked.tag, told);
  frame.flags = param::kLast;
  calls_.send(std::move(frame));
}

// A majority of the run has to be on this side, or the other side may answer for the key without the write.
void KeyHolder::acknowledge(const Asked& asked) {
  if (succession_.run_leased()) return tell(asked, Told::How::done);
  unacknowledged_.push_back(asked);
}

void KeyHolder::on_poke(const Frame& frame, const Envelope& poke) {
  const Asked asked{poke.from, frame.tag};
  const bool working = working_.count(asked) > 0;
  tell(asked, working ? Told::How::working : Told::How::unknown);
  if (working) working_.insert(asked);
}

void KeyHolder::on_ask(Frame&& frame, const Ask& ask, Unpacker& in) {
  Question question{{ask.envelope.from, frame.tag}, ask, {}, {}, calls_.now()};
  const Asked asked = question.asked;
  if (question.ask.what == Ask::What::get) {
    if (const Status read = read_keys(in, question.keys); !read.ok()) return tell(asked, Told::How::done, read);
  } else {
    std::vector<ParamEntry> entries;
    if (const Status read = read_entries(in, frame.body, true, entries); !read.ok()) {
      collecting_.erase(asked);
      return tell(asked, Told::How::done, malformed(frame, read.error().message));
    }
    frame.body = {};
    auto& all = collecting_[asked];
    all.insert(all.end(), std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
    if ((frame.flags & param::kLast) == 0) return;
    question.entries = std::move(all);
    collecting_.erase(asked);
    for (const ParamEntry& entry : question.entries) {
      if (question.keys.empty() || question.keys.back() != entry.key) question.keys.push_back(entry.key);
    }
  }
  working_.insert(asked);
  if (!try_answer(question)) waiting_.push_back(std::move(question));
}

void KeyHolder::look() {
  look_again_ = true;
  if (std::exchange(looking_, true)) return;
  while (std::exchange(look_again_, false)) {
    for (auto at = waiting_.begin(); at != waiting_.end();) at = try_answer(*at) ? waiting_.erase(at) : std::next(at);
  }
  looking_ = false;
}

double KeyHolder::tick() {
  // Their askers have given up.
  std::erase_if(waiting_, [&](const Question& question) {
    const bool forgotten = question.came + kForgotten < calls_.now();
    if (forgotten) working_.erase(question.asked);
    return forgotten;
  });
  if (succession_.run_leased()) {
    for (const Asked& asked : std::exchange(unacknowledged_, {})) tell(asked, Told::How::done);
  }
  if (waiting_.empty() && unacknowledged_.empty()) return kForever;
  look();
  return calls_.now() + kLookAgain;
}

bool KeyHolder::try_answer(Question& question) {
  bool leads = true;
  for (const ParamKey& key : question.keys) {
    if (succession_.leads(place_of(key)) != nullptr) continue;
    leads = false;
    if (succession_.awaits(place_of(key))) continue;
    tell(question.asked, Told::How::moved);
    return true;
  }
  if (!leads) return false;
  if (question.keys.empty()) {
    tell(question.asked, Told::How::done);
    return true;
  }
  for (const ParamKey& key : question.keys) {
    const bool after = question.ask.own == 0 || table_.removed(key);
    if (!after && !table_.taken(key, question.asked.from.node, question.ask.own)) return false;
  }
  return question.ask.what == Ask::What::get ? get(question) : write(question);
}

bool KeyHolder::get(Question& question) {
  if (!succession_.leased()) return false;
  const Mark below = question.ask.mark + 1;
  commit(succession_.leads(place_of(question.keys.front()))->arc, std::max(passed_ + 1, below));
  for (const ParamKey& key : question.keys) {
    if (log_.touches(key) || table_.staged(key, below)) return false;
  }
  const Asked& asked = question.asked;
  EntryPacker reply(peer_kind::told, courier_address(asked.from.process), asked.tag,
                    pack(Told{{overlay_.self(), asked.from.node}}), true);
  for (const ParamKey& key : question.keys) table_.pack(key, reply);
  std::vector<Frame> frames;
  reply.finish(frames);
  for (Frame& frame : frames) calls_.send(std::move(frame));
  working_.erase(asked);
  return true;
}

std::optional<ParamEntry> KeyHolder::read(const ParamKey& key, Mark mark, double now) const {
  if (succession_.leads(place_of(key)) == nullptr || succession_.leased_until() <= now) return std::nullopt;
  if (log_.touches(key) || table_.staged(key, std::max(passed_, mark) + 1)) return std::nullopt;
  ParamEntry entry{key, {}, 0};
  const Stored* stored = table_.store().find(key);
  if (stored == nullptr) return entry;
  entry.step = stored->step;
  if (const auto* lua = std::get_if<LuaValue>(&stored->value)) {
    if (SpreadValue::of(*lua)) return std::nullopt;
    entry.value = *lua;
    return entry;
  }
  const auto& tensor = std::get<StoredTensor>(stored->value);
  if (tensor.chunks.size() != 1) return std::nullopt;
  entry.value = tensor.chunk(0);
  return entry;
}

bool KeyHolder::write(Question& question) {
  const Ask& ask = question.ask;
  const Asked asked = question.asked;
  const auto over = [this, asked](bool made) {
    made ? acknowledge(asked) : tell(asked, Told::How::moved);
    look();
  };
  KeyOperation operation{{KeyWrite::What::push, asked.from.node, ask.mark, ask.rule}, {}};
  if (ask.what == Ask::What::set) {
    operation.write = {KeyWrite::What::set, writer_of_sets(asked.from.node), ask.number};
    for (ParamEntry& entry : question.entries) entry.step = step_of(ask.mark);
  }
  const bool native = ask.what == Ask::What::push && ask.rule.rule.is_native();
  // The question stays as it is: when it has to wait, another group's table may be asked next.
  for (const ParamEntry& entry : question.entries) {
    if (table_.taken(entry.key, operation.write.writer, operation.write.mark)) continue;
    if (native && table_.removed(entry.key)) continue;
    operation.entries.push_back(entry);
  }
  if (operation.entries.empty()) {
    // What has been taken may not be with all of the group yet.
    for (const ParamKey& key : question.keys) {
      if (log_.touches(key)) return false;
    }
    acknowledge(asked);
    return true;
  }
  if (const Status fits = table_.check(operation); !fits.ok()) {
    tell(asked, Told::How::done, fits);
    return true;
  }
  if (ask.what == Ask::What::push && ask.rule.rule.is_lua() && !ask.rule.staged) {
    for (const ParamKey& key : question.keys) {
      if (in_pull(key)) return false;  // one after the other: it may be the same update, sent again
    }
    std::vector<PullEntry> entries;
    std::vector<TakenUpdate> covered;
    for (ParamEntry& entry : joined(std::move(operation.entries), ask.rule.rule.shared)) {
      covered.push_back({entry.key.canonical(), asked.from.node, ask.mark});
      entries.push_back({entry.key, std::move(entry.value), step_of(ask.mark), asked.from.node});
    }
    to_pull(std::move(entries), std::move(covered), {asked}, false);
    return true;
  }
  log_.append(std::move(operation), over);
  return true;
}

void KeyHolder::pass(Mark mark) {
  passed_ = std::max(passed_, mark);
  if (const KeyRange* range = succession_.leads(overlay_.self().id)) commit(range->arc, passed_ + 1);
}

void KeyHolder::commit(const Arc& arc, Mark below) {
  if (!table_.staged(arc, below)) return;
  std::vector<TakenUpdate> covered;
  std::vector<PullEntry> entries = table_.staged_for_pull(arc, below, covered);
  if (entries.empty()) {
    log_.append({{KeyWrite::What::commit, overlay_.self().node, below, {}, arc}, {}}, [this](bool) { look(); });
    return;
  }
  const bool begun = std::any_of(batches_.begin(), batches_.end(), [](const Batch& batch) { return batch.staged; });
  if (!begun) to_pull(std::move(entries), std::move(covered), {}, true);
}

// ---- Lua pulls ----

void KeyHolder::on_pull(OnPull pull) {
  pull_ = std::move(pull);
  pulling_ = false;
  next_pull();
}

bool KeyHolder::in_pull(const ParamKey& key) const {
  return std::any_of(batches_.begin(), batches_.end(), [&](const Batch& batch) { return batch.keys.count(key) > 0; });
}

void KeyHolder::to_pull(std::vector<PullEntry> entries, std::vector<TakenUpdate> covered, std::vector<Asked> askers,
                        bool staged) {
  Batch batch{{}, {}, std::move(covered), std::move(askers), 0, staged};
  for (const PullEntry& entry : entries) {
    batch.keys.insert(entry.key);
    batch.step = std::max(batch.step, entry.step);
  }
  batch.entries = std::move(entries);
  batches_.push_back(std::move(batch));
  next_pull();
}

void KeyHolder::next_pull() {
  if (pulling_ || !pull_ || batches_.empty()) return;
  pulling_ = true;
  pull_(batches_.front().entries);
}

Status KeyHolder::answer_pull(std::vector<ParamEntry> values) {
  Batch batch = std::move(batches_.front());
  for (const ParamEntry& value : values) {
    if (batch.keys.count(value.key) == 0) {
      batches_.front() = std::move(batch);
      return Error{Code::bad_argument, "key " + value.key.print() + " is none of those that it was given"};
    }
  }
  batches_.pop_front();
  pulling_ = false;
  const bool leads = std::all_of(batch.keys.begin(), batch.keys.end(),
                                 [&](const ParamKey& key) { return succession_.leads(place_of(key)) != nullptr; });
  if (!leads) {
    // Others merge these updates now, whose senders ask again.
    for (const Asked& asked : batch.askers) tell(asked, Told::How::moved);
  } else {
    KeyOperation operation{{KeyWrite::What::pulled, overlay_.self().node, 0, {}, {}, std::move(batch.covered)}, {}};
    for (ParamEntry& value : values) {
      const auto add = [&](ParamValue part) { operation.entries.push_back({value.key, std::move(part), batch.step}); };
      if (const auto* tensor = std::get_if<ParamTensor>(&value.value)) {
        for_each_chunk(*tensor, [&](ParamTensor piece) { add(std::move(piece)); });
      } else {
        add(std::move(value.value));
      }
    }
    const auto over = [this, askers = batch.askers](bool made) {
      for (const Asked& asked : askers) made ? acknowledge(asked) : tell(asked, Told::How::moved);
      look();
    };
    log_.append(std::move(operation), over);
  }
  next_pull();
  look();
  return {};
}

}  // namespace actorhost
