#include "host/net/shared_stream.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "host/base/spin_wait.hpp"
#include "host/base/tasks.hpp"
#include "host/net/shared_ring.hpp"

namespace actorhost {

namespace {

constexpr IoResult kSharedClosed{IoEnd::closed, 0, "closed"};
constexpr IoResult kSharedLost{IoEnd::closed, 0, "connection shut down"};
// After a read of this size more bytes are likely to follow at once.
constexpr size_t kLargeRead = size_t{16} << 10;
// A reader with so many unread bytes is slower than the writer.
constexpr uint64_t kLateBytes = 4096;

constexpr std::byte kAccepted{1};
constexpr size_t kVerdictBytes = 8;

int written_by(MemoryRole role) { return role == MemoryRole::maker ? 0 : 1; }

class SharedStream final : public Stream {
 public:
  SharedStream(std::unique_ptr<Stream> connection, SharedMemory memory, MemoryRole role)
      : connection_(std::move(connection)),
        memory_(std::move(memory)),
        in_(memory_.state(1 - written_by(role)), memory_.bytes(1 - written_by(role)), SharedMemory::kRingBytes),
        out_(memory_.state(written_by(role)), memory_.bytes(written_by(role)), SharedMemory::kRingBytes) {
    connection_->watch([this] {
      lost_.store(true);
      wake();
    });
  }
  ~SharedStream() override { SharedStream::stop(); }

  std::string peer() const override { return connection_->peer(); }
  bool tls() const noexcept override { return false; }

  IoResult receive_now(const Piece* pieces, size_t count) override {
    if (closed_.load(std::memory_order_relaxed)) return kSharedClosed;
    const bool lost = lost_.load();  // loaded first: the other process wrote its last bytes before
    const IoResult result = in_.read(pieces, count);
    streams_.store(result.bytes >= kLargeRead, std::memory_order_relaxed);
    return result.end == IoEnd::would_block && lost ? kSharedLost : result;
  }
  bool wait_readable(double seconds) override {
    const auto ready = [this] { return in_.has_bytes() || over(); };
    if (streams_.load(std::memory_order_relaxed) && reader_spin_.until(ready, 1)) return true;
    return sleep_until(
        ready, in_.bell(), [this] { return reader_.load() == StreamReader::thread; }, seconds);
  }

  PollCost poll_cost() const noexcept override { return PollCost::load; }
  void set_reader(StreamReader reader) override {
    reader_.store(reader);
    const Bell::Waiters waiters = waiters_of(reader);
    in_.bell().disarm(~waiters);
    if (waiters == 0) return;
    in_.bell().arm(waiters);
    if (in_.has_bytes()) in_.bell().ring_if_armed();
  }
  Bell* bell() noexcept override { return &in_.bell(); }
  // Frames that the reader is too late for anyway are gathered.
  double quiet_seconds() const noexcept override { return out_.unread() < kLateBytes ? 0 : 20e-6; }

  IoResult send_now(const Piece* pieces, size_t count) override {
    if (over()) return kSharedClosed;
    return out_.write(pieces, count);
  }
  bool start_send(const Piece* pieces, size_t count) override {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    try {
      if (!sender_.joinable()) sender_ = Task([this] { send_started(); });
    } catch (const std::system_error&) {
      return false;  // the system has no thread left: the writer closes the link
    }
    to_send_.emplace(pieces, pieces + count);
    changed_.notify_one();
    return true;
  }

  void close() override {
    {
      std::lock_guard lock(mutex_);
      if (closed_.exchange(true)) return;
    }
    connection_->close();
    wake();
  }
  void stop() override {
    close();
    connection_->stop();
    Task sender;
    {
      std::lock_guard lock(mutex_);
      std::swap(sender, sender_);
    }
    if (sender.joinable()) sender.join();
  }
  void close_later(double seconds) override { connection_->close_later(seconds); }

 protected:
  IoResult send_some(Piece piece, double seconds) override {
    for (;;) {
      const IoResult result = send_now(&piece, 1);
      if (result.end != IoEnd::would_block) return result;
      if (!wait_for_room(seconds)) return {IoEnd::timed_out, 0, "timed out"};
    }
  }

 private:
  bool over() const noexcept {
    return closed_.load(std::memory_order_relaxed) || lost_.load(std::memory_order_relaxed);
  }

  void wake() {
    changed_.notify_all();
    in_.bell().ring();
    out_.bell().ring();
  }

  bool wait_for_room(double seconds) {
    const auto ready = [this] { return out_.has_room() || over(); };
    return writer_spin_.until(ready, 1) || sleep_until(
                                               ready, out_.bell(), [] { return true; }, seconds);
  }

  static Bell::Waiters waiters_of(StreamReader reader) {
    if (reader == StreamReader::poller) return 0;
    return reader == StreamReader::thread ? Bell::kOne : Bell::kAny;
  }

  /// Sleeps until `ready()`. The armed bell rings when this may have changed. False after `seconds`.
  template <typename Ready, typename Arms>
  static bool sleep_until(const Ready& ready, Bell& bell, const Arms& arms, double seconds) {
    const SteadyClock clock;
    const double begun = clock.now();
    for (;;) {
      const uint32_t seen = bell.count();
      if (arms()) bell.arm(Bell::kOne);
      if (ready()) return true;
      const double left = begun + seconds - clock.now();
      if (left <= 0) return false;
      bell.wait(seen, left);
    }
  }

  /// The thread of started sends.
  void send_started() {
    for (;;) {
      std::vector<Piece> pieces;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return to_send_ || closed_; });
        if (!to_send_) return;
        pieces = std::move(*to_send_);
        to_send_.reset();
      }
      IoResult result = send_now(pieces.data(), pieces.size());
      while (result.end == IoEnd::would_block) {
        out_.reader_bell().ring();  // a full ring needs its reader even if a node polls now and then
        wait_for_room(kForever);
        result = send_now(pieces.data(), pieces.size());
      }
      sent_(result);
    }
  }

  const std::unique_ptr<Stream> connection_;
  SharedMemory memory_;
  RingReader in_;
  RingWriter out_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> lost_{false};  // the other end has closed, or its process has died
  std::atomic<StreamReader> reader_{StreamReader::thread};
  std::atomic<bool> streams_{false};  // the newest read was large
  SpinWait reader_spin_;
  SpinWait writer_spin_;
  std::mutex mutex_;
  WaitPoint changed_;
  std::optional<std::vector<Piece>> to_send_;
  Task sender_;
};

Error ended(const IoResult& result) { return {Code::unreachable, io_message(result)}; }

Result<SharedMemory> offer_memory(Stream& connection, const Clock& clock, double deadline) {
  auto memory = SharedMemory::make();
  SharedMemory::Offer offer{};  // zeros: there is no memory
  if (memory.ok()) offer = memory->offer();
  const IoResult sent = connection.send_all({offer.data(), offer.size()}, clock, deadline);
  if (sent.end != IoEnd::done) return ended(sent);
  std::array<std::byte, kVerdictBytes> verdict{};
  const IoResult got = connection.receive_all({verdict.data(), verdict.size()}, clock, deadline);
  if (got.end != IoEnd::done) return ended(got);
  if (!memory.ok()) return memory.error();
  memory->close_file();
  if (verdict[0] != kAccepted) return Error{Code::io, "the other process cannot open the memory of this process"};
  return memory;
}

Result<SharedMemory> accept_memory(Stream& connection, const Clock& clock, double deadline) {
  SharedMemory::Offer offer;
  const IoResult got = connection.receive_all({offer.data(), offer.size()}, clock, deadline);
  if (got.end != IoEnd::done) return ended(got);
  auto memory = SharedMemory::open(offer);
  std::array<std::byte, kVerdictBytes> verdict{};
  if (memory.ok()) verdict[0] = kAccepted;
  const IoResult sent = connection.send_all({verdict.data(), verdict.size()}, clock, deadline);
  if (sent.end != IoEnd::done) return ended(sent);
  return memory;
}

}  // namespace

Result<SharedMemory> share_memory(Stream& connection, MemoryRole role, const Clock& clock, double deadline) {
  return role == MemoryRole::maker ? offer_memory(connection, clock, deadline)
                                   : accept_memory(connection, clock, deadline);
}

std::unique_ptr<Stream> shared_stream(std::unique_ptr<Stream> connection, SharedMemory memory, MemoryRole role) {
  return std::make_unique<SharedStream>(std::move(connection), std::move(memory), role);
}

}  // namespace actorhost
