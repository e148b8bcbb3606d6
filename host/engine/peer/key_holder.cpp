#include "host/engine/peer/key_holder.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kRetryInterval = 0.05;  // seconds between retries of waiting requests
constexpr double kForgotten = 150;       // longer than any requester waits

}  // namespace

KeyHolder::KeyHolder(Overlay& overlay, PeerCalls& calls, KeyTable& table, KeyLog& log,
                     GroupReconfiguration& reconfiguration, KeyClient& client)
    : overlay_(overlay),
      calls_(calls),
      table_(table),
      log_(log),
      reconfiguration_(reconfiguration),
      outcomes_(calls, table, log, reconfiguration, client) {
  outcomes_.on_decided([this] {
    commit_passed();
    retry_waiting();
  });
}

void KeyHolder::send_reply(const RequestId& id, KeyReply::State state, Status status) {
  pending_.erase(id);
  KeyReply reply{{overlay_.self(), id.from.node}, state, std::move(status)};
  if (state == KeyReply::State::working) reply.awaited = log_.missing();
  Frame frame = message_frame(peer_kind::reply, courier_address(id.from.process), id.tag, reply);
  frame.flags = kLastFrame;
  calls_.send(std::move(frame));
}

// Requires a majority of the run on this side. Otherwise the other side may reply for the key without this write.
void KeyHolder::acknowledge(const RequestId& id) {
  if (reconfiguration_.run_leased()) return send_reply(id, KeyReply::State::done);
  unacknowledged_.push_back(id);
}

void KeyHolder::on_probe(const Frame& frame, const Envelope& probe) {
  const RequestId id{probe.from, frame.tag};
  const bool working = pending_.count(id) > 0;
  send_reply(id, working ? KeyReply::State::working : KeyReply::State::unknown);
  if (working) pending_.insert(id);
}

void KeyHolder::on_request(Frame&& frame, const KeyRequest& head, Unpacker& in) {
  Request request{{head.envelope.from, frame.tag}, head, {}, {}, calls_.now()};
  const RequestId id = request.id;
  if (request.head.type == KeyRequest::Type::get) {
    if (const Status read = read_keys(in, request.keys); !read.ok()) return send_reply(id, KeyReply::State::done, read);
  } else {
    auto entries = messages_.add(id.from, frame, in, true);
    if (!entries.ok()) return send_reply(id, KeyReply::State::done, std::move(entries).error());
    if (!*entries) return;
    request.entries = **std::move(entries);
    for (const ParamEntry& entry : request.entries) {
      if (request.keys.empty() || request.keys.back() != entry.key) request.keys.push_back(entry.key);
    }
  }
  pending_.insert(id);
  if (!try_handle(request)) waiting_.push_back(std::move(request));
}

void KeyHolder::retry_waiting() {
  retry_again_ = true;
  if (std::exchange(retrying_, true)) return;
  while (std::exchange(retry_again_, false)) {
    for (auto at = waiting_.begin(); at != waiting_.end();) at = try_handle(*at) ? waiting_.erase(at) : std::next(at);
  }
  retrying_ = false;
}

double KeyHolder::tick() {
  // Their requesters have timed out.
  std::erase_if(waiting_, [&](const Request& request) {
    const bool forgotten = request.arrived + kForgotten < calls_.now();
    if (forgotten) pending_.erase(request.id);
    return forgotten;
  });
  if (reconfiguration_.run_leased()) {
    for (const RequestId& id : std::exchange(unacknowledged_, {})) send_reply(id, KeyReply::State::done);
  }
  const double outcomes = outcomes_.tick();
  if (waiting_.empty() && unacknowledged_.empty()) return outcomes;
  retry_waiting();
  return std::min(outcomes, calls_.now() + kRetryInterval);
}

bool KeyHolder::try_handle(Request& request) {
  bool leads = true;
  for (const ParamKey& key : request.keys) {
    if (reconfiguration_.leads(place_of(key)) != nullptr) continue;
    leads = false;
    if (reconfiguration_.will_lead(place_of(key))) continue;
    send_reply(request.id, KeyReply::State::moved);
    return true;
  }
  if (!leads) return false;
  if (request.keys.empty()) {
    send_reply(request.id, KeyReply::State::done);
    return true;
  }
  for (const ParamKey& key : request.keys) {
    const bool after = request.head.own == 0 || table_.removed(key);
    if (!after && !table_.taken(key, request.id.from.node, request.head.own)) return false;
  }
  switch (request.head.type) {
    case KeyRequest::Type::get: return get(request);
    case KeyRequest::Type::count: return count(request);
    case KeyRequest::Type::outcome: return outcome(request);
    default: return write(request);
  }
}

bool KeyHolder::get(Request& request) {
  if (!reconfiguration_.leased()) return false;
  if (request.head.passed > passed_) pass(request.head.passed);
  const Mark below = request.head.mark + 1;
  commit(reconfiguration_.leads(place_of(request.keys.front()))->arc, std::max(passed_ + 1, below));
  for (const ParamKey& key : request.keys) {
    if (log_.touches(key) || table_.staged(key, below) || outcomes_.blocks_reads(key)) return false;
  }
  const RequestId& id = request.id;
  EntryPacker reply(peer_kind::reply, courier_address(id.from.process), id.tag,
                    pack(KeyReply{{overlay_.self(), id.from.node}}), true);
  for (const ParamKey& key : request.keys) table_.pack(key, reply);
  std::vector<Frame> frames;
  reply.finish(frames);
  for (Frame& frame : frames) calls_.send(std::move(frame));
  pending_.erase(id);
  return true;
}

std::optional<ParamEntry> KeyHolder::read(const ParamKey& key, Mark mark, double now) const {
  if (reconfiguration_.leads(place_of(key)) == nullptr || reconfiguration_.leased_until() <= now) return std::nullopt;
  if (log_.touches(key) || table_.staged(key, std::max(passed_, mark) + 1)) return std::nullopt;
  ParamEntry entry{key, {}, 0};
  const Stored* stored = table_.store().find(key);
  if (stored == nullptr) return entry;
  entry.step = stored->step;
  if (const auto* lua = std::get_if<LuaValue>(&stored->value)) {
    if (SplitTensor::of(*lua)) return std::nullopt;
    entry.value = *lua;
    return entry;
  }
  const auto& tensor = std::get<StoredTensor>(stored->value);
  if (tensor.chunks.size() != 1) return std::nullopt;
  entry.value = tensor.chunk(0);
  return entry;
}

// An accepted write may still be missing at some members.
bool KeyHolder::all_have(const Request& request) const {
  return std::none_of(request.keys.begin(), request.keys.end(), [&](const ParamKey& key) { return log_.touches(key); });
}

// A staged update of a split tensor is merged at all parts in the same step, or refused.
std::optional<Error> KeyHolder::too_late(const Request& request) const {
  const KeyRequest& head = request.head;
  if (!head.rule.staged || !head.rule.rule.is_native() || head.mark > passed_) return std::nullopt;
  for (const ParamEntry& entry : request.entries) {
    if (!entry.key.is_part() && !SplitTensor::of(entry.value)) continue;
    return Error{Code::peer_lost, "step " + std::to_string(step_of(head.mark)) +
                                      " has ended without this worker's update of key " +
                                      (entry.key.is_part() ? entry.key.whole() : entry.key).print() +
                                      ": the other workers treated it as failed"};
  }
  return std::nullopt;
}

// The change of a set or push without the already accepted updates; nullopt while an earlier update is undecided.
std::optional<KeyOperation> KeyHolder::operation_of(Request& request) {
  const KeyRequest& head = request.head;
  const NodeId from = request.id.from.node;
  KeyOperation operation{{KeyWrite::Type::push, from, head.mark, head.rule}, {}};
  operation.write.number = head.number;
  if (head.type == KeyRequest::Type::set) {
    operation.write = {KeyWrite::Type::set, writer_of_sets(from), head.number};
    for (ParamEntry& entry : request.entries) entry.step = step_of(head.mark);
  }
  const bool native = head.type == KeyRequest::Type::push && head.rule.rule.is_native();
  // Leaves the request unchanged: if it must wait, it may be applied to another group's table later.
  for (const ParamEntry& entry : request.entries) {
    if (table_.taken(entry.key, operation.write.writer, operation.write.mark)) continue;
    if (native && table_.removed(entry.key)) continue;
    if (native && entry.key.is_part()) {
      const auto before = table_.prepared(entry.key, from);
      if (before && before->number >= head.number) continue;
      if (before && before->mark < head.mark) {
        outcomes_.request_outcome(*before);
        return std::nullopt;
      }
    }
    operation.entries.push_back(entry);
  }
  return operation;
}

bool KeyHolder::count(Request& request) {
  const RequestId id = request.id;
  KeyOperation operation{{KeyWrite::Type::count, id.from.node, request.head.mark}, {}};
  for (const ParamKey& key : request.keys) {
    const auto update = table_.prepared(key, id.from.node);
    if (update && update->mark == request.head.mark) operation.entries.push_back({key, {}, 0});
  }
  if (operation.entries.empty()) {
    if (!all_have(request)) return false;
    acknowledge(id);
    return true;
  }
  log_.append(std::move(operation), [this, id](bool committed) {
    committed ? acknowledge(id) : send_reply(id, KeyReply::State::moved);
    retry_waiting();
  });
  return true;
}

// The first of two events decides: the writer's push of the description, or this request. All later replies are the
// same.
bool KeyHolder::outcome(Request& request) {
  const RequestId id = request.id;
  const KeyRequest& head = request.head;
  if (!reconfiguration_.run_leased() || !all_have(request)) return false;
  const Error no{Code::mismatch, "the update does not count"};
  const ParamKey& key = request.keys.front();
  if (table_.taken(key, head.writer, head.mark)) {
    send_reply(id, KeyReply::State::done);
  } else if (key.is_part() || table_.refused(key, head.writer, head.number) || table_.store().find(key) == nullptr) {
    send_reply(id, KeyReply::State::done, no);
  } else {
    KeyOperation operation{{KeyWrite::Type::refuse, head.writer, head.mark}, {{key, {}, 0}}};
    operation.write.number = head.number;
    log_.append(std::move(operation), [this, id, no](bool committed) {
      committed ? send_reply(id, KeyReply::State::done, no) : send_reply(id, KeyReply::State::moved);
      retry_waiting();
    });
  }
  return true;
}

bool KeyHolder::write(Request& request) {
  const KeyRequest& head = request.head;
  const RequestId id = request.id;
  const auto done = [this, id](bool committed) {
    committed ? acknowledge(id) : send_reply(id, KeyReply::State::moved);
    retry_waiting();
  };
  std::optional<KeyOperation> planned = operation_of(request);
  if (!planned) return false;
  KeyOperation& operation = *planned;
  if (operation.entries.empty()) {
    if (!all_have(request)) return false;
    acknowledge(id);
    return true;
  }
  if (auto late = too_late(request)) {
    send_reply(id, KeyReply::State::done, *std::move(late));
    return true;
  }
  if (const Status fits = table_.check(operation); !fits.ok()) {
    send_reply(id, KeyReply::State::done, fits);
    return true;
  }
  if (head.type == KeyRequest::Type::push && head.rule.rule.is_lua() && !head.rule.staged) {
    for (const ParamKey& key : request.keys) {
      if (in_pull(key)) return false;  // one after another: it may be the same update, sent again
    }
    auto whole = join_pieces(std::move(operation.entries), head.rule.rule.shared);
    if (!whole.ok()) {
      send_reply(id, KeyReply::State::done, std::move(whole).error());
      return true;
    }
    std::vector<PullEntry> entries;
    std::vector<TakenUpdate> covered;
    for (ParamEntry& entry : *whole) {
      covered.push_back({entry.key.canonical(), id.from.node, head.mark});
      entries.push_back({entry.key, std::move(entry.value), step_of(head.mark), id.from.node});
    }
    enqueue_pull(std::move(entries), std::move(covered), {id}, false);
    return true;
  }
  log_.append(std::move(operation), done);
  return true;
}

void KeyHolder::pass(Mark mark) {
  passed_ = std::max(passed_, mark);
  outcomes_.pass(mark);
  commit_passed();
}

void KeyHolder::commit_passed() {
  if (const KeyRange* range = reconfiguration_.leads(overlay_.self().id)) commit(range->arc, passed_ + 1);
}

void KeyHolder::commit(const Arc& arc, Mark below) {
  if (!table_.due(arc, below, passed_)) return;
  std::vector<TakenUpdate> covered;
  std::vector<PullEntry> entries = table_.staged_for_pull(arc, below, covered);
  if (entries.empty()) {
    KeyOperation operation{{KeyWrite::Type::commit, overlay_.self().node, below, {}, arc}, {}};
    operation.write.number = passed_;
    log_.append(std::move(operation), [this](bool) { retry_waiting(); });
    return;
  }
  const bool begun = std::any_of(batches_.begin(), batches_.end(), [](const Batch& batch) { return batch.staged; });
  if (!begun) enqueue_pull(std::move(entries), std::move(covered), {}, true);
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

void KeyHolder::enqueue_pull(std::vector<PullEntry> entries, std::vector<TakenUpdate> covered,
                             std::vector<RequestId> requesters, bool staged) {
  Batch batch{{}, {}, std::move(covered), std::move(requesters), 0, staged};
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
                                 [&](const ParamKey& key) { return reconfiguration_.leads(place_of(key)) != nullptr; });
  if (!leads) {
    // Other nodes merge these updates now; the writers send them again.
    for (const RequestId& id : batch.requesters) send_reply(id, KeyReply::State::moved);
  } else {
    KeyOperation operation{{KeyWrite::Type::pulled, overlay_.self().node, 0, {}, {}, std::move(batch.covered)}, {}};
    for (ParamEntry& value : values) {
      const auto add = [&](ParamValue part) { operation.entries.push_back({value.key, std::move(part), batch.step}); };
      if (const auto* tensor = std::get_if<ParamTensor>(&value.value)) {
        for_each_chunk(*tensor, [&](ParamTensor piece) { add(std::move(piece)); });
      } else {
        add(std::move(value.value));
      }
    }
    const auto done = [this, requesters = batch.requesters](bool committed) {
      for (const RequestId& id : requesters) committed ? acknowledge(id) : send_reply(id, KeyReply::State::moved);
      retry_waiting();
    };
    log_.append(std::move(operation), done);
  }
  next_pull();
  retry_waiting();
  return {};
}

}  // namespace actorhost
