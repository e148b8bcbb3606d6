#pragma once
// The future of a simulation: events by time, those of one time in the order in which they were added. A calendar queue
// (Brown 1988): time is cut into buckets of equal width, an event goes into its bucket at O(1), and only the bucket of
// the present is kept as a heap. Width and number of buckets follow the events that are there, so an operation costs
// O(1) on average. Where no width suits (many events at one time), they lie in the heap of the present, at O(log n).
// One thread.

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

namespace actorhost {

struct SimEvent {
  double time = 0;
  uint64_t order = 0;  // of adding; the queue sets it
  uint32_t node = 0;
  uint32_t tag = 0;  // the owner's
};

class EventQueue {
 public:
  EventQueue();

  /// `time` is finite and not before that of the event taken last.
  void push(double time, uint32_t node, uint32_t tag) {
    assert(std::isfinite(time));
    const SimEvent event{time, order_++, node, tag};
    if (++size_ > 2 * count_) rebuild();
    const uint64_t bucket = bucket_of(time);
    if (bucket < open_) {
      add_to_front(event);
    } else if (near()) {
      add_to_bucket(event, bucket);
    } else {
      add_later(event, bucket);
    }
  }
  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }
  /// Of the earliest event; infinite when there is none.
  double next_time() {
    if (front_.empty() && !load_front()) return std::numeric_limits<double>::infinity();
    return front_.front().time;
  }
  /// The node of the earliest event; the queue must not be empty.
  uint32_t next_node() {
    if (front_.empty()) load_front();
    return front_.front().node;
  }
  /// Takes the earliest event out; the queue must not be empty.
  SimEvent pop();

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct alignas(32) Entry {  // never across two cache lines
    SimEvent event;
    uint32_t next = kNone;  // in its slot's list, or in the free list
  };
  // A slot of a large calendar: a cache line. Slots lie in the order of time, so the processor has usually fetched the
  // next line already.
  struct alignas(64) Slot {
    SimEvent first[2];
    uint32_t count = 0;     // of first
    uint32_t more = kNone;  // the list of the others
  };
  // An event that is not in its slot yet.
  struct Late {
    SimEvent event;
    uint64_t bucket = 0;
    bool there = false;
  };
  static constexpr size_t kLate = 8;

  // A small calendar lies in a near cache: its slots are lists only, since hiding the memory's latency would cost more
  // than it saves.
  bool near() const noexcept { return count_ <= kNear; }
  static constexpr size_t kNear = 4096;

  static constexpr double kFarthest = 0x1.0p62;  // bucket of whatever is farther

  uint64_t bucket_of(double time) const noexcept {
    const double bucket = time * per_second_;
    return bucket < kFarthest ? static_cast<uint64_t>(bucket) : static_cast<uint64_t>(kFarthest);
  }
  void add_to_bucket(const SimEvent& event, uint64_t bucket) {
    const size_t place = bucket & (count_ - 1);
    used_[place / 64] |= uint64_t{1} << (place % 64);
    if (near()) return add_to_list(event, lists_[place]);
    Slot& slot = slots_[place];
    if (slot.count < std::size(slot.first)) {
      slot.first[slot.count++] = event;
    } else {
      add_to_list(event, slot.more);
    }
  }
  // Its slot is fetched from memory while the next few events are handled.
  void add_later(const SimEvent& event, uint64_t bucket) {
    __builtin_prefetch(&slots_[bucket & (count_ - 1)], 1);
    Late& late = late_[lates_++ % kLate];
    if (late.there) add_to_bucket(late.event, late.bucket);
    late = {event, bucket, true};
    if (bucket < late_from_) late_from_ = bucket;
  }
  void add_late();
  void add_to_list(const SimEvent& event, uint32_t& list) {
    uint32_t at = free_;
    if (at == kNone) {
      at = static_cast<uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      free_ = pool_[at].next;
    }
    pool_[at] = {event, list};
    list = at;
  }
  void add_to_front(const SimEvent& event);
  template <typename Visit>
  void for_each_queued(Visit visit) const;
  bool load_front();
  bool take_bucket(uint64_t bucket);
  /// Moves what belongs to `bucket` to the front.
  void take_first(Slot& slot, uint64_t bucket);
  void take_list(uint32_t& list, uint64_t bucket);
  void fetch_ahead(uint64_t bucket) noexcept;
  uint64_t next_used(uint64_t bucket) const noexcept;
  void rebuild();
  bool badly_tuned() const noexcept;

  std::vector<Entry> pool_;
  uint32_t free_ = kNone;
  size_t count_ = 64;                // of slots; bucket b is at b modulo that
  std::vector<uint32_t> lists_;      // the slots of a near calendar
  std::vector<Slot> slots_;          // those of another
  std::vector<uint64_t> used_;       // a bit for each slot that is not empty
  std::vector<SimEvent> front_;      // heap of the events before bucket open_; the slots hold the others
  std::vector<SimEvent> collected_;  // of rebuild
  std::array<Late, kLate> late_;
  size_t lates_ = 0;
  uint64_t late_from_ = std::numeric_limits<uint64_t>::max();  // no late event is of an earlier bucket
  uint64_t fetched_ = 0;                                       // the last bucket whose list has been fetched ahead
  uint64_t open_ = 0;
  double per_second_ = 1;  // buckets
  size_t size_ = 0;
  uint64_t order_ = 0;
  // Since the last look at the tuning:
  uint64_t popped_ = 0;
  uint64_t effort_ = 0;  // slots looked at and entries passed over
  uint64_t loads_ = 0;
  uint64_t loaded_ = 0;
  uint64_t patience_ = 1024;  // look at the tuning after so many pops
};

}  // namespace actorhost
