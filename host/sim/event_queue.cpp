#include "host/sim/event_queue.hpp"

#include <algorithm>
#include <bit>

namespace actorhost {

namespace {

constexpr size_t kFewestSlots = 64;      // one word of used_
constexpr double kPerBucket = 1;         // target number of events in a bucket
constexpr uint64_t kMaxEffort = 4;       // of a pop, before a rebuild
constexpr uint64_t kMaxLoaded = 16;      // events in an average bucket
constexpr uint64_t kLongest = 1U << 22;  // maximum of patience_
constexpr uint64_t kListsAhead = 4;      // buckets ahead at which entries of lists are prefetched
constexpr uint64_t kSlotsAhead = 4;      // further buckets ahead at which the slots are prefetched

// The heap's order: the latest event first, so that the heap's front is the earliest. An object, so that it is inlined.
constexpr auto later = [](const SimEvent& a, const SimEvent& b) noexcept {
  return a.time > b.time || (a.time == b.time && a.order > b.order);
};

}  // namespace

EventQueue::EventQueue() : count_(kFewestSlots), lists_(kFewestSlots, kNone), used_(1, 0) {}

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
  if (++work_.pops >= patience_) {
    if (badly_tuned()) rebuild();
    work_ = {};
  }
  return event;
}

void EventQueue::add_late() {
  for (Late& late : late_) {
    if (late.pending) add_to_bucket(late.event, late.bucket);
    late.pending = false;
  }
  late_from_ = std::numeric_limits<uint64_t>::max();
}

/// Visits all events in any order, except front_ and late_.
template <typename Visit>
void EventQueue::for_each_queued(Visit visit) const {
  const auto list = [&](uint32_t first) {
    for (uint32_t at = first; at != kNone; at = pool_[at].next) visit(pool_[at].event);
  };
  for (const uint32_t first : lists_) list(first);
  for (const Slot& slot : slots_) {
    std::for_each_n(slot.first, slot.count, visit);
    list(slot.more);
  }
}

bool EventQueue::load_front() {
  if (size_ == 0) return false;
  const uint64_t slots = count_;
  for (uint64_t scanned = 0; scanned < slots;) {
    uint64_t bucket = next_used(open_);
    if (late_from_ <= bucket) {
      add_late();
      bucket = next_used(open_);
    }
    scanned += bucket - open_ + 1;
    ++work_.effort;
    if (take_bucket(bucket)) return true;
  }
  // No event is within one turn of the calendar: continues at the earliest event.
  add_late();
  work_.effort += slots;
  uint64_t earliest = std::numeric_limits<uint64_t>::max();
  for_each_queued([&](const SimEvent& event) { earliest = std::min(earliest, bucket_of(event.time)); });
  return take_bucket(earliest);
}

// Returns the first bucket from `bucket` on with a non-empty slot, within one turn; one turn ahead when there is none.
uint64_t EventQueue::next_used(uint64_t bucket) const noexcept {
  const uint64_t slots = count_;
  const uint64_t start = bucket & (slots - 1);
  uint64_t word = used_[start / 64] >> (start % 64);
  if (word != 0) return bucket + static_cast<uint64_t>(std::countr_zero(word));
  uint64_t ahead = 64 - start % 64;
  for (; ahead < slots + 64; ahead += 64) {
    word = used_[((start + ahead) & (slots - 1)) / 64];
    if (word != 0) return bucket + ahead + static_cast<uint64_t>(std::countr_zero(word));
  }
  return bucket + slots;
}

// Prefetches entries of lists. Entries are in memory in the order of their release, so each access would be a
// cache miss. The entries of the next buckets arrive while the current bucket is handled.
void EventQueue::fetch_ahead(uint64_t bucket) noexcept {
  const size_t mask = count_ - 1;
  for (uint64_t next = std::max(fetched_, bucket) + 1; next <= bucket + kListsAhead; ++next) {
    __builtin_prefetch(&slots_[(next + kSlotsAhead) & mask]);
    const uint32_t more = slots_[next & mask].more;
    if (more != kNone) __builtin_prefetch(&pool_[more]);
  }
  fetched_ = bucket + kListsAhead;
}

// Moves the events of `bucket` to the front; false when its slot held only events of later turns.
bool EventQueue::take_bucket(uint64_t bucket) {
  const size_t place = bucket & (count_ - 1);
  bool emptied = false;
  if (near()) {
    take_list(lists_[place], bucket);
    emptied = lists_[place] == kNone;
  } else {
    fetch_ahead(bucket);
    Slot& slot = slots_[place];
    take_first(slot, bucket);
    if (slot.more != kNone) take_list(slot.more, bucket);
    emptied = slot.count == 0 && slot.more == kNone;
  }
  open_ = bucket + 1;
  if (emptied) used_[place / 64] &= ~(uint64_t{1} << (place % 64));
  if (front_.empty()) return false;
  if (front_.size() > 1) std::make_heap(front_.begin(), front_.end(), later);
  ++work_.loads;
  work_.loaded += front_.size();
  return true;
}

void EventQueue::take_first(Slot& slot, uint64_t bucket) {
  uint32_t remaining = 0;
  for (uint32_t i = 0; i < slot.count; ++i) {
    if (bucket_of(slot.first[i].time) == bucket) {
      front_.push_back(slot.first[i]);
    } else {
      slot.first[remaining++] = slot.first[i];
    }
  }
  slot.count = remaining;
  work_.effort += remaining;
}

void EventQueue::take_list(uint32_t& list, uint64_t bucket) {
  uint32_t remaining = kNone;
  for (uint32_t at = list; at != kNone;) {
    Entry& entry = pool_[at];
    const uint32_t next = entry.next;
    if (bucket_of(entry.event.time) == bucket) {
      front_.push_back(entry.event);
      entry.next = free_;
      free_ = at;
    } else {
      entry.next = remaining;
      remaining = at;
      ++work_.effort;
    }
    at = next;
  }
  list = remaining;
}

bool EventQueue::badly_tuned() const noexcept {
  return work_.effort > kMaxEffort * work_.pops || (work_.loads > 0 && work_.loaded > kMaxLoaded * work_.loads);
}

void EventQueue::rebuild() {
  add_late();
  collected_.clear();
  collected_.swap(front_);
  for_each_queued([this](const SimEvent& event) { collected_.push_back(event); });
  pool_.clear();
  free_ = kNone;
  count_ = std::max(kFewestSlots, std::bit_ceil(collected_.size() + 1));
  lists_.assign(near() ? count_ : 0, kNone);
  slots_.assign(near() ? 0 : count_, Slot());
  used_.assign(count_ / 64, 0);
  if (collected_.size() > 1) {
    // The earlier half of the events sets the width, so that distant events do not crowd the near buckets.
    const size_t half = collected_.size() / 2;
    const auto middle = collected_.begin() + static_cast<std::ptrdiff_t>(half);
    std::nth_element(collected_.begin(), middle, collected_.end(), [](auto& a, auto& b) { return a.time < b.time; });
    const double first =
        std::min_element(collected_.begin(), middle, [](auto& a, auto& b) { return a.time < b.time; })->time;
    const double span = middle->time - first;
    const double rate = static_cast<double>(half) / span / kPerBucket;
    if (span > 0 && rate < 1e15) {
      // The same width again means that no width fits: checks the tuning less often.
      if (rate < 2 * per_second_ && rate > per_second_ / 2) patience_ = std::min(2 * patience_, kLongest);
      per_second_ = rate;
    }
  }
  fetched_ = 0;
  open_ = collected_.empty() ? 0 : std::numeric_limits<uint64_t>::max();
  for (const SimEvent& event : collected_) open_ = std::min(open_, bucket_of(event.time));
  for (const SimEvent& event : collected_) add_to_bucket(event, bucket_of(event.time));
}

}  // namespace actorhost
