#include "host/barrier/progress_sample.hpp"

#include <algorithm>

namespace actorhost {

namespace {

// A poll due at t may run at a t with another rounding: a different sum of the same numbers.
constexpr double kRounding = 1e-9;

void measure(const Progress& progress, Seen& seen) noexcept {
  if (seen.n == 0) return;
  const int32_t* steps = progress.steps();
  int32_t lowest = steps[seen.slots[0]];
  int32_t highest = lowest;
  for (uint32_t i = 1; i < seen.n; ++i) {
    const int32_t step = steps[seen.slots[i]];
    lowest = std::min(lowest, step);
    highest = std::max(highest, step);
  }
  seen.lowest = lowest;
  seen.highest = highest;
}

}  // namespace

Seen see_all(const Progress& progress) noexcept {
  Seen seen;
  seen.slots = progress.everyone();
  seen.n = progress.size();
  if (seen.n > 0) {
    seen.lowest = progress.min();
    seen.highest = progress.max();
  }
  return seen;
}

Sampler::Sampler(uint32_t beta, Resample resample, uint64_t seed, uint64_t salt)
    : beta_(beta), resample_(resample), seed_(seed), salt_(salt) {}

Sampler::State& Sampler::state_of(NodeId id) {
  const auto [at, fresh] = states_.try_emplace(id);
  if (fresh) at->second.rng = Rng(seed_, (salt_ << 32) | id);
  return at->second;
}

bool Sampler::stale(const State& state, const Progress& progress, Slot requester, double now,
                    uint64_t from_version) const {
  if (state.ticket != progress.tickets()[requester] || state.version == 0) return true;
  if (state.from_version != from_version) return true;
  switch (resample_.kind) {
    case Resample::Kind::event: return state.events != progress.events() || state.layout != progress.layout();
    case Resample::Kind::poll: return now >= state.drawn_at + resample_.seconds - kRounding;
    case Resample::Kind::sticky: break;
  }
  return false;
}

void Sampler::draw(State& state, const Progress& progress, const Seen& from, Seen& seen) {
  const uint32_t known = static_cast<uint32_t>(permutation_.size());
  for (uint32_t i = known; i < from.n; ++i) permutation_.push_back(i);
  state.slots.resize(beta_);
  state.rng.sample(std::span(permutation_).first(from.n), beta_, state.slots.data());
  // Only the first beta places and the places of the drawn numbers have changed, so restoring the identity costs
  // O(beta).
  uint32_t* permutation = permutation_.data();
  const int32_t* steps = progress.steps();
  int32_t lowest = std::numeric_limits<int32_t>::max();
  int32_t highest = std::numeric_limits<int32_t>::min();
  uint32_t i = 0;
  for (Slot& slot : state.slots) {
    permutation[i] = i;
    ++i;
    permutation[slot] = slot;
    slot = from.slots[slot];
    lowest = std::min(lowest, steps[slot]);
    highest = std::max(highest, steps[slot]);
  }
  if (beta_ > 0) {
    seen.lowest = lowest;
    seen.highest = highest;
  }
  if (resample_.kind != Resample::Kind::sticky) return;
  state.ids.clear();
  for (const Slot slot : state.slots) state.ids.push_back(progress.ids()[slot]);
}

void Sampler::replace_lost(State& state, const Progress& progress, const Seen& from) {
  std::erase_if(state.ids, [&](NodeId id) { return progress.slot(id) == kNoSlot; });
  std::vector<NodeId> others;
  for (uint32_t i = 0; i < from.n && state.ids.size() < beta_; ++i) {
    const NodeId id = progress.ids()[from.slots[i]];
    if (std::find(state.ids.begin(), state.ids.end(), id) == state.ids.end()) others.push_back(id);
  }
  while (state.ids.size() < beta_ && !others.empty()) {
    const auto at = static_cast<size_t>(state.rng.below(others.size()));
    state.ids.push_back(others[at]);
    others[at] = others.back();
    others.pop_back();
  }
  state.slots.clear();
  for (const NodeId id : state.ids) state.slots.push_back(progress.slot(id));
}

void Sampler::sample(const Progress& progress, Slot requester, double now, const Seen& from, Seen& seen) {
  if (beta_ >= from.n && resample_.kind != Resample::Kind::poll) {
    seen = from;  // there are at most beta workers: no draw
    return;
  }
  State& state = state_of(progress.ids()[requester]);
  const bool fresh = stale(state, progress, requester, now, from.version);
  seen = Seen{};
  if (fresh) {
    if (beta_ < from.n) draw(state, progress, from, seen);
    state.ticket = progress.tickets()[requester];
    state.events = progress.events();
    state.layout = progress.layout();
    state.from_version = from.version;
    state.drawn_at = now;
    ++state.version;
  } else if (state.layout != progress.layout() && resample_.kind == Resample::Kind::sticky) {
    replace_lost(state, progress, from);
    state.layout = progress.layout();
  }
  seen.version = state.version;
  if (resample_.kind == Resample::Kind::poll) {
    seen.recheck_seconds = state.drawn_at + resample_.seconds - now;
    seen.held = fresh ? 0 : 1;
  }
  if (seen.held != 0) return;
  seen.slots = beta_ < from.n ? state.slots.data() : from.slots;
  seen.n = std::min(beta_, from.n);
  if (!fresh || beta_ >= from.n) measure(progress, seen);
}

}  // namespace actorhost
