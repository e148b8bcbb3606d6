#include "host/net/link_writer.hpp"

#include <array>
#include <utility>

namespace actorhost {

namespace {

// Larger batches of small frames gain nothing and leave the cache.
constexpr size_t kMaxCopied = size_t{1} << 20;
// Number of bytes that a sender writes itself while the stream accepts them; NNG's threads write the rest.
constexpr size_t kMaxAtOnce = size_t{1} << 20;
// Seconds that a busy link waits before it writes the next batch.
constexpr double kGatherSeconds = 20e-6;
constexpr size_t kGatheredBytes = size_t{32} << 10;
// A batch above this size is worth its own write.
constexpr size_t kLargeBatch = size_t{64} << 10;

}  // namespace

LinkWriter::LinkWriter(Stream& stream, size_t max_queued_bytes)
    : stream_(&stream), max_queued_bytes_(max_queued_bytes) {
  use(stream);
}

void LinkWriter::use(Stream& stream) {
  stream_ = &stream;
  stream_->on_sent([this](IoResult result) { sent(result); });
}

bool LinkWriter::has_room(size_t cost, size_t bound_factor) const {
  const size_t queued = filling_.bytes() + in_flight_bytes_.load(std::memory_order_relaxed);
  if (queued == 0) return true;
  return filling_.copied_bytes() < bound_factor * kMaxCopied && queued + cost <= bound_factor * max_queued_bytes_;
}

LinkWriter::Outcome LinkWriter::put(Frame&& frame, size_t bound_factor) {
  std::lock_guard lock(mutex_);
  if (closed_) return {Mailbox::Put::closed, false};
  if (!has_room(frame.cost(), bound_factor)) return {Mailbox::Put::full, false};
  filling_.add(frame);
  [[maybe_unused]] const Frame taken = std::move(frame);
  if (writing_) return {Mailbox::Put::ok, false};
  writing_ = true;
  return {Mailbox::Put::ok, true};
}

void LinkWriter::write() {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    const bool large = filling_.bytes() > kLargeBatch;
    const double quiet = stream_->quiet_seconds();
    at_once_ = !stream_->tls() && (large || quiet == 0 || clock_.now() - last_written_ > quiet);
    std::swap(filling_, in_flight_);
    in_flight_bytes_.store(in_flight_.bytes(), std::memory_order_relaxed);
  }
  if (at_once_ && write_now()) return;
  start_write();
}

/// True when nothing is left to write or the link has failed.
bool LinkWriter::write_now() {
  at_once_ = false;
  std::array<Piece, kMaxPieces> pieces;
  for (size_t written = 0; !in_flight_.done();) {
    if (written >= kMaxAtOnce) return false;
    const size_t count = in_flight_.pieces(pieces);
    const IoResult result = stream_->send_now(pieces.data(), count);
    if (result.end == IoEnd::would_block) return false;
    if (result.end != IoEnd::done) {
      fail();
      return true;
    }
    in_flight_.advance(result.bytes);
    written += result.bytes;
  }
  return !next_batch();
}

void LinkWriter::start_write() {
  std::array<Piece, kMaxPieces> pieces;
  const size_t count = in_flight_.pieces(pieces);
  if (!stream_->start_send(pieces.data(), count)) fail();
}

void LinkWriter::sent(IoResult result) {
  if (result.end != IoEnd::done) return fail();
  in_flight_.advance(result.bytes);
  if (in_flight_.done() && in_flight_.bytes() <= kLargeBatch && stream_->quiet_seconds() > 0) gather();
  if (!in_flight_.done() || next_batch()) start_write();
}

/// Lets the next batch grow: on a busy link the wake-ups of both ends for each write cost more than the bytes. Yields
/// the core meanwhile.
void LinkWriter::gather() const {
  if (TaskScheduler::installed() != nullptr) return Task::sleep(kGatherSeconds);
  const double until = clock_.now() + kGatherSeconds;
  do {
    {
      std::lock_guard lock(mutex_);
      if (filling_.bytes() >= kGatheredBytes || closed_) return;
    }
    Task::yield();
  } while (clock_.now() < until);
}

bool LinkWriter::next_batch() {
  std::vector<std::function<void()>> callbacks;
  bool more = false;
  const uint64_t frames = in_flight_.frames();
  const uint64_t bytes = in_flight_.bytes();
  in_flight_.clear();  // outside the lock, since this notifies the lenders of bodies
  {
    std::lock_guard lock(mutex_);
    counters_.frames += frames;
    counters_.bytes += bytes;
    ++counters_.writes;
    more = !filling_.empty() && !closed_;
    if (more) {
      std::swap(filling_, in_flight_);
    } else {
      writing_ = false;
      last_written_ = clock_.now();
    }
    in_flight_bytes_.store(in_flight_.bytes(), std::memory_order_relaxed);
    callbacks.swap(room_callbacks_);
  }
  for (const auto& callback : callbacks) callback();
  return more;
}

/// Drops all queued frames. For the writing thread.
void LinkWriter::fail() {
  stream_->close();
  close();
  in_flight_.clear();
}

void LinkWriter::when_room(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (writing_ && !closed_) {
      room_callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void LinkWriter::close() {
  std::vector<std::function<void()>> callbacks;
  SendBatch dropped;  // freed outside the lock, as in next_batch
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    std::swap(filling_, dropped);
    callbacks.swap(room_callbacks_);
  }
  for (const auto& callback : callbacks) callback();
}

LinkWriter::Counters LinkWriter::counters() const {
  std::lock_guard lock(mutex_);
  Counters now = counters_;
  now.queued = filling_.bytes() + in_flight_bytes_.load(std::memory_order_relaxed);
  now.queued_frames = filling_.frames();
  return now;
}

}  // namespace actorhost
