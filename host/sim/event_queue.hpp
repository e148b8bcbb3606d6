#pragma once
// The pending events of a simulation, ordered by time; events of equal time keep the order of their insertion. A
// calendar queue (Brown 1988): time is divided into buckets of equal width, an insertion costs O(1), and only the
// current bucket is a heap. The queue adapts the width and the number of buckets to the stored events, so an operation
// costs O(1) on average. Where no width fits (many events at one time), the events are in the current heap, at
// O(log n). One thread.

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
  uint64_t order = 0;  // of insertion; set by the queue
  uint32_t node = 0;
  uint32_t tag = 0;  // for the owner
};

class EventQueue {
 public:
  EventQueue();

  /// `time` must be finite and not before the time of the last popped event.
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
  /// Time of the earliest event; infinity when the queue is empty.
  double next_time() {
    if (front_.empty() && !load_front()) return std::numeric_limits<double>::infinity();
    return front_.front().time;
  }
  /// Node of the earliest event; the queue must not be empty.
  uint32_t next_node() {
    if (front_.empty()) load_front();
    return front_.front().node;
  }
  /// Removes and returns the earliest event; the queue must not be empty.
  SimEvent pop();

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct alignas(32) Entry {  // never across two cache lines
    SimEvent event;
    uint32_t next = kNone;  // in its slot's list, or in the free list
  };
  // A slot of a large calendar: one cache line. Slots are in the order of time, so the processor has usually fetched
  // the next line already.
  struct alignas(64) Slot {
    SimEvent first[2];
    uint32_t count = 0;     // number of events in first
    uint32_t more = kNone;  // list of the further events
  };
  // An event that is not in its slot yet.
  struct Late {
    SimEvent event;
    uint64_t bucket = 0;
    bool pending = false;
  };
  static constexpr size_t kLate = 8;

  // A small calendar fits into a near cache. Its slots are only lists, since hiding the latency of memory would cost
  // more than it saves.
  bool near() const noexcept { return count_ <= kNear; }
  static constexpr size_t kNear = 4096;

  static constexpr double kFarthest = 0x1.0p62;  // bucket of all later events

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
  // Prefetches the event's slot; the slot arrives while the next few events are handled.
  void add_later(const SimEvent& event, uint64_t bucket) {
    __builtin_prefetch(&slots_[bucket & (count_ - 1)], 1);
    Late& late = late_[lates_++ % kLate];
    if (late.pending) add_to_bucket(late.event, late.bucket);
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
  /// Moves the events of `bucket` to the front.
  void take_first(Slot& slot, uint64_t bucket);
  void take_list(uint32_t& list, uint64_t bucket);
  void fetch_ahead(uint64_t bucket) noexcept;
  uint64_t next_used(uint64_t bucket) const noexcept;
  void rebuild();
  bool badly_tuned() const noexcept;

  std::vector<Entry> pool_;
  uint32_t free_ = kNone;
  size_t count_ = 64;                // number of slots; bucket b is in slot b modulo count_
  std::vector<uint32_t> lists_;      // slots of a small calendar
  std::vector<Slot> slots_;          // slots of a large calendar
  std::vector<uint64_t> used_;       // one bit for each slot; set: not empty
  std::vector<SimEvent> front_;      // heap of the events before bucket open_; the slots hold the other events
  std::vector<SimEvent> collected_;  // scratch of rebuild
  std::array<Late, kLate> late_;
  size_t lates_ = 0;
  uint64_t late_from_ = std::numeric_limits<uint64_t>::max();  // lowest bucket of a late event
  uint64_t fetched_ = 0;                                       // last bucket with a prefetched list
  uint64_t open_ = 0;
  double per_second_ = 1;  // buckets
  size_t size_ = 0;
  uint64_t order_ = 0;
  struct Work {
    uint64_t pops = 0;
    uint64_t effort = 0;  // slots checked and entries skipped
    uint64_t loads = 0;
    uint64_t loaded = 0;
  };
  Work work_;                 // since the last check of the tuning
  uint64_t patience_ = 1024;  // pops until the next check of the tuning
};

}  // namespace actorhost
