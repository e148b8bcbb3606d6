#include "host/net/mailbox.hpp"

#include <iterator>
#include <utility>

namespace actorhost {

Mailbox::Mailbox(size_t max_frames, size_t max_bytes) : max_frames_(max_frames), max_bytes_(max_bytes) {}

Mailbox::Put Mailbox::try_push(Frame&& frame) { return offer(std::move(frame), 1); }

Mailbox::Put Mailbox::push_urgent(Frame&& frame) { return offer(std::move(frame), kUrgentFactor); }

Mailbox::Put Mailbox::offer(Frame&& frame, size_t bound_factor) {
  const size_t cost = frame.cost();
  std::unique_lock lock(mutex_);
  if (closed_) return Put::closed;
  if (!has_room(cost, bound_factor)) return Put::full;
  append(std::move(frame), cost, lock);
  return Put::ok;
}

Mailbox::Put Mailbox::push_run(std::span<Frame> run, Bound bound, size_t& taken) {
  std::unique_lock lock(mutex_);
  for (taken = 0; taken < run.size() && !closed_; ++taken) {
    Frame& frame = run[taken];
    const size_t cost = frame.cost();
    if (bound != Bound::none && !has_room(cost, bound == Bound::urgent ? kUrgentFactor : 1)) break;
    queue_.push_back(std::move(frame));
    bytes_ += cost;
  }
  if (taken != 0) ready_.store(true, std::memory_order_release);
  const bool closed = closed_;
  const bool notify = taken != 0 && std::exchange(reader_waits_, false);
  lock.unlock();
  if (notify) wake_reader();
  if (closed) return Put::closed;
  return taken == run.size() ? Put::ok : Put::full;
}

Mailbox::Put Mailbox::push(Frame&& frame, double seconds) {
  const size_t cost = frame.cost();
  std::unique_lock lock(mutex_);
  if (!closed_ && !has_room(cost, 1)) {
    ++writers_waiting_;
    writable_.wait_for(lock, seconds, [&] { return closed_ || has_room(cost, 1); });
    --writers_waiting_;
  }
  if (closed_) return Put::closed;
  if (!has_room(cost, 1)) return Put::full;
  append(std::move(frame), cost, lock);
  return Put::ok;
}

bool Mailbox::has_room(size_t cost, size_t bound_factor) const {
  if (queue_.empty()) return true;
  return queue_.size() < bound_factor * max_frames_ && bytes_ + cost <= bound_factor * max_bytes_;
}

void Mailbox::append(Frame&& frame, size_t cost, std::unique_lock<std::mutex>& lock) {
  queue_.push_back(std::move(frame));
  bytes_ += cost;
  ready_.store(true, std::memory_order_release);
  const bool notify = std::exchange(reader_waits_, false);
  lock.unlock();
  if (notify) wake_reader();
}

bool Mailbox::pop_all(std::vector<Frame>& out, double seconds) {
  std::unique_lock lock(mutex_);
  if (queue_.empty() && seconds > 0) {
    // Set again after each wake-up without a frame, so that writers always know whether to notify.
    readable_.wait_for(lock, seconds, [&] {
      const bool ready = !queue_.empty() || woken_ || closed_;
      reader_waits_ = !ready;
      return ready;
    });
    reader_waits_ = false;
    woken_ = false;
    ready_.store(!queue_.empty() || closed_, std::memory_order_relaxed);
  }
  if (queue_.empty()) return false;
  take_all(out, lock);
  return true;
}

void Mailbox::wake_reader() {
  readable_.notify_one();
  bell_.ring_if_armed();
}

bool Mailbox::arm_bell() {
  std::lock_guard lock(mutex_);
  if (!queue_.empty() || woken_ || closed_) return false;
  bell_.arm(Bell::kAny);
  reader_waits_ = true;
  return true;
}

void Mailbox::disarm_bell() {
  std::lock_guard lock(mutex_);
  bell_.disarm(Bell::kAny);
  reader_waits_ = false;
}

void Mailbox::take_all(std::vector<Frame>& out, std::unique_lock<std::mutex>& lock) {
  const bool swapped = out.empty();
  if (swapped) {
    out.swap(queue_);
  } else {
    out.insert(out.end(), std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
    queue_.clear();
  }
  bytes_ = 0;
  ready_.store(woken_ || closed_, std::memory_order_relaxed);
  const bool notify = writers_waiting_ != 0;
  Callbacks callbacks;
  if (!room_callbacks_.empty()) callbacks.swap(room_callbacks_);
  lock.unlock();
  if (notify) writable_.notify_all();
  for (const auto& callback : callbacks) callback();
}

void Mailbox::wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
    ready_.store(true, std::memory_order_release);
  }
  wake_reader();
}

void Mailbox::close() {
  Callbacks callbacks;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    ready_.store(true, std::memory_order_release);
    callbacks.swap(room_callbacks_);
  }
  wake_reader();
  writable_.notify_all();
  for (const auto& callback : callbacks) callback();
}

bool Mailbox::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

void Mailbox::when_room(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (!queue_.empty() && !closed_) {
      room_callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

size_t Mailbox::frames() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

size_t Mailbox::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace actorhost
