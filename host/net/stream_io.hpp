#pragma once
// Byte streams over tcp, ipc and tls+tcp. Wraps NNG; no other file uses NNG.
//
// A Stream has one reader, which starts a receive and waits for it, and one writer at a time. The writer either writes
// on its own thread without blocking, or starts a send whose end an NNG thread reports by a callback. `close` is
// thread-safe at any time, even inside such a callback; the destructor waits for the callback. Unlike NNG's protocol
// sockets a Stream closes safely under traffic, and waiting for a receive takes one thread switch less than a callback.

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

struct nng_aio;
struct nng_stream;
struct nng_stream_dialer;
struct nng_stream_listener;

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
inline constexpr size_t kMaxPieces = 8;  // NNG's limit for one call

enum class IoEnd { done, would_block, timed_out, cancelled, closed, failed };
struct IoResult {
  IoEnd end = IoEnd::done;
  size_t bytes = 0;  // at least 1 when done
  int error = 0;     // NNG's error number
};
/// "connection reset", ...
std::string io_message(const IoResult& result);
/// The usual causes of a failed TLS handshake.
inline constexpr const char* kTlsFailed = "TLS failed: a certificate is not trusted, or one end does not use TLS";

class Stream : private NonCopyable {
 public:
  using Sent = std::function<void(IoResult)>;

  Stream(nng_stream* stream, bool tls);
  ~Stream();

  /// Address of the other end as text, "?" if unknown.
  std::string peer() const;

  /// Starts a receive into up to kMaxPieces pieces, which ends with the first bytes. The memory must not be used until
  /// then.
  void start_receive(const Piece* pieces, size_t count, double seconds = kForever);
  /// Blocks until the started receive ends. Several threads may wait; all get the same result.
  IoResult wait_receive();
  /// Receives exactly `piece.size` bytes before `deadline` on `clock`. Blocks.
  IoResult receive_all(Piece piece, const Clock& clock, double deadline);

  /// Whether send_now is allowed: not with TLS, whose records cannot be cancelled.
  bool can_send_now() const noexcept { return !tls_; }
  bool tls() const noexcept { return tls_; }
  /// Writes as many bytes as possible without blocking.
  IoResult send_now(const Piece* pieces, size_t count);
  /// Sets the callback for the end of each start_send, before the first one.
  void on_sent(Sent sent) { sent_ = std::move(sent); }
  /// Starts a send. False if the stream is closed; then no callback follows.
  bool start_send(const Piece* pieces, size_t count);
  /// Sends all bytes before `deadline` on `clock`. Blocks.
  IoResult send_all(Piece piece, const Clock& clock, double deadline);

  void close();
  /// Closes, and blocks until no callback runs any more. Must not be called inside `Sent`.
  void stop();
  /// Calls `close` after `seconds`; only the first call counts.
  void close_later(double seconds);

 private:
  /// Starts a send on sync_send_. False if the stream is closed.
  bool start_sync_send(const Piece* pieces, size_t count, double seconds);
  static void send_callback(void* self);
  static void timer_callback(void* self);

  nng_stream* const stream_;
  const bool tls_;
  // NNG never ends a receive or send that starts after the close of the stream. So a lock for each direction excludes
  // starts during a close.
  std::mutex receiving_;
  std::mutex sending_;
  bool closed_ = false;
  bool started_ = false;  // a receive, by start_receive
  nng_aio* receive_ = nullptr;
  nng_aio* sync_send_ = nullptr;   // completes without a callback
  nng_aio* async_send_ = nullptr;  // calls send_callback
  nng_aio* timer_ = nullptr;
  Sent sent_;
};

/// The result of a connection attempt to a port.
enum class PortState : uint8_t {
  open,     // a process accepts connections
  closed,   // the machine reports that no process listens
  unknown,  // no reply in time, or another error
};

class StreamDialer : private NonCopyable {
 public:
  static Result<std::unique_ptr<StreamDialer>> make(const std::string& url, const TlsFiles& files);
  ~StreamDialer();

  /// Tries once; blocks. Code::unreachable, Code::timeout, Code::interrupted (cancelled).
  Result<std::unique_ptr<Stream>> dial(double seconds);
  /// Tries once; blocks. Not for TLS.
  PortState probe(double seconds);
  /// Ends `dial`. Thread-safe.
  void cancel();

 private:
  StreamDialer(std::string url, nng_stream_dialer* dialer, bool tls);

  const std::string url_;
  nng_stream_dialer* const dialer_;
  const bool tls_;
  nng_aio* aio_ = nullptr;
};

class StreamListener : private NonCopyable {
 public:
  /// Binds and listens. Code::io if the address is taken or cannot be bound, or if a TLS file is unusable.
  static Result<std::unique_ptr<StreamListener>> open(const std::string& url, const TlsFiles& files);
  ~StreamListener();

  /// The bound address: port 0 is replaced by the chosen port.
  const std::string& url() const noexcept { return url_; }
  /// Blocks. Code::interrupted after `close`; other errors (too many open files) may be temporary.
  Result<std::unique_ptr<Stream>> accept();
  /// Thread-safe.
  void close();

 private:
  StreamListener(std::string url, nng_stream_listener* listener, bool tls);

  const std::string url_;
  nng_stream_listener* const listener_;
  const bool tls_;
  nng_aio* aio_ = nullptr;
};

}  // namespace actorhost
