#include "host/sim/event_queue.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace actorhost {

namespace {

constexpr size_t kFewestLists = 64;      // one word of used_
constexpr double kPerBucket = 2;         // events that a new width aims at
constexpr uint64_t kMaxEffort = 4;       // a pop, before the width is looked at
constexpr uint64_t kMaxLoaded = 16;      // events in an average bucket
constexpr uint64_t kLongest = 1U << 22;  // patience

// The heap's order: the latest first, so that the heap's front is the earliest. An object, so that it is inlined.
constexpr auto later = [](const SimEvent& a, const SimEvent& b) noexcept {
  return a.time > b.time || (a.time == b.time && a.order > b.order);
};

}  // namespace

EventQueue::EventQueue() : heads_(kFewestLists, kNone), used_(1, 0) {}

void EventQueue::add_to_front(const SimEvent& event) {
  front_.push_back(event);
  std::push_heap(front_.begin(), front_.end(), later);
}

SimEvent EventQueue::pop() {
  if (front_.empty()) load_front();
  assert(!front_.empty());
  const SimEvent event = front_.front();
  if (front_.size() > 1) std::pop_heap(front_.begin(), front_.end(), later);
  front_.pop_back();
  --size_;
  if (++popped_ >= patience_) {
    if (badly_tuned()) rebuild();
    popped_ = effort_ = loads_ = loaded_ = 0;
  }
  return event;
}

bool EventQueue::load_front() {
  if (size_ == 0) return false;
  const uint64_t lists = heads_.size();
  for (uint64_t looked = 0; looked < lists;) {
    const uint64_t bucket = next_used(open_);
    looked += bucket - open_ + 1;
    ++effort_;
    if (take_bucket(bucket)) return true;
  }
  // Nothing within a turn of the calendar: straight to the earliest.
  effort_ += lists;
  uint64_t earliest = std::numeric_limits<uint64_t>::max();
  for (const uint32_t head : heads_) {
    for (uint32_t at = head; at != kNone; at = pool_[at].next)
      earliest = std::min(earliest, bucket_of(pool_[at].event.time));
  }
  return take_bucket(earliest);
}

// The first bucket from `bucket` on, within a turn, whose list is not empty; one turn ahead when there is none.
uint64_t EventQueue::next_used(uint64_t bucket) const noexcept {
  const uint64_t lists = heads_.size();
  const uint64_t start = bucket & (lists - 1);
  uint64_t word = used_[start / 64] >> (start % 64);
  if (word != 0) return bucket + static_cast<uint64_t>(std::countr_zero(word));
  uint64_t ahead = 64 - start % 64;
  for (; ahead < lists + 64; ahead += 64) {
    word = used_[((start + ahead) & (lists - 1)) / 64];
    if (word != 0) return bucket + ahead + static_cast<uint64_t>(std::countr_zero(word));
  }
  return bucket + lists;
}

// Entries lie in memory as they were freed, so each would be a cache miss: those of the buckets that come up are asked
// for while the present one is worked through, first the list's head, later what follows it.
void EventQueue::fetch_ahead(uint64_t bucket) const noexcept {
  const size_t mask = heads_.size() - 1;
  const auto follow = [this](uint32_t at) { return at == kNone ? kNone : pool_[at].next; };
  const auto fetch = [this](uint32_t at) {
    if (at != kNone) __builtin_prefetch(&pool_[at]);
  };
  fetch(heads_[(bucket + 9) & mask]);
  fetch(follow(heads_[(bucket + 6) & mask]));
  fetch(follow(follow(heads_[(bucket + 3) & mask])));
}

// Moves the events of `bucket` to the front; false when its list held only later turns'.
bool EventQueue::take_bucket(uint64_t bucket) {
  fetch_ahead(bucket);
  const size_t list = bucket & (heads_.size() - 1);
  uint32_t kept = kNone;
  for (uint32_t at = heads_[list]; at != kNone;) {
    Entry& entry = pool_[at];
    const uint32_t next = entry.next;
    if (bucket_of(entry.event.time) == bucket) {
      front_.push_back(entry.event);
      entry.next = free_;
      free_ = at;
    } else {
      entry.next = kept;
      kept = at;
      ++effort_;
    }
    at = next;
  }
  open_ = bucket + 1;
  heads_[list] = kept;
  if (kept == kNone) used_[list / 64] &= ~(uint64_t{1} << (list % 64));
  if (front_.empty()) return false;
  if (front_.size() > 1) std::make_heap(front_.begin(), front_.end(), later);
  ++loads_;
  loaded_ += front_.size();
  return true;
}

bool EventQueue::badly_tuned() const noexcept {
  return effort_ > kMaxEffort * popped_ || (loads_ > 0 && loaded_ > kMaxLoaded * loads_);
}

void EventQueue::rebuild() {
  collected_.clear();
  collected_.swap(front_);
  for (uint32_t& head : heads_) {
    for (uint32_t at = head; at != kNone; at = pool_[at].next) collected_.push_back(pool_[at].event);
    head = kNone;
  }
  pool_.clear();
  free_ = kNone;
  heads_.assign(std::max(kFewestLists, std::bit_ceil(collected_.size() + 1)), kNone);
  used_.assign(heads_.size() / 64, 0);
  if (collected_.size() > 1) {
    // The earlier half sets the width: what is far away must not make the near buckets crowded.
    const size_t half = collected_.size() / 2;
    const auto middle = collected_.begin() + static_cast<std::ptrdiff_t>(half);
    std::nth_element(collected_.begin(), middle, collected_.end(), [](auto& a, auto& b) { return a.time < b.time; });
    const double first =
        std::min_element(collected_.begin(), middle, [](auto& a, auto& b) { return a.time < b.time; })->time;
    const double span = middle->time - first;
    const double rate = static_cast<double>(half) / span / kPerBucket;
    if (span > 0 && rate < 1e15) {
      // The same again means that no width suits: look less often.
      if (rate < 2 * per_second_ && rate > per_second_ / 2) patience_ = std::min(2 * patience_, kLongest);
      per_second_ = rate;
    }
  }
  open_ = collected_.empty() ? 0 : std::numeric_limits<uint64_t>::max();
  for (const SimEvent& event : collected_) open_ = std::min(open_, bucket_of(event.time));
  for (const SimEvent& event : collected_) add_to_bucket(event, bucket_of(event.time));
}

}  // namespace actorhost
