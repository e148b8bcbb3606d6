#pragma once
// A bounded queue of frames with many writers and one reader (the thread that owns the address). The reader
// takes all that has arrived at once, so a burst costs one wake-up. Bounded by frames and by bytes; a frame
// larger than the byte bound is taken when the queue is empty. Writers that must not wait use try_push and
// ask to be told of room.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "host/base/clock.hpp"
#include "host/net/landings.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class Mailbox {
 public:
  enum class Put { ok, full, closed };
  /// Urgent frames fit within this many times the bounds.
  static constexpr size_t kUrgentTimes = 4;

  explicit Mailbox(size_t max_frames = size_t{1} << 16, size_t max_bytes = size_t{256} << 20);

  /// Takes `frame` (moved from only on `ok`). Never waits. Any thread.
  Put try_push(Frame&& frame);
  /// As try_push with kUrgentTimes the bounds: for control frames, which are few and must not be held up. Any
  /// thread.
  Put push_urgent(Frame&& frame);
  /// try_push (or push_urgent) of frames in a row until one is refused, under one lock and with one wake-up; `taken`
  /// says how many went in. Any thread.
  Put push_run(std::span<Frame> run, bool urgent, size_t& taken);
  /// As try_push, waiting for room for up to `seconds`. Any thread but the reader's.
  Put push(Frame&& frame, double seconds);

  /// Moves everything queued to the end of `out`, waiting up to `seconds` for the first frame. False when
  /// nothing came (time passed, `wake` was called, or the mailbox is closed and empty). An empty `out` trades
  /// places with the queue, so two vectors serve for ever without an allocation. Reader's thread only.
  bool pop_all(std::vector<Frame>& out, double seconds);

  /// Ends the reader's current or next wait without a frame. Any thread.
  void wake();
  /// No further frames are taken; queued ones can still be read; all waits end. Any thread.
  void close();
  bool closed() const;

  /// Calls `told` once when the reader has taken what is queued (on the reader's thread) or the mailbox is
  /// closed; at once when it is empty or closed now. To be used after a refusal, by callers that must not wait.
  /// Any thread.
  void when_room(std::function<void()> told);

  /// Where frames that come over a connection shall have their bodies.
  Landings& landings() noexcept { return landings_; }

  size_t frames() const;
  size_t bytes() const;

 private:
  using Told = std::vector<std::function<void()>>;

  Put offer(Frame&& frame, size_t times_bounds);
  bool has_room(size_t cost, size_t times_bounds) const;
  /// Adds the frame, unlocks, and wakes the reader if it waits and was not woken yet.
  void append(Frame&& frame, size_t cost, std::unique_lock<std::mutex>& lock);
  void take_all(std::vector<Frame>& out, std::unique_lock<std::mutex>& lock);

  const size_t max_frames_;
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable readable_;
  std::condition_variable writable_;
  std::vector<Frame> queue_;
  size_t bytes_ = 0;
  bool closed_ = false;
  bool woken_ = false;
  bool reader_waits_ = false;
  size_t writers_waiting_ = 0;
  Told want_room_;
  Landings landings_;
};

}  // namespace actorhost
