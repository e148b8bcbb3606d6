#include "host/engine/share/lock_table.hpp"

#include <algorithm>

namespace actorhost {

Result<bool> LockTable::acquire(const RequestId& request, std::vector<Key> keys, std::string where) {
  if (entries_.contains(request)) return Error{Code::bad_argument, "a request with this number is pending"};
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  AH_TRY(check_own(request.node, keys));
  by_node_[request.node].push_back(request.id);
  Entry& entry = entries_[request];
  for (const Key& key : keys) {
    Queue& queue = queues_[key];
    queue.push_back(request);
    if (queue.size() > 1) ++entry.behind;
  }
  entry.keys = std::move(keys);
  entry.where = std::move(where);
  return entry.behind == 0;
}

/// Refuses keys that the node already holds or waits for: it would wait for itself.
Status LockTable::check_own(Address node, const std::vector<Key>& keys) const {
  const auto own = by_node_.find(node);
  if (own == by_node_.end()) return {};
  for (const uint32_t id : own->second) {
    const Entry& entry = entries_.at({node, id});
    const auto shared = [&](const Key& key) { return std::binary_search(entry.keys.begin(), entry.keys.end(), key); };
    if (std::none_of(keys.begin(), keys.end(), shared)) continue;
    const char* const how = entry.behind == 0 ? "holds" : "waits for";
    return Error{Code::bad_argument, std::string("it ") + how + " one of these keys already, since " + entry.where};
  }
  return {};
}

void LockTable::remove(const RequestId& request) {
  const auto node = entries_.extract(request);
  const auto own = by_node_.find(request.node);
  std::erase(own->second, request.id);
  if (own->second.empty()) by_node_.erase(own);
  for (const Key& key : node.mapped().keys) {
    const auto at = queues_.find(key);
    Queue& queue = at->second;
    const bool first = queue.front() == request;
    if (first) {
      queue.pop_front();
    } else {
      queue.erase(std::find(queue.begin(), queue.end(), request));
    }
    if (queue.empty()) {
      queues_.erase(at);
    } else if (first && --entries_.at(queue.front()).behind == 0) {
      granted_.push_back(queue.front());
    }
  }
}

bool LockTable::release(const RequestId& request) {
  if (!entries_.contains(request)) return false;
  std::erase(granted_, request);  // a released grant needs no notice
  remove(request);
  return true;
}

bool LockTable::withdraw(const RequestId& request) {
  const auto at = entries_.find(request);
  if (at == entries_.end() || at->second.behind == 0) return false;
  remove(request);
  return true;
}

void LockTable::lost(Address node) {
  const auto own = by_node_.find(node);
  if (own == by_node_.end()) return;
  // Removes waiting requests first, so that releasing the others grants none of them.
  std::vector<uint32_t> ids = own->second;
  const auto waits = [&](uint32_t id) { return entries_.at({node, id}).behind != 0; };
  std::stable_partition(ids.begin(), ids.end(), waits);
  for (const uint32_t id : ids) release({node, id});
}

bool LockTable::holds(const RequestId& request) const {
  const auto at = entries_.find(request);
  return at != entries_.end() && at->second.behind == 0;
}

std::vector<LockTable::Blocker> LockTable::blockers(const RequestId& request) const {
  std::vector<Blocker> out;
  const auto at = entries_.find(request);
  if (at == entries_.end()) return out;
  for (const Key& key : at->second.keys) {
    const RequestId& first = queues_.at(key).front();
    if (first == request) continue;
    const Entry& entry = entries_.at(first);
    Blocker blocker{first.node, entry.where, entry.behind == 0};
    if (std::find(out.begin(), out.end(), blocker) == out.end()) out.push_back(std::move(blocker));
  }
  return out;
}

std::vector<Address> LockTable::nodes() const {
  std::vector<Address> out;
  for (const auto& [node, ids] : by_node_) out.push_back(node);
  return out;
}

}  // namespace actorhost
