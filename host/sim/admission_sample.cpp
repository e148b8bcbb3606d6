#include "host/sim/admission_sample.hpp"

#include <algorithm>

namespace actorhost {

// --- samples ---

Rng& SampleStreams::stream(NodeId requester) {
  while (streams_.size() <= requester) streams_.emplace_back(seed_, (kFirstSalt << 32) | streams_.size());
  return streams_[requester];
}

void SampleStreams::draw(NodeId requester, std::vector<NodeId>& out) {
  const std::vector<NodeId>& live = clocks_.live();
  if (beta_ >= live.size()) {
    out = live;
    return;
  }
  while (permutation_.size() < live.size()) permutation_.push_back(static_cast<uint32_t>(permutation_.size()));
  out.resize(beta_);
  stream(requester).sample(std::span(permutation_).first(live.size()), beta_, out.data());
  for (uint32_t i = 0; i < beta_; ++i) {
    permutation_[i] = i;
    permutation_[out[i]] = out[i];
  }
  for (NodeId& id : out) id = live[id];
}

bool SampleStreams::draw_other(NodeId requester, const std::vector<NodeId>& members, NodeId& out) {
  const std::vector<NodeId>& live = clocks_.live();
  const auto inside = [&](NodeId id) { return std::find(members.begin(), members.end(), id) != members.end(); };
  const auto alive = [this](NodeId id) { return clocks_.counted(id); };
  if (static_cast<size_t>(std::count_if(members.begin(), members.end(), alive)) == live.size()) return false;
  do {
    out = live[stream(requester).below(live.size())];
  } while (inside(out));
  return true;
}

// --- sticky ---

void StickyAdmission::joined(NodeId id) {
  changed_ = true;
  waiters_.resize(id + size_t{1});
  blocked_on_.resize(id + size_t{1});
}

void StickyAdmission::completed(NodeId id, double /*now*/) {
  changed_ = true;
  ready_.insert(ready_.end(), blocked_on_[id].begin(), blocked_on_[id].end());
  blocked_on_[id].clear();
  streams_.draw(id, waiters_[id].members);
  waiters_[id].ticket = ++tickets_;
  ready_.push_back(id);
  ++waiting_;
}

void StickyAdmission::left(NodeId id) {
  changed_ = true;
  if (waiters_[id].ticket != 0) {
    waiters_[id].ticket = 0;
    --waiting_;
  }
  for (NodeId requester = 0; requester < waiters_.size(); ++requester) {
    if (waiters_[requester].ticket != 0) replace(id, requester);
  }
  ready_.insert(ready_.end(), blocked_on_[id].begin(), blocked_on_[id].end());
  blocked_on_[id].clear();
}

void StickyAdmission::replace(NodeId departed, NodeId requester) {
  std::vector<NodeId>& members = waiters_[requester].members;
  if (std::erase(members, departed) == 0) return;
  NodeId other = 0;
  if (streams_.draw_other(requester, members, other)) members.push_back(other);
}

// Lists the waiter at a member that it must wait for; false when there is none.
bool StickyAdmission::wait_for_member(NodeId id) {
  const int32_t needed = clocks_.step(id) - staleness_;
  for (const NodeId member : waiters_[id].members) {
    if (clocks_.step(member) >= needed) continue;
    blocked_on_[member].push_back(id);
    return true;
  }
  return false;
}

Status StickyAdmission::decide(double /*now*/, std::vector<NodeId>& passed) {
  if (changed_) checks_ += waiting_;
  changed_ = false;
  if (ready_.empty()) return {};
  std::sort(ready_.begin(), ready_.end(),
            [this](NodeId a, NodeId b) { return waiters_[a].ticket < waiters_[b].ticket; });
  for (const NodeId id : ready_) {
    if (waiters_[id].ticket == 0) continue;
    if (wait_for_member(id)) continue;
    waiters_[id].ticket = 0;
    --waiting_;
    passed.push_back(id);
  }
  ready_.clear();
  return {};
}

// --- poll ---

void PollAdmission::joined(NodeId id) { waits_.resize(id + size_t{1}); }

void PollAdmission::left(NodeId id) {
  waiting_ -= waits_[id];
  waits_[id] = 0;  // its pending poll then finds no waiter
}

void PollAdmission::completed(NodeId id, double now) {
  waits_[id] = 1;
  ++waiting_;
  polls_.push(now, id, 0);
}

bool PollAdmission::passes(NodeId id) {
  streams_.draw(id, sample_);
  ++checks_;
  const int32_t needed = clocks_.step(id) - staleness_;
  return std::all_of(sample_.begin(), sample_.end(), [&](NodeId member) { return clocks_.step(member) >= needed; });
}

Status PollAdmission::decide(double now, std::vector<NodeId>& passed) {
  while (polls_.next_time() <= now) {
    const NodeId id = polls_.pop().node;
    if (waits_[id] == 0) continue;
    if (passes(id)) {
      waits_[id] = 0;
      --waiting_;
      passed.push_back(id);
    } else {
      polls_.push(now + seconds_, id, 0);
    }
  }
  return {};
}

}  // namespace actorhost
