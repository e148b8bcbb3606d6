#include "host/engine/share/lock_service.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

/// The key of a shared part. It begins with 0, unlike the keys that scripts name.
LockTable::Key key_of(const SharedPart& part) {
  LockTable::Key key(1, '\0');
  key.append(reinterpret_cast<const char*>(&part.table), sizeof part.table);
  key.append(reinterpret_cast<const char*>(&part.id), sizeof part.id);
  return key;
}

/// Whether `membership` shows that a worker, which sent its message when it knew `epoch`, has failed or departed. False
/// if the worker knows a newer membership.
bool is_lost(const Membership& membership, Address node, uint64_t epoch) {
  return membership.epoch() >= epoch && !membership.alive(node);
}

}  // namespace

LockService::LockService(ServiceThread& courier) : courier_(courier), membership_(courier.newest_membership()) {
  courier.add(kinds_of(Kind::lock_first), *this);
}

// ---- for the nodes of this process ----

Result<std::optional<LockService::Values>> LockService::acquire(const LockTable::RequestId& request,
                                                                LockRequest wanted) {
  std::lock_guard lock(mutex_);
  AH_LET(auto granted, enter(request, std::move(wanted), true));
  if (!granted) return std::optional<Values>();
  AH_LET(auto values, values_of(request));
  return std::optional(std::move(values));
}

Result<LockService::Values> LockService::collect(const LockTable::RequestId& request) {
  std::lock_guard lock(mutex_);
  return values_of(request);
}

void LockService::release(const LockTable::RequestId& request, SharedWrites writes) {
  std::lock_guard lock(mutex_);
  write_and_release(request, std::move(writes));
}

std::optional<std::vector<LockTable::Blocker>> LockService::withdraw(const LockTable::RequestId& request) {
  std::lock_guard lock(mutex_);
  if (table_.holds(request)) return std::nullopt;
  auto blockers = table_.blockers(request);
  write_and_release(request, {});
  return blockers;
}

bool LockService::waits(const LockTable::RequestId& request) const {
  std::lock_guard lock(mutex_);
  return find(request) != nullptr && !table_.holds(request);
}

void LockService::publish(const SharedPart& part, NodeId owner, PackedValue value) {
  std::lock_guard lock(mutex_);
  store_.publish(part, owner, std::move(value));
}

void LockService::withdraw_table(uint32_t table, NodeId owner) {
  std::lock_guard lock(mutex_);
  store_.withdraw(table, owner);
}

std::optional<PackedValue> LockService::read(const SharedPart& part) const {
  std::lock_guard lock(mutex_);
  const PackedValue* value = store_.find(part);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

// ---- with mutex_ locked ----

const LockService::RequestState* LockService::find(const LockTable::RequestId& request) const {
  const auto node = requests_.find(request.node);
  if (node == requests_.end()) return nullptr;
  const auto state = node->second.find(request.id);
  return state != node->second.end() ? &state->second : nullptr;
}

void LockService::forget(const LockTable::RequestId& request) {
  table_.release(request);
  const auto node = requests_.find(request.node);
  node->second.erase(request.id);
  if (node->second.empty()) requests_.erase(node);
}

Result<bool> LockService::enter(const LockTable::RequestId& request, LockRequest wanted, bool local) {
  AH_TRY(check_published(wanted.parts));
  std::vector<LockTable::Key> keys = std::move(wanted.keys);
  if (wanted.access == SharedAccess::exclusive) {
    for (const LockRequest::Part& p : wanted.parts) keys.push_back(key_of(p.part));
  }
  auto granted = table_.acquire(request, std::move(keys), std::move(wanted.where));
  if (granted)
    requests_[request.node][request.id] = RequestState{local, wanted.epoch, std::move(wanted.parts), wanted.access};
  return granted;
}

Status LockService::check_published(const std::vector<LockRequest::Part>& parts) const {
  for (const LockRequest::Part& p : parts) {
    if (store_.find(p.part, p.owner) != nullptr) continue;
    const auto rank = courier_.newest_membership()->rank_of(p.owner);
    const std::string owner = rank ? "rank " + std::to_string(*rank) : address_name(worker_address(p.owner));
    return Error{Code::bad_argument, owner + " has not published id " + std::to_string(p.part.id) + " of table " +
                                         std::to_string(p.part.table)};
  }
  return {};
}

Result<LockService::Values> LockService::values_of(const LockTable::RequestId& request) const {
  const RequestState* state = find(request);
  if (state == nullptr) return Error{Code::peer_lost, "this node was considered failed"};
  AH_TRY(check_published(state->parts));
  Values values;
  for (const LockRequest::Part& p : state->parts) values.push_back(*store_.find(p.part, p.owner));
  return values;
}

void LockService::write_and_release(const LockTable::RequestId& request, SharedWrites&& writes) {
  const RequestState* state = find(request);
  if (state == nullptr) return;
  if (table_.holds(request)) {
    for (auto& [part, value] : writes) {
      if (part < state->parts.size()) store(state->parts[part], state->access, std::move(value));
    }
  }
  forget(request);
  notify_granted();
}

void LockService::store(const LockRequest::Part& where, SharedAccess access, PackedValue&& value) {
  if (access == SharedAccess::exclusive) {
    store_.write(where.part, std::move(value));
  } else if (!store_.add(where.part, value)) {
    courier_.log().warn("locks", "a change of id " + std::to_string(where.part.id) + " of table " +
                                     std::to_string(where.part.table) +
                                     " does not fit the stored value and is dropped");
  }
}

void LockService::notify_granted() {
  // A node that cannot receive its values releases the lock, which may grant the lock to others.
  for (auto granted = table_.take_granted(); !granted.empty(); granted = table_.take_granted()) {
    for (const LockTable::RequestId& request : granted) notify_granted(request);
  }
}

void LockService::notify_granted(const LockTable::RequestId& request) {
  auto values = find(request)->local ? Result<Values>(Values()) : values_of(request);
  if (!values) return refuse(request, values.error());
  auto frame = granted_frame(request, *values);
  if (!frame) return refuse(request, frame.error());
  courier_.send(std::move(*frame));
}

void LockService::refuse(const LockTable::RequestId& request, const Error& error) {
  courier_.send(message_frame(lock_kind::refused, request.node, request.id, ErrorMessage{error}));
  forget(request);
}

// ---- on the courier's thread ----

void LockService::on_frame(Frame&& frame, double /*now*/) {
  const LockTable::RequestId request{frame.src, frame.tag};
  if (frame.kind == lock_kind::request) return on_request(frame);
  if (frame.kind == lock_kind::release) return on_release(frame);
  if (frame.kind != lock_kind::withdraw) return;
  std::lock_guard lock(mutex_);
  if (find(request) == nullptr || table_.holds(request)) return;  // the reply was sent, or is in flight
  courier_.send(LockWithdrawn{table_.blockers(request)}.frame(request));
  write_and_release(request, {});
}

void LockService::on_request(const Frame& frame) {
  const LockTable::RequestId request{frame.src, frame.tag};
  auto wanted = read_message<LockRequest>(frame);
  if (wanted && !is_worker(frame.src)) wanted = Error{Code::bad_data, "a lock is for workers"};
  if (!wanted) {
    courier_.distrust(frame.src, frame.kind, wanted.error());
    return;
  }
  std::lock_guard lock(mutex_);
  if (is_lost(*membership_, frame.src, wanted->epoch)) return;
  const auto granted = enter(request, std::move(*wanted), false);
  if (!granted) {
    courier_.send(message_frame(lock_kind::refused, request.node, request.id, ErrorMessage{granted.error()}));
  } else if (*granted) {
    notify_granted(request);
    notify_granted();
  }
}

void LockService::on_release(const Frame& frame) {
  auto writes = read_release(frame);
  if (!writes) {
    courier_.distrust(frame.src, frame.kind, writes.error());
    return release({frame.src, frame.tag}, {});
  }
  if (writes->size() > 1) {  // copied: else replacing one value would leave its bytes in memory with the others
    for (auto& [part, value] : *writes) value.body = Blob::copy_of(value.body.data(), value.body.size());
  }
  release({frame.src, frame.tag}, std::move(*writes));
}

void LockService::on_membership(const MembershipPtr& membership, double /*now*/) {
  std::lock_guard lock(mutex_);
  membership_ = membership;
  std::vector<Address> lost;
  for (const auto& [node, requests] : requests_) {
    const auto has_left = [&, sender = node](const auto& entry) {
      return is_lost(*membership, sender, entry.second.epoch);
    };
    if (std::any_of(requests.begin(), requests.end(), has_left)) lost.push_back(node);
  }
  for (const Address node : lost) {
    table_.lost(node);
    requests_.erase(node);
  }
  notify_granted();
}

}  // namespace actorhost
