#include "host/engine/param/push_merger.hpp"

#include <algorithm>

namespace actorhost {

PushMerger::PushMerger(RunId run, uint32_t shards, MergeRule& rule, uint64_t updates, Progress& progress,
                       ParamShard& own, std::vector<Frame>& out)
    : run_(run),
      shards_(shards),
      rule_(rule),
      progress_(progress),
      own_(own),
      out_(out),
      version_(updates),
      updates_(updates) {}

void PushMerger::on_push(NodeId worker, uint64_t step, Arrival arrival, bool uncopied, double now) {
  newest_ = std::max(newest_, step);
  const MergeRequest request{.worker = worker, .step = step, .version = begun(worker), .uncopied = uncopied};
  switch (arrival) {
    case Arrival::applied:
      ++updates_;
      ++version_;
      return settle(worker, step, true);
    case Arrival::complete: return decide(request, copies(), now);
    case Arrival::staged: return staged_.push_back(request);
  }
}

void PushMerger::commit(std::vector<CommitItem> items, Combination combination) {
  if (items.empty()) return;
  updates_ += items.size();
  version_ += combination.kind == Combination::Kind::each ? items.size() : 1;
  for (const CommitItem& item : items) settle(item.worker, item.step, true);
  const Commit commit{run_, combination, std::move(items)};
  // Sends the commit to the other shards first, so that it precedes all later frames to workers.
  for (uint32_t shard = 1; shard < shards_; ++shard)
    out_.push_back(message_frame(param_kind::commit, server_address(shard), 0, commit));
  own_.commit(commit);
}

void PushMerger::discard(NodeId worker, Discard::Extent extent, uint64_t step) {
  const Discard discard{run_, worker, extent, step};
  for (uint32_t shard = 1; shard < shards_; ++shard) {
    out_.push_back(message_frame(param_kind::discard, server_address(shard), 0, discard));
  }
  own_.discard(discard);
}

/// The steps that every counted worker has completed, if `worker` has completed `step`, which may not be counted yet.
uint64_t PushMerger::slowest_with(NodeId worker, uint64_t step) const {
  if (progress_.size() == 0) return step + 1;
  const int32_t least = progress_.min();
  const Slot slot = progress_.slot(worker);
  const bool alone =
      slot != kNoSlot && progress_.steps()[slot] == least && progress_.passed(least + 1) + 1 == progress_.size();
  return std::min(step + 1, static_cast<uint64_t>(least) + (alone ? 1 : 0));
}

/// `copies`: the rule may keep the push until the worker writes to it.
void PushMerger::decide(MergeRequest request, bool copies, double now) {
  if (error_) return;
  if (request.uncopied && copies) return commit({{request.worker, request.step, 1}});
  request.model_version = version_;
  request.newest = newest_;
  request.workers = static_cast<uint32_t>(progress_.size());
  request.slowest = slowest_with(request.worker, request.step);
  request.now = now;
  if (held_.empty()) held_since_ = now;
  held_.emplace(request.worker, request.step);
  MergeDecision decision;
  const Status decided = rule_.decide(request, decision);
  apply(decided, std::move(decision), now);
}

void PushMerger::apply(const Status& decided, MergeDecision decision, double now) {
  if (!decided.ok()) {
    error_ = decided.error();
    return;
  }
  for (const CommitItem& item : decision.merged) held_.erase({item.worker, item.step});
  if (!decision.merged.empty()) held_since_ = now;
  for (const auto& [worker, step] : decision.dropped) {
    held_.erase({worker, step});
    ++dropped_;
    settle(worker, step, false);
    discard(worker, Discard::Extent::one, step);
  }
  commit(std::move(decision.merged), decision.merged.size() > 1 ? decision.combination : Combination{});
  progress_.set_buffered(held_.size());
}

void PushMerger::flush_staged(uint64_t below, double now) {
  std::sort(staged_.begin(), staged_.end(), [](const MergeRequest& a, const MergeRequest& b) {
    return a.step != b.step ? a.step < b.step : a.worker < b.worker;
  });
  const auto end = std::find_if(staged_.begin(), staged_.end(), [&](const auto& push) { return push.step >= below; });
  std::vector<MergeRequest> pushes(staged_.begin(), end);
  staged_.erase(staged_.begin(), end);
  if (!stages()) {  // makes one commit for the whole barrier
    std::vector<CommitItem> items;
    for (const MergeRequest& push : pushes) items.push_back({push.worker, push.step, 1});
    return commit(std::move(items));
  }
  const bool copied = copies();  // before the rule holds pushes of this barrier
  for (auto first = pushes.begin(); first != pushes.end();) {
    const auto last = std::find_if(first, pushes.end(), [&](const auto& push) { return push.step != first->step; });
    const auto peers = static_cast<uint32_t>(last - first);
    for (; first != last; ++first) {
      first->peers = peers;
      first->left = static_cast<uint32_t>(last - first) - 1;
      decide(*first, copied, now);
    }
  }
}

void PushMerger::finish(double now) {
  if (held_.empty() || error_) return;
  MergeDecision decision;
  const Status decided = rule_.finish(decision);
  apply(decided, std::move(decision), now);
}

std::optional<uint64_t> PushMerger::take_number(NodeId worker, uint64_t step) {
  const auto number = numbers_.extract({worker, step});
  return number.empty() ? std::nullopt : std::optional(number.mapped());
}

void PushMerger::settle(NodeId worker, uint64_t step, bool merged) {
  if (const auto number = take_number(worker, step)) outcomes_.push_back({worker, *number, merged});
}

}  // namespace actorhost
