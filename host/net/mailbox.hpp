#pragma once
// A bounded queue of frames with many writers and one reader, the thread that owns the address. The reader takes all
// queued frames at once, so a burst costs one wake-up. Bounded by frames and bytes; an empty queue accepts a frame
// above the byte bound. Writers that must not block use try_push and when_room.

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "host/base/tasks.hpp"
#include "host/net/bell.hpp"
#include "host/net/receive_buffers.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class Mailbox {
 public:
  enum class Put { ok, full, closed };
  /// Control frames are bounded by this multiple of the bounds.
  static constexpr size_t kUrgentFactor = 4;

  explicit Mailbox(size_t max_frames = size_t{1} << 16, size_t max_bytes = size_t{256} << 20);

  /// Queues the frame (moved from only on `ok`). Never blocks. Thread-safe.
  Put try_push(Frame&& frame);
  /// Like try_push, with kUrgentFactor times the bounds: for control frames, which are few and must not wait.
  /// Thread-safe.
  Put push_urgent(Frame&& frame);
  enum class Bound { normal, urgent, none };
  /// Like try_push (or push_urgent, or without bounds) for consecutive frames until one is refused, with one lock and
  /// one wake-up. `taken`: number of queued frames. Thread-safe.
  Put push_run(std::span<Frame> run, Bound bound, size_t& taken);
  /// Like try_push, but blocks up to `seconds` while the mailbox is full. Must not run on the reader's thread.
  Put push(Frame&& frame, double seconds);

  /// Appends all queued frames to `out`; blocks up to `seconds` for the first. False without a frame (the time is over,
  /// `wake` was called, or the mailbox is closed and empty). An empty `out` is swapped with the queue, so two vectors
  /// alternate without allocations. Reader's thread only.
  bool pop_all(std::vector<Frame>& out, double seconds);

  /// Whether pop_all would return at once. Thread-safe; takes no lock.
  bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }

  /// For a reader that also waits for other events. Between `arm_bell` and `disarm_bell` the bell rings when the
  /// mailbox becomes ready. `arm_bell` returns false if the mailbox is ready. Reader's thread only.
  const Bell& bell() const noexcept { return bell_; }
  bool arm_bell();
  void disarm_bell();

  /// Ends the reader's current or next wait without a frame. Thread-safe.
  void wake();
  /// Refuses further frames; queued frames can still be read; all waits end. Thread-safe.
  void close();
  bool closed() const;

  /// Calls the callback once, when the reader has emptied the queue (on the reader's thread) or the mailbox is closed;
  /// at once if it is already empty or closed. For callers that must not block, after a refusal. Thread-safe.
  void when_room(std::function<void()> callback);

  /// The receive buffers for bodies that arrive over a connection.
  ReceiveBuffers& receive_buffers() noexcept { return receive_buffers_; }

  size_t frames() const;
  size_t bytes() const;

 private:
  using Callbacks = std::vector<std::function<void()>>;

  Put offer(Frame&& frame, size_t bound_factor);
  bool has_room(size_t cost, size_t bound_factor) const;
  /// Queues the frame, unlocks, and wakes the reader if it waits.
  void append(Frame&& frame, size_t cost, std::unique_lock<std::mutex>& lock);
  void take_all(std::vector<Frame>& out, std::unique_lock<std::mutex>& lock);
  void wake_reader();

  const size_t max_frames_;
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  WaitPoint readable_;
  Bell bell_;
  WaitPoint writable_;
  std::vector<Frame> queue_;
  size_t bytes_ = 0;
  bool closed_ = false;
  bool woken_ = false;
  std::atomic<bool> ready_{false};  // frames are queued, or woken_ or closed_ is set
  bool reader_waits_ = false;
  size_t writers_waiting_ = 0;
  Callbacks room_callbacks_;
  ReceiveBuffers receive_buffers_;
};

}  // namespace actorhost
