#pragma once
// The future of a simulation: events by time, those of one time in the order in which they were added. A calendar queue
// (Brown 1988): time is cut into buckets of equal width, an event goes into the list of its bucket at O(1), and only
// the bucket of the present is kept as a heap. Width and number of buckets follow the events that are there, so an
// operation costs O(1) on average. Where no width suits (many events at one time), the heap of the present bears them
// at O(log n). One thread.

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
    if (++size_ > 2 * heads_.size()) rebuild();
    const uint64_t bucket = bucket_of(time);
    if (bucket >= open_) {
      add_to_bucket(event, bucket);
    } else {
      add_to_front(event);
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
    uint32_t next = kNone;  // in its bucket's list, or in the free list
  };

  static constexpr double kFarthest = 0x1.0p62;  // bucket of whatever is farther

  uint64_t bucket_of(double time) const noexcept {
    const double bucket = time * per_second_;
    return bucket < kFarthest ? static_cast<uint64_t>(bucket) : static_cast<uint64_t>(kFarthest);
  }
  void add_to_bucket(const SimEvent& event, uint64_t bucket) {
    uint32_t at = free_;
    if (at == kNone) {
      at = static_cast<uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      free_ = pool_[at].next;
    }
    const size_t list = bucket & (heads_.size() - 1);
    pool_[at] = {event, heads_[list]};
    heads_[list] = at;
    used_[list / 64] |= uint64_t{1} << (list % 64);
  }
  void add_to_front(const SimEvent& event);
  bool load_front();
  bool take_bucket(uint64_t bucket);
  void fetch_ahead(uint64_t bucket) const noexcept;
  uint64_t next_used(uint64_t bucket) const noexcept;
  void rebuild();
  bool badly_tuned() const noexcept;

  std::vector<Entry> pool_;
  uint32_t free_ = kNone;
  std::vector<uint32_t> heads_;      // of the buckets' lists; bucket b is at b modulo the number of lists
  std::vector<uint64_t> used_;       // a bit for each list that is not empty
  std::vector<SimEvent> front_;      // heap of the events before bucket open_; the lists hold the others
  std::vector<SimEvent> collected_;  // of rebuild
  uint64_t open_ = 0;
  double per_second_ = 1;  // buckets
  size_t size_ = 0;
  uint64_t order_ = 0;
  // Since the last look at the tuning:
  uint64_t popped_ = 0;
  uint64_t effort_ = 0;  // lists looked at and entries passed over
  uint64_t loads_ = 0;
  uint64_t loaded_ = 0;
  uint64_t patience_ = 1024;  // look at the tuning after so many pops
};

}  // namespace actorhost
