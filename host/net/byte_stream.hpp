#pragma once
// Byte streams between processes, and the network that makes them: NNG (nng_streams.hpp), or in a rehearsal the
// network in memory (host/rehearsal/memory_network.hpp).
//
// A Stream has one reader and one writer at a time, which may be different threads. The reader reads without blocking,
// and waits when no bytes have arrived. The writer either writes on its own thread without blocking, or starts a send
// whose end a callback reports on another thread. `close` is thread-safe at any time, even inside such a callback; the
// destructor waits for the callback.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/net/bell.hpp"

namespace actorhost {

struct TlsFiles {
  std::string cert = {};  // PEM file; required with `key` to listen
  std::string key = {};   // PEM file
  std::string ca = {};    // PEM file of the authority for listeners' certificates; required to dial
};

/// Bytes to write or memory to read into.
struct Piece {
  std::byte* data = nullptr;
  size_t size = 0;
};
inline constexpr size_t kMaxPieces = 8;  // of one call

enum class IoEnd { done, would_block, timed_out, cancelled, closed, failed };
struct IoResult {
  IoEnd end = IoEnd::done;
  size_t bytes = 0;            // at least 1 when done
  const char* message = "ok";  // of a failure
};
/// "connection reset", ...
std::string io_message(const IoResult& result);
/// The usual causes of a failed TLS handshake.
inline constexpr const char* kTlsFailed = "TLS failed: a certificate is not trusted, or one end does not use TLS";

/// The cost of a receive that finds no bytes.
enum class PollCost : uint8_t {
  load,         // of a variable in memory
  system_call,  // of the operating system
  impossible,   // receive_now finds only the bytes that wait_readable has read
};

/// The reader that arriving bytes wake.
enum class StreamReader : uint8_t {
  thread,   // in wait_readable
  poller,   // none: it calls receive_now again and again
  sleeper,  // in Bell::wait_for_any
};

class Stream : public Interface {
 public:
  using Sent = std::function<void(IoResult)>;

  /// Address of the other end as text, "?" if unknown.
  virtual std::string peer() const = 0;
  /// Whether the stream is encrypted. Such a stream has no send_now: its records cannot be cancelled.
  virtual bool tls() const noexcept = 0;

  /// Reads at least one byte into up to kMaxPieces pieces, or returns would_block.
  virtual IoResult receive_now(const Piece* pieces, size_t count) = 0;
  /// Blocks up to `seconds` until receive_now may return something else than would_block. False after this time.
  virtual bool wait_readable(double seconds) = 0;
  /// Receives exactly `piece.size` bytes before `deadline` on `clock`. Blocks.
  IoResult receive_all(Piece piece, const Clock& clock, double deadline);

  /// For threads that poll the stream.
  virtual PollCost poll_cost() const noexcept { return PollCost::impossible; }
  /// Unless `reader` is StreamReader::thread, a few arriving bytes do not end `wait_readable`. Bytes that have arrived
  /// before wake the new reader.
  virtual void set_reader(StreamReader /*reader*/) {}
  /// The bell that rings for StreamReader::sleeper when bytes arrive; nullptr: the stream has no such reader.
  virtual Bell* bell() noexcept { return nullptr; }
  /// Whether both ends have the same address, so run on one machine.
  virtual bool on_one_machine() const { return false; }

  /// Writes as many bytes as possible without blocking.
  virtual IoResult send_now(const Piece* pieces, size_t count) = 0;
  /// A writer without a write for this time writes its next frame at once. A busier writer gathers frames, because each
  /// write has a cost. 0: gathering has no use now.
  virtual double quiet_seconds() const noexcept { return 20e-6; }
  /// Sets the callback for the end of each start_send, before the first one.
  void on_sent(Sent sent) { sent_ = std::move(sent); }
  /// Starts a send. False if the stream is closed; then no callback follows.
  virtual bool start_send(const Piece* pieces, size_t count) = 0;
  /// Sends all bytes before `deadline` on `clock`. Blocks.
  IoResult send_all(Piece piece, const Clock& clock, double deadline);

  virtual void close() = 0;
  /// Closes, and blocks until no callback runs any more. Must not be called inside `Sent`.
  virtual void stop() = 0;
  /// Calls `close` after `seconds`; only the first call counts.
  virtual void close_later(double seconds) = 0;
  /// Calls `ended` once on another thread, when the other end has sent a byte or closed, or this end has closed. For a
  /// stream that is not read any more; `stop` waits for the call.
  virtual void watch(const std::function<void()>& /*ended*/) {}

 protected:
  /// Sends at least one byte within `seconds`. Blocks.
  virtual IoResult send_some(Piece piece, double seconds) = 0;

  Sent sent_;
};

/// The result of a connection attempt to a port.
enum class PortState : uint8_t {
  open,     // a process accepts connections
  closed,   // the machine reports that no process listens
  unknown,  // no reply in time, or another error
};

class StreamDialer : public Interface {
 public:
  /// Tries once; blocks. Code::unreachable, Code::timeout, Code::interrupted (cancelled).
  virtual Result<std::unique_ptr<Stream>> dial(double seconds) = 0;
  /// Tries once; blocks. Not for TLS.
  virtual PortState probe(double seconds) = 0;
  /// Ends `dial`. Thread-safe.
  virtual void cancel() = 0;
};

class StreamListener : public Interface {
 public:
  /// The bound address: port 0 is replaced by the chosen port.
  virtual const std::string& url() const noexcept = 0;
  /// Blocks. Code::interrupted after `close`; other errors (too many open files) may be temporary.
  virtual Result<std::unique_ptr<Stream>> accept() = 0;
  /// Thread-safe.
  virtual void close() = 0;
};

/// Thread-safe.
class StreamNetwork : public Interface {
 public:
  virtual Result<std::unique_ptr<StreamDialer>> dialer(const std::string& url, const TlsFiles& files) = 0;
  /// Binds and listens. Code::io if the address is taken or cannot be bound, or if a TLS file is unusable.
  virtual Result<std::unique_ptr<StreamListener>> listen(const std::string& url, const TlsFiles& files) = 0;
};

}  // namespace actorhost
