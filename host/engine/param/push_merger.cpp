#include "host/engine/param/push_merger.hpp"

#include <algorithm>
#include <cmath>

namespace actorhost {

namespace {

bool in_order(const CommitItem& a, const CommitItem& b) {
  return a.step != b.step ? a.step < b.step : a.worker < b.worker;
}

}  // namespace

PushMerger::PushMerger(RunId run, uint32_t shards, const MergePolicy& policy, uint64_t updates, Progress& progress,
                       ParamShard& own, std::vector<Frame>& out)
    : run_(run), shards_(shards), policy_(policy), progress_(progress), own_(own), out_(out), updates_(updates) {}

void PushMerger::on_push(NodeId worker, uint64_t step, Arrival arrival) {
  newest_ = std::max(newest_, step);
  switch (arrival) {
    case Arrival::applied: ++updates_; return settle(worker, step, true);
    case Arrival::staged: return merge_item({worker, step, 1});
    case Arrival::held: return staged_.push_back({worker, step, 1});
  }
}

void PushMerger::commit(std::vector<CommitItem> items, bool mean) {
  if (items.empty()) return;
  updates_ += items.size();
  for (const CommitItem& item : items) settle(item.worker, item.step, true);
  const Commit commit{run_, mean, std::move(items)};
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

void PushMerger::merge_item(CommitItem item) {
  const uint64_t staleness = newest_ > item.step ? newest_ - item.step : 0;
  switch (policy_.kind) {
    case MergePolicy::Kind::all:
    case MergePolicy::Kind::mean: return commit({item}, false);
    case MergePolicy::Kind::drop:
      if (staleness <= policy_.later_than) return commit({item}, false);
      ++dropped_;
      settle(item.worker, item.step, false);
      return discard(item.worker, Discard::Extent::one, item.step);
    case MergePolicy::Kind::scale:
      item.scale = std::pow(1 + static_cast<double>(staleness), -policy_.exponent);
      return commit({item}, false);
    case MergePolicy::Kind::buffer:
      item.scale = 1 / static_cast<double>(policy_.k);
      buffered_.push_back(item);
      if (buffered_.size() >= policy_.k) commit(std::exchange(buffered_, {}), true);
      return progress_.set_buffered(buffered_.size());
  }
}

void PushMerger::flush_staged(uint64_t below) {
  std::sort(staged_.begin(), staged_.end(), in_order);
  const auto end = std::find_if(staged_.begin(), staged_.end(), [&](const auto& item) { return item.step >= below; });
  std::vector<CommitItem> items(staged_.begin(), end);
  staged_.erase(staged_.begin(), end);
  // Makes one commit for the whole barrier if the policy allows it.
  if (policy_.kind == MergePolicy::Kind::all) return commit(std::move(items), false);
  if (policy_.kind == MergePolicy::Kind::mean) return commit_means(items);
  for (const CommitItem& item : items) merge_item(item);
}

void PushMerger::flush_buffered() {
  commit(std::exchange(buffered_, {}), true);
  progress_.set_buffered(0);
}

// Makes one update for each clock. `items` are in order.
void PushMerger::commit_means(const std::vector<CommitItem>& items) {
  for (auto first = items.begin(); first != items.end();) {
    const auto last =
        std::find_if(first, items.end(), [&](const CommitItem& item) { return item.step != first->step; });
    std::vector<CommitItem> round(first, last);
    for (CommitItem& item : round) item.scale = 1 / static_cast<double>(round.size());
    commit(std::move(round), true);
    first = last;
  }
}

std::optional<uint64_t> PushMerger::take_number(NodeId worker, uint64_t step) {
  const auto number = numbers_.extract({worker, step});
  return number.empty() ? std::nullopt : std::optional(number.mapped());
}

void PushMerger::settle(NodeId worker, uint64_t step, bool merged) {
  if (const auto number = take_number(worker, step)) outcomes_.push_back({worker, *number, merged});
}

}  // namespace actorhost
