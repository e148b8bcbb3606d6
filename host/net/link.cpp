#include "host/net/link.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "host/base/printable.hpp"
#include "host/net/handshake.hpp"
#include "host/net/shared_stream.hpp"

namespace actorhost {

Link::Link(LinkId id, bool dialled, std::unique_ptr<Stream> stream, size_t max_queued_bytes, const FrameLimits& limits,
           const Directory& directory)
    : id_(id),
      dialled_(dialled),
      stream_(std::move(stream)),
      peer_(stream_->peer()),
      writer_(*stream_, max_queued_bytes),
      directory_(directory),
      reader_(limits, [&directory](const Frame& head, size_t bytes) { return directory.room_for(head, bytes); }),
      last_received_(clock_.now()) {}

// Stops the stream first: the stream calls the writer, which is destroyed before the stream.
Link::~Link() { stream_->stop(); }

Status Link::prove(const std::string& token, const std::string& name, double seconds, bool share_memory) {
  const double deadline = clock_.now() + seconds;
  const auto side = dialled_ ? Handshake::Side::dialler : Handshake::Side::listener;
  const bool shares = share_memory && stream_->on_one_machine() && !(dialled_ && is_reading_token(token));
  Handshake handshake(side, token, Handshake::fresh_nonce(), name, shares);
  std::array<std::byte, Handshake::kMaxMessageBytes> message;
  bool replied = false;
  for (;;) {
    std::string out = handshake.output();
    const Piece sent{reinterpret_cast<std::byte*>(out.data()), out.size()};
    const IoResult wrote = stream_->send_all(sent, clock_, deadline);
    if (wrote.end != IoEnd::done) return handshake_error(wrote, name, seconds, replied);
    if (handshake.wanted() == 0) break;
    const Piece room{message.data(), handshake.wanted()};
    const IoResult got = stream_->receive_all(room, clock_, deadline);
    if (got.end != IoEnd::done) return handshake_error(got, name, seconds, replied);
    replied = true;
    Status status = handshake.input({message.data(), room.size});
    if (status.ok()) continue;
    out = handshake.output();
    const Piece refusal{reinterpret_cast<std::byte*>(out.data()), out.size()};
    stream_->send_all(refusal, clock_, deadline);
    return status;
  }
  reads_only_ = handshake.reads_only();
  if (handshake.both_share()) AH_TRY(share(deadline));
  last_received_.store(clock_.now(), std::memory_order_relaxed);
  return {};
}

/// Continues through shared memory, if possible.
Status Link::share(double deadline) {
  const auto role = dialled_ ? MemoryRole::maker : MemoryRole::opener;
  auto memory = share_memory(*stream_, role, clock_, deadline);
  std::lock_guard lock(mutex_);
  if (closed_) return Error{Code::interrupted, "the connection to " + peer_ + " was cancelled"};
  if (memory.ok()) {
    stream_ = shared_stream(std::move(stream_), *std::move(memory), role);
    writer_.use(*stream_);
  } else if (memory.error().code == Code::unreachable) {
    return memory.error();
  } else {
    sharing_problem_ = memory.error().message;
  }
  return {};
}

Error Link::handshake_error(const IoResult& result, const std::string& name, double seconds, bool replied) const {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return {Code::interrupted, "the connection to " + name + " was cancelled"};
  }
  if (result.end == IoEnd::timed_out) {
    return {Code::timeout,
            name + " does not answer as an actorhost within " + seconds_text(std::round(10 * seconds) / 10)};
  }
  if (result.end != IoEnd::closed) {
    return {Code::refused, name + " does not answer as an actorhost (" + io_message(result) + ")"};
  }
  // The other end has sent no wrong reply. It may be busy or about to end, so a retry may succeed.
  if (replied) return {Code::unreachable, name + " ended the connection before the token was proved"};
  // Over TLS, NNG may close before it has sent the alert that names the problem.
  const std::string otherwise = stream_->tls() ? std::string("or ") + kTlsFailed : "wants TLS, or is another program";
  return {
      Code::unreachable,
      name + " does not answer as an actorhost (it ended the connection without a reply): it is busy, " + otherwise};
}

std::string Link::read(const Take& take) {
  constexpr uint64_t kReadsPerClock = 16;
  for (;;) {
    uint64_t reads = 0;
    {
      std::lock_guard lock(reading_);
      while (!over_ && receive(take)) {
        // Not for each read: in a rehearsal the clock takes time, and the number of reads depends on the sizes of
        // frames.
        if (reads++ % kReadsPerClock == 0) last_received_.store(clock_.now(), std::memory_order_relaxed);
      }
      if (over_) return reason_or(*over_);
    }
    stream_->wait_readable(kForever);
  }
}

bool Link::poll(const Take& take) {
  std::unique_lock lock(reading_, std::try_to_lock);
  if (!lock || over_ || polls_paused_.load(std::memory_order_relaxed) || !receive(take)) return false;
  last_received_.store(clock_.now(), std::memory_order_relaxed);
  // The link's own thread waits for the end of the stream, and then ends the link.
  if (over_) stream_->close();
  return true;
}

void Link::set_reader(StreamReader reader) {
  std::lock_guard lock(mutex_);
  stream_->set_reader(polls_paused_.load(std::memory_order_relaxed) ? StreamReader::thread : reader);
}

void Link::pause_polls(Address dst) {
  polls_paused_.store(true, std::memory_order_relaxed);
  set_reader(StreamReader::thread);
  directory_.when_room(dst, [weak = weak_from_this()] {
    if (const auto link = weak.lock()) link->polls_paused_.store(false, std::memory_order_relaxed);
  });
}

/// False if no bytes have arrived.
bool Link::receive(const Take& take) {
  std::array<Piece, 2> pieces;
  const IoResult got = stream_->receive_now(pieces.data(), reader_.room(pieces));
  if (got.end == IoEnd::would_block) return false;
  if (got.end != IoEnd::done) {
    over_ = io_message(got);
    return true;
  }
  bytes_received_.fetch_add(got.bytes, std::memory_order_relaxed);
  const Status status = reader_.received(got.bytes, frames_);
  frames_received_.fetch_add(frames_.size(), std::memory_order_relaxed);
  if (!take(frames_)) {
    over_ = "closed by the peer";
  } else if (!status.ok()) {
    over_ = "malformed frame: " + status.error().message;
  }
  frames_.clear();
  return true;
}

bool Link::wait_for_room(Address dst) {
  {
    std::lock_guard lock(mutex_);
    room_ = false;
  }
  held_back_.store(true, std::memory_order_relaxed);
  directory_.when_room(dst, [weak = weak_from_this()] {
    const auto link = weak.lock();
    if (!link) return;
    {
      std::lock_guard lock(link->mutex_);
      link->room_ = true;
    }
    link->changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return room_ || closed_; });
  last_received_.store(clock_.now(), std::memory_order_relaxed);
  held_back_.store(false, std::memory_order_relaxed);
  return !closed_;
}

void Link::close(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (!closed_) reason_ = reason;
    closed_ = true;
    stream_->close();
  }
  changed_.notify_all();
}

void Link::finish(double seconds) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    if (reason_.empty()) reason_ = "finished";
  }
  Frame farewell;
  farewell.kind = Kind::farewell;
  const auto outcome = writer_.put(std::move(farewell), Mailbox::kUrgentFactor);
  if (outcome.write) writer_.write();
  stream_->close_later(seconds);
}

double Link::last_received() const noexcept {
  return held_back_.load(std::memory_order_relaxed) ? clock_.now() : last_received_.load(std::memory_order_relaxed);
}

std::string Link::reason_or(const std::string& otherwise) const {
  std::lock_guard lock(mutex_);
  return reason_.empty() ? otherwise : reason_;
}

}  // namespace actorhost
