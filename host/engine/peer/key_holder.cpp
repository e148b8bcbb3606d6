#include "host/engine/peer/key_holder.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kLookAgain = 0.05;  // seconds between retries of waiting requests
constexpr double kForgotten = 150;   // longer than any requester waits

}  // namespace

KeyHolder::KeyHolder(Overlay& overlay, PeerCalls& calls, KeyTable& table, KeyLog& log, KeySuccession& succession,
                     KeyClient& client)
    : overlay_(overlay),
      calls_(calls),
      table_(table),
      log_(log),
      succession_(succession),
      outcomes_(calls, table, log, succession, client) {
  outcomes_.on_decided([this] {
    commit_passed();
    look();
  });
}

void KeyHolder::tell(const Asked& asked, Told::How how, Status status) {
  working_.erase(asked);
  Told told{{overlay_.self(), asked.from.node}, how, std::move(status)};
  if (how == Told::How::working) told.awaited = log_.missing();
  Frame frame = message_frame(peer_kind::told, courier_address(asked.from.process), asked.tag, told);
  frame.flags = param::kLast;
  calls_.send(std::move(frame));
}

// Requires a majority of the run on this side. Otherwise the other side may reply for the key without this write.
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
  // Their requesters have timed out.
  std::erase_if(waiting_, [&](const Question& question) {
    const bool forgotten = question.came + kForgotten < calls_.now();
    if (forgotten) working_.erase(question.asked);
    return forgotten;
  });
  if (succession_.run_leased()) {
    for (const Asked& asked : std::exchange(unacknowledged_, {})) tell(asked, Told::How::done);
  }
  const double outcomes = outcomes_.tick();
  if (waiting_.empty() && unacknowledged_.empty()) return outcomes;
  look();
  return std::min(outcomes, calls_.now() + kLookAgain);
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
  switch (question.ask.what) {
    case Ask::What::get: return get(question);
    case Ask::What::count: return count(question);
    case Ask::What::outcome: return outcome(question);
    default: return write(question);
  }
}

bool KeyHolder::get(Question& question) {
  if (!succession_.leased()) return false;
  if (question.ask.passed > passed_) pass(question.ask.passed);
  const Mark below = question.ask.mark + 1;
  commit(succession_.leads(place_of(question.keys.front()))->arc, std::max(passed_ + 1, below));
  for (const ParamKey& key : question.keys) {
    if (log_.touches(key) || table_.staged(key, below) || outcomes_.holds_up(key)) return false;
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

// An accepted write may still be missing at some members.
bool KeyHolder::all_have(const Question& question) const {
  return std::none_of(question.keys.begin(), question.keys.end(),
                      [&](const ParamKey& key) { return log_.touches(key); });
}

// A staged update of a split tensor is merged at all parts in the same step, or refused.
std::optional<Error> KeyHolder::too_late(const Question& question) const {
  const Ask& ask = question.ask;
  if (!ask.rule.staged || !ask.rule.rule.is_native() || ask.mark > passed_) return std::nullopt;
  for (const ParamEntry& entry : question.entries) {
    if (!entry.key.is_part() && !SpreadValue::of(entry.value)) continue;
    return Error{Code::peer_lost, "step " + std::to_string(step_of(ask.mark)) +
                                      " has ended without this worker's update of key " +
                                      (entry.key.is_part() ? entry.key.whole() : entry.key).print() +
                                      ": the other workers treated it as failed"};
  }
  return std::nullopt;
}

// The change of a set or push without the already accepted updates; nullopt while an earlier update is undecided.
std::optional<KeyOperation> KeyHolder::operation_of(Question& question) {
  const Ask& ask = question.ask;
  const NodeId from = question.asked.from.node;
  KeyOperation operation{{KeyWrite::What::push, from, ask.mark, ask.rule}, {}};
  operation.write.number = ask.number;
  if (ask.what == Ask::What::set) {
    operation.write = {KeyWrite::What::set, writer_of_sets(from), ask.number};
    for (ParamEntry& entry : question.entries) entry.step = step_of(ask.mark);
  }
  const bool native = ask.what == Ask::What::push && ask.rule.rule.is_native();
  // Leaves the request unchanged: if it must wait, it may be applied to another group's table later.
  for (const ParamEntry& entry : question.entries) {
    if (table_.taken(entry.key, operation.write.writer, operation.write.mark)) continue;
    if (native && table_.removed(entry.key)) continue;
    if (native && entry.key.is_part()) {
      const auto before = table_.prepared(entry.key, from);
      if (before && before->number >= ask.number) continue;
      if (before && before->mark < ask.mark) {
        outcomes_.ask(*before);
        return std::nullopt;
      }
    }
    operation.entries.push_back(entry);
  }
  return operation;
}

bool KeyHolder::count(Question& question) {
  const Asked asked = question.asked;
  KeyOperation operation{{KeyWrite::What::count, asked.from.node, question.ask.mark}, {}};
  for (const ParamKey& key : question.keys) {
    const auto update = table_.prepared(key, asked.from.node);
    if (update && update->mark == question.ask.mark) operation.entries.push_back({key, {}, 0});
  }
  if (operation.entries.empty()) {
    if (!all_have(question)) return false;
    acknowledge(asked);
    return true;
  }
  log_.append(std::move(operation), [this, asked](bool made) {
    made ? acknowledge(asked) : tell(asked, Told::How::moved);
    look();
  });
  return true;
}

// The first of two events decides: the writer's push of the description, or this request. All later replies are the
// same.
bool KeyHolder::outcome(Question& question) {
  const Asked asked = question.asked;
  const Ask& ask = question.ask;
  if (!succession_.run_leased() || !all_have(question)) return false;
  const Error no{Code::mismatch, "the update does not count"};
  const ParamKey& key = question.keys.front();
  if (table_.taken(key, ask.writer, ask.mark)) {
    tell(asked, Told::How::done);
  } else if (key.is_part() || table_.refused(key, ask.writer, ask.number) || table_.store().find(key) == nullptr) {
    tell(asked, Told::How::done, no);
  } else {
    KeyOperation operation{{KeyWrite::What::refuse, ask.writer, ask.mark}, {{key, {}, 0}}};
    operation.write.number = ask.number;
    log_.append(std::move(operation), [this, asked, no](bool made) {
      made ? tell(asked, Told::How::done, no) : tell(asked, Told::How::moved);
      look();
    });
  }
  return true;
}

bool KeyHolder::write(Question& question) {
  const Ask& ask = question.ask;
  const Asked asked = question.asked;
  const auto over = [this, asked](bool made) {
    made ? acknowledge(asked) : tell(asked, Told::How::moved);
    look();
  };
  std::optional<KeyOperation> planned = operation_of(question);
  if (!planned) return false;
  KeyOperation& operation = *planned;
  if (operation.entries.empty()) {
    if (!all_have(question)) return false;
    acknowledge(asked);
    return true;
  }
  if (auto late = too_late(question)) {
    tell(asked, Told::How::done, *std::move(late));
    return true;
  }
  if (const Status fits = table_.check(operation); !fits.ok()) {
    tell(asked, Told::How::done, fits);
    return true;
  }
  if (ask.what == Ask::What::push && ask.rule.rule.is_lua() && !ask.rule.staged) {
    for (const ParamKey& key : question.keys) {
      if (in_pull(key)) return false;  // one after another: it may be the same update, sent again
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
  outcomes_.pass(mark);
  commit_passed();
}

void KeyHolder::commit_passed() {
  if (const KeyRange* range = succession_.leads(overlay_.self().id)) commit(range->arc, passed_ + 1);
}

void KeyHolder::commit(const Arc& arc, Mark below) {
  if (!table_.due(arc, below, passed_)) return;
  std::vector<TakenUpdate> covered;
  std::vector<PullEntry> entries = table_.staged_for_pull(arc, below, covered);
  if (entries.empty()) {
    KeyOperation operation{{KeyWrite::What::commit, overlay_.self().node, below, {}, arc}, {}};
    operation.write.number = passed_;
    log_.append(std::move(operation), [this](bool) { look(); });
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
      return Error{Code::bad_argument, "key " + value.key.print() + " is not in the batch"};
    }
  }
  batches_.pop_front();
  pulling_ = false;
  const bool leads = std::all_of(batch.keys.begin(), batch.keys.end(),
                                 [&](const ParamKey& key) { return succession_.leads(place_of(key)) != nullptr; });
  if (!leads) {
    // Other nodes merge these updates now; the writers send them again.
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
