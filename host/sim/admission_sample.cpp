#include "host/sim/admission_sample.hpp"

#include <algorithm>

namespace actorhost {

// --- samples ---

Rng& SampleStreams::stream(NodeId asker) {
  while (streams_.size() <= asker) streams_.emplace_back(seed_, (kFirstSalt << 32) | streams_.size());
  return streams_[asker];
}

void SampleStreams::draw(NodeId asker, std::vector<NodeId>& out) {
  const std::vector<NodeId>& live = clocks_.live();
  if (beta_ >= live.size()) {
    out = live;
    return;
  }
  while (permutation_.size() < live.size()) permutation_.push_back(static_cast<uint32_t>(permutation_.size()));
  out.resize(beta_);
  stream(asker).sample(std::span(permutation_).first(live.size()), beta_, out.data());
  for (uint32_t i = 0; i < beta_; ++i) {
    permutation_[i] = i;
    permutation_[out[i]] = out[i];
  }
  for (NodeId& id : out) id = live[id];
}

bool SampleStreams::draw_other(NodeId asker, const std::vector<NodeId>& members, NodeId& out) {
  const std::vector<NodeId>& live = clocks_.live();
  const auto inside = [&](NodeId id) { return std::find(members.begin(), members.end(), id) != members.end(); };
  const auto alive = [this](NodeId id) { return clocks_.counted(id); };
  if (static_cast<size_t>(std::count_if(members.begin(), members.end(), alive)) == live.size()) return false;
  do {
    out = live[stream(asker).below(live.size())];
  } while (inside(out));
  return true;
}

// --- sticky ---

void StickyAdmission::joined(NodeId id) {
  changed_ = true;
  waiters_.resize(id + size_t{1});
  hanging_.resize(id + size_t{1});
}

void StickyAdmission::completed(NodeId id, double /*now*/) {
  changed_ = true;
  ready_.insert(ready_.end(), hanging_[id].begin(), hanging_[id].end());
  hanging_[id].clear();
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
  for (NodeId asker = 0; asker < waiters_.size(); ++asker) {
    if (waiters_[asker].ticket != 0) replace(id, asker);
  }
  ready_.insert(ready_.end(), hanging_[id].begin(), hanging_[id].end());
  hanging_[id].clear();
}

void StickyAdmission::replace(NodeId gone, NodeId asker) {
  std::vector<NodeId>& members = waiters_[asker].members;
  if (std::erase(members, gone) == 0) return;
  NodeId other = 0;
  if (streams_.draw_other(asker, members, other)) members.push_back(other);
}

// Lists the waiter at a member that it must wait for; false when there is none.
bool StickyAdmission::hang(NodeId id) {
  const int32_t needed = clocks_.step(id) - staleness_;
  for (const NodeId member : waiters_[id].members) {
    if (clocks_.step(member) >= needed) continue;
    hanging_[member].push_back(id);
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
    if (hang(id)) continue;
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
