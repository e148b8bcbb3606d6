#pragma once
// The only door to NNG: byte streams over tcp, ipc and tls+tcp. No protocol of ours in here.
//
// A Stream has one reader, which starts a receive and waits for it, and one writer at a time, which either writes what
// goes at once on its own thread or starts a send; a thread of NNG calls back when that send has ended. `close` may
// come from any thread at any moment, also from such a callback; destroying waits for the callback. Unlike sockets of
// NNG's own protocols a Stream closes safely under traffic, and waiting for a receive takes one thread switch less than
// a callback would.

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"

struct nng_aio;
struct nng_stream;
struct nng_stream_dialer;
struct nng_stream_listener;

namespace actorhost {

struct TlsFiles {
  std::string cert = {};  // PEM file; with `key` needed to listen
  std::string key = {};   // PEM file
  std::string ca = {};    // PEM file that listeners' certificates are checked against; needed to dial
};

/// Bytes to write or room to read into.
struct Piece {
  std::byte* data = nullptr;
  size_t size = 0;
};
inline constexpr size_t kMaxPieces = 8;  // NNG's limit for one call

enum class IoEnd { done, would_block, timed_out, cancelled, closed, failed };
struct IoResult {
  IoEnd end = IoEnd::done;
  size_t bytes = 0;  // at least 1 when done
  int error = 0;     // NNG's number
};
/// "connection reset", ...
std::string io_message(const IoResult& result);
/// What it is mostly when a handshake of TLS fails.
inline constexpr const char* kTlsFailed = "TLS failed: a certificate is not trusted, or one end does not use TLS";

class Stream {
 public:
  using Sent = std::function<void(IoResult)>;

  Stream(nng_stream* stream, bool tls);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Address of the other end as text, "?" when it is not known.
  std::string peer() const;

  /// Up to kMaxPieces of room; some bytes end it. The pieces' memory stays untouched until then.
  void start_receive(const Piece* pieces, size_t count, double seconds = kForever);
  /// Waits for the receive that was started. Several threads may wait; each sees the same result.
  IoResult wait_receive();
  /// Exactly `piece.size` bytes before `deadline` on `clock`.
  IoResult receive_all(Piece piece, const Clock& clock, double deadline);

  /// True when send_now may be used (not with TLS, whose records cannot be taken back).
  bool can_send_now() const noexcept { return !tls_; }
  bool tls() const noexcept { return tls_; }
  /// Writes as much as goes without waiting.
  IoResult send_now(const Piece* pieces, size_t count);
  /// What is called at the end of each start_send; to be set before the first one.
  void on_sent(Sent sent) { sent_ = std::move(sent); }
  /// False when the stream is closed; then nothing is told.
  bool start_send(const Piece* pieces, size_t count);
  /// All bytes before `deadline` on `clock`.
  IoResult send_all(Piece piece, const Clock& clock, double deadline);

  void close();
  /// Closes, and waits until nothing of it is told any more. Not from inside `Sent`.
  void stop();
  /// `close` after `seconds`, at most once.
  void close_later(double seconds);

 private:
  /// Starts a send on now_; false when the stream is closed.
  bool start_now(const Piece* pieces, size_t count, double seconds);
  static void told_sent(void* self);
  static void told_time(void* self);

  nng_stream* const stream_;
  const bool tls_;
  // NNG never ends a receive or send that is started on a stream after it was closed: starting and closing exclude
  // each other, one lock for each direction.
  std::mutex receiving_;
  std::mutex sending_;
  bool closed_ = false;
  bool started_ = false;  // a receive, by start_receive
  nng_aio* receive_ = nullptr;
  nng_aio* now_ = nullptr;    // completes without a callback
  nng_aio* later_ = nullptr;  // calls told_sent
  nng_aio* timer_ = nullptr;
  Sent sent_;
};

class StreamDialer {
 public:
  static Result<std::unique_ptr<StreamDialer>> make(const std::string& url, const TlsFiles& files);
  ~StreamDialer();
  StreamDialer(const StreamDialer&) = delete;
  StreamDialer& operator=(const StreamDialer&) = delete;

  /// Tries once. Code::unreachable, Code::timeout, Code::interrupted (cancelled).
  Result<std::unique_ptr<Stream>> dial(double seconds);
  /// Tries once. True only when the machine there answers that no process listens at the address. Not for TLS.
  bool refused(double seconds);
  /// Ends `dial`. Any thread.
  void cancel();

 private:
  StreamDialer(std::string url, nng_stream_dialer* dialer, bool tls);

  const std::string url_;
  nng_stream_dialer* const dialer_;
  const bool tls_;
  nng_aio* aio_ = nullptr;
};

class StreamListener {
 public:
  /// Binds and listens. Code::io when the address is taken or cannot be bound, or a TLS file cannot be used.
  static Result<std::unique_ptr<StreamListener>> open(const std::string& url, const TlsFiles& files);
  ~StreamListener();
  StreamListener(const StreamListener&) = delete;
  StreamListener& operator=(const StreamListener&) = delete;

  /// The address as it is bound: port 0 is replaced by what the system chose.
  const std::string& url() const noexcept { return url_; }
  /// Blocks. Code::interrupted once closed; other errors (too many open files) may pass.
  Result<std::unique_ptr<Stream>> accept();
  /// Any thread.
  void close();

 private:
  StreamListener(std::string url, nng_stream_listener* listener, bool tls);

  const std::string url_;
  nng_stream_listener* const listener_;
  const bool tls_;
  nng_aio* aio_ = nullptr;
};

}  // namespace actorhost
