#include "host/net/nng_streams.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include <arpa/inet.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <sys/socket.h>

#include "host/net/nng_tls.hpp"
#include "host/net/tcp_socket.hpp"

namespace actorhost {

namespace {

constexpr IoResult kClosed{IoEnd::closed, 0, "closed"};
constexpr size_t kBufferBytes = size_t{64} << 10;
// This many bytes wake the reader of a polled stream, so that it reads large bodies.
constexpr int kWakingBytes = 32 << 10;

nng_duration milliseconds(double seconds) {
  if (seconds >= 2e6) return NNG_DURATION_INFINITE;
  return std::max(1, static_cast<nng_duration>(std::ceil(seconds * 1e3)));
}

void set_pieces(nng_aio* aio, const Piece* pieces, size_t count) {
  std::array<nng_iov, kMaxPieces> iov;
  count = std::min(count, kMaxPieces);
  for (size_t i = 0; i < count; ++i) iov[i] = {pieces[i].data, pieces[i].size};
  nng_aio_set_iov(aio, static_cast<unsigned>(count), iov.data());
}

IoResult result_of(nng_aio* aio) {
  const int error = nng_aio_result(aio);
  if (error == 0) return {IoEnd::done, nng_aio_count(aio)};
  const char* const message = nng_strerror(error);
  switch (error) {
    case NNG_ETIMEDOUT: return {IoEnd::timed_out, 0, message};
    case NNG_ECANCELED: return {IoEnd::cancelled, 0, message};
    case NNG_ECLOSED:
    case NNG_ECONNSHUT:
    case NNG_ECONNRESET:
    case NNG_ECONNABORTED: return {IoEnd::closed, 0, message};
    case NNG_ECRYPTO:
    case NNG_EPEERAUTH: return {IoEnd::failed, 0, kTlsFailed};
    default: return {IoEnd::failed, 0, message};
  }
}

std::string address_text(const nng_sockaddr& address) {
  char host[INET6_ADDRSTRLEN] = "?";
  if (address.s_family == NNG_AF_INET) {
    inet_ntop(AF_INET, &address.s_in.sa_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(ntohs(address.s_in.sa_port));
  }
  if (address.s_family == NNG_AF_INET6) {
    inet_ntop(AF_INET6, address.s_in6.sa_addr, host, sizeof host);
    return "[" + std::string(host) + "]:" + std::to_string(ntohs(address.s_in6.sa_port));
  }
  if (address.s_family == NNG_AF_IPC) return address.s_ipc.sa_path[0] != 0 ? address.s_ipc.sa_path : "ipc";
  return "?";
}

/// The address for system calls; AF_UNSPEC if it is no address of TCP.
sockaddr_storage system_address(const nng_sockaddr& address) {
  sockaddr_storage out{};
  if (address.s_family == NNG_AF_INET) {
    auto& at = reinterpret_cast<sockaddr_in&>(out);
    at.sin_family = AF_INET;
    at.sin_port = address.s_in.sa_port;
    at.sin_addr.s_addr = address.s_in.sa_addr;
  } else if (address.s_family == NNG_AF_INET6) {
    auto& at = reinterpret_cast<sockaddr_in6&>(out);
    at.sin6_family = AF_INET6;
    at.sin6_port = address.s_in6.sa_port;
    std::ranges::copy(address.s_in6.sa_addr, at.sin6_addr.s6_addr);
  }
  return out;
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

/// "tls+tcp://host:1" -> "host", without the brackets and interface of an IPv6 address, which no certificate contains.
std::string host_of(const std::string& url) {
  const size_t start = url.find("://");
  if (start == std::string::npos) return {};
  std::string host = url.substr(start + 3, url.rfind(':') - start - 3);
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host.substr(0, host.find('%'));
}

Error dial_error(const std::string& url, int error) {
  switch (error) {
    case NNG_ETIMEDOUT: return {Code::timeout, "no connection to " + url + " in time"};
    case NNG_ECANCELED:
    case NNG_ECLOSED: return {Code::interrupted, "connecting to " + url + " was cancelled"};
    case NNG_ECRYPTO:
    case NNG_EPEERAUTH: return io_error(Code::refused, "TLS with " + url, error);
    default: return io_error(Code::unreachable, "cannot connect to " + url, error);
  }
}

class NngStream final : public Stream {
 public:
  NngStream(nng_stream* stream, bool tls);
  ~NngStream() override;

  std::string peer() const override;
  bool tls() const noexcept override { return tls_; }
  IoResult receive_now(const Piece* pieces, size_t count) override;
  bool wait_readable(double seconds) override;
  PollCost poll_cost() const noexcept override { return socket_ < 0 ? PollCost::impossible : PollCost::system_call; }
  void set_reader(StreamReader reader) override;
  bool on_one_machine() const override;
  double quiet_seconds() const noexcept override { return socket_ < 0 ? 20e-6 : 3e-6; }
  IoResult send_now(const Piece* pieces, size_t count) override;
  bool start_send(const Piece* pieces, size_t count) override;
  void close() override;
  void stop() override;
  void close_later(double seconds) override;
  void watch(const std::function<void()>& ended) override;

 protected:
  IoResult send_some(Piece piece, double seconds) override;

 private:
  IoResult receive_buffered(const Piece* pieces, size_t count);
  bool fill_buffer(double seconds);
  nng_sockaddr address(const char* option) const;
  /// Starts a send on sync_send_. False if the stream is closed.
  bool start_sync_send(const Piece* pieces, size_t count, double seconds);
  static void send_callback(void* self);
  static void timer_callback(void* self);
  static void watch_callback(void* self);

  nng_stream* const stream_;
  const bool tls_;
  const int socket_;  // of TCP without TLS, else -1. NNG closes it in nng_stream_free
  // NNG never ends a receive or send that starts after the close of the stream. So a lock for each direction excludes
  // starts during a close.
  std::mutex receiving_;
  std::mutex sending_;
  std::atomic<bool> closed_{false};
  // The received bytes of a stream without socket_, and the end of the newest receive.
  std::unique_ptr<std::byte[]> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  IoResult received_{IoEnd::would_block};
  std::function<void()> ended_;  // of watch
  nng_aio* receive_ = nullptr;
  nng_aio* watch_ = nullptr;       // calls watch_callback
  nng_aio* sync_send_ = nullptr;   // completes without a callback
  nng_aio* async_send_ = nullptr;  // calls send_callback
  nng_aio* timer_ = nullptr;
};

class NngDialer final : public StreamDialer {
 public:
  NngDialer(std::string url, nng_stream_dialer* dialer, bool tls);
  ~NngDialer() override;

  Result<std::unique_ptr<Stream>> dial(double seconds) override;
  PortState probe(double seconds) override;
  void cancel() override;

 private:
  const std::string url_;
  nng_stream_dialer* const dialer_;
  const bool tls_;
  nng_aio* aio_ = nullptr;
};

class NngListener final : public StreamListener {
 public:
  NngListener(std::string url, nng_stream_listener* listener, bool tls);
  ~NngListener() override;

  const std::string& url() const noexcept override { return url_; }
  Result<std::unique_ptr<Stream>> accept() override;
  void close() override;

 private:
  const std::string url_;
  nng_stream_listener* const listener_;
  const bool tls_;
  nng_aio* aio_ = nullptr;
};

class Nng final : public StreamNetwork {
 public:
  Result<std::unique_ptr<StreamDialer>> dialer(const std::string& url, const TlsFiles& files) override;
  Result<std::unique_ptr<StreamListener>> listen(const std::string& url, const TlsFiles& files) override;
};

/// The stream that `aio` has dialled or accepted.
std::unique_ptr<Stream> open_stream(nng_aio* aio, bool tls) {
  return std::make_unique<NngStream>(static_cast<nng_stream*>(nng_aio_get_output(aio, 0)), tls);
}

NngStream::NngStream(nng_stream* stream, bool tls)
    : stream_(stream),
      tls_(tls),
      socket_(
          tls ? -1
              : socket_between(system_address(address(NNG_OPT_LOCADDR)), system_address(address(NNG_OPT_REMADDR)))) {
  nng_aio_alloc(&receive_, nullptr, nullptr);
  nng_aio_alloc(&sync_send_, nullptr, nullptr);
  nng_aio_alloc(&async_send_, &NngStream::send_callback, this);
  // NNG refuses this for ipc, where it is not needed.
  nng_stream_set_bool(stream_, NNG_OPT_TCP_NODELAY, true);
  nng_stream_set_bool(stream_, NNG_OPT_TCP_KEEPALIVE, true);
}

NngStream::~NngStream() {
  stop();
  nng_stream_free(stream_);
  for (nng_aio* aio : {timer_, watch_, receive_, sync_send_, async_send_}) {
    if (aio != nullptr) nng_aio_free(aio);
  }
}

nng_sockaddr NngStream::address(const char* option) const {
  nng_sockaddr address{};
  if (nng_stream_get_addr(stream_, option, &address) != 0) address.s_family = NNG_AF_UNSPEC;
  return address;
}

std::string NngStream::peer() const { return address_text(address(NNG_OPT_REMADDR)); }

bool NngStream::on_one_machine() const {
  const nng_sockaddr here = address(NNG_OPT_LOCADDR);
  const nng_sockaddr there = address(NNG_OPT_REMADDR);
  if (here.s_family != there.s_family) return here.s_family == NNG_AF_IPC || there.s_family == NNG_AF_IPC;
  if (here.s_family == NNG_AF_INET) return here.s_in.sa_addr == there.s_in.sa_addr;
  if (here.s_family == NNG_AF_INET6) return std::ranges::equal(here.s_in6.sa_addr, there.s_in6.sa_addr);
  return here.s_family == NNG_AF_IPC;
}

IoResult NngStream::receive_now(const Piece* pieces, size_t count) {
  if (closed_.load(std::memory_order_relaxed)) return kClosed;
  return socket_ < 0 ? receive_buffered(pieces, count) : receive_from(socket_, pieces, count);
}

bool NngStream::wait_readable(double seconds) {
  if (socket_ < 0) return fill_buffer(seconds);
  return closed_.load() || wait_for_bytes(socket_, milliseconds(seconds));
}

IoResult NngStream::receive_buffered(const Piece* pieces, size_t count) {
  if (begin_ == end_) return received_;
  size_t taken = 0;
  for (const Piece& piece : std::span(pieces, count)) {
    const size_t part = std::min(piece.size, end_ - begin_);
    std::memcpy(piece.data, buffer_.get() + begin_, part);
    begin_ += part;
    taken += part;
  }
  return {IoEnd::done, taken};
}

/// Receives into the empty buffer.
bool NngStream::fill_buffer(double seconds) {
  if (begin_ != end_ || received_.end != IoEnd::would_block) return true;
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
  {
    std::lock_guard lock(receiving_);
    if (closed_) return true;
    const Piece room{buffer_.get(), kBufferBytes};
    set_pieces(receive_, &room, 1);
    nng_aio_set_timeout(receive_, milliseconds(seconds));
    nng_stream_recv(stream_, receive_);
  }
  nng_aio_wait(receive_);
  const IoResult result = result_of(receive_);
  if (result.end == IoEnd::timed_out) return false;
  if (result.end == IoEnd::done) {
    begin_ = 0;
    end_ = result.bytes;
  } else {
    received_ = result;
  }
  return true;
}

void NngStream::set_reader(StreamReader reader) {
  wake_for(socket_, reader == StreamReader::poller ? kWakingBytes : 1);
}

bool NngStream::start_sync_send(const Piece* pieces, size_t count, double seconds) {
  std::lock_guard lock(sending_);
  if (closed_) return false;
  set_pieces(sync_send_, pieces, count);
  nng_aio_set_timeout(sync_send_, milliseconds(seconds));
  nng_stream_send(stream_, sync_send_);
  return true;
}

IoResult NngStream::send_now(const Piece* pieces, size_t count) {
  if (socket_ >= 0) return closed_.load(std::memory_order_relaxed) ? kClosed : send_to(socket_, pieces, count);
  if (!start_sync_send(pieces, count, kForever)) return kClosed;
  // NNG writes all bytes that fit at once, on this thread, or none: a pending write has written nothing.
  nng_aio_cancel(sync_send_);
  nng_aio_wait(sync_send_);
  IoResult result = result_of(sync_send_);
  if (result.end == IoEnd::cancelled) result.end = IoEnd::would_block;
  return result;
}

bool NngStream::start_send(const Piece* pieces, size_t count) {
  std::lock_guard lock(sending_);
  if (closed_) return false;
  set_pieces(async_send_, pieces, count);
  nng_stream_send(stream_, async_send_);
  return true;
}

IoResult NngStream::send_some(Piece piece, double seconds) {
  if (!start_sync_send(&piece, 1, seconds)) return kClosed;
  nng_aio_wait(sync_send_);
  return result_of(sync_send_);
}

void NngStream::close() {
  {
    std::scoped_lock lock(receiving_, sending_);
    closed_ = true;
    nng_stream_close(stream_);
  }
  // NNG closes a stream itself when the peer resets it. Operations that start later end here.
  for (nng_aio* aio : {watch_, receive_, sync_send_, async_send_}) {
    if (aio != nullptr) nng_aio_cancel(aio);
  }
}

void NngStream::watch(const std::function<void()>& ended) {
  std::lock_guard lock(receiving_);
  ended_ = ended;
  nng_aio_alloc(&watch_, &NngStream::watch_callback, this);
  if (closed_) return nng_sleep_aio(0, watch_);
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(1);
  const Piece room{buffer_.get(), 1};
  set_pieces(watch_, &room, 1);
  nng_stream_recv(stream_, watch_);
}

void NngStream::close_later(double seconds) {
  std::lock_guard lock(sending_);
  if (timer_ != nullptr || closed_) return;
  nng_aio_alloc(&timer_, &NngStream::timer_callback, this);
  nng_sleep_aio(milliseconds(seconds), timer_);
}

void NngStream::stop() {
  close();
  for (nng_aio* aio : {timer_, watch_, receive_, sync_send_, async_send_}) {
    if (aio != nullptr) nng_aio_stop(aio);
  }
}

void NngStream::watch_callback(void* self) { static_cast<NngStream*>(self)->ended_(); }

void NngStream::send_callback(void* self) {
  auto* stream = static_cast<NngStream*>(self);
  stream->sent_(result_of(stream->async_send_));
}

void NngStream::timer_callback(void* self) {
  auto* stream = static_cast<NngStream*>(self);
  stream->close();
}

Result<std::unique_ptr<StreamDialer>> Nng::dialer(const std::string& url, const TlsFiles& files) {
  const bool tls = starts_with(url, "tls");
  nng_stream_dialer* raw = nullptr;
  if (const int error = nng_stream_dialer_alloc(&raw, url.c_str())) {
    return io_error(Code::bad_argument, "not an address to connect to: " + url, error);
  }
  auto dialer = std::make_unique<NngDialer>(url, raw, tls);
  if (tls) {
    auto config = dialer_tls(files, host_of(url));
    if (!config.ok()) return config.error();
    if (const int error = nng_stream_dialer_set_ptr(raw, NNG_OPT_TLS_CONFIG, config->get())) {
      return io_error(Code::unsupported, "TLS for " + url, error);
    }
  }
  return Result<std::unique_ptr<StreamDialer>>(std::move(dialer));
}

NngDialer::NngDialer(std::string url, nng_stream_dialer* dialer, bool tls)
    : url_(std::move(url)), dialer_(dialer), tls_(tls) {
  nng_aio_alloc(&aio_, nullptr, nullptr);
}

NngDialer::~NngDialer() {
  nng_stream_dialer_close(dialer_);
  nng_aio_stop(aio_);
  nng_stream_dialer_free(dialer_);
  nng_aio_free(aio_);
}

Result<std::unique_ptr<Stream>> NngDialer::dial(double seconds) {
  nng_aio_set_timeout(aio_, milliseconds(seconds));
  nng_stream_dialer_dial(dialer_, aio_);
  nng_aio_wait(aio_);
  if (const int error = nng_aio_result(aio_)) return dial_error(url_, error);
  return open_stream(aio_, tls_);
}

PortState NngDialer::probe(double seconds) {
  nng_aio_set_timeout(aio_, milliseconds(seconds));
  nng_stream_dialer_dial(dialer_, aio_);
  nng_aio_wait(aio_);
  const int error = nng_aio_result(aio_);
  if (error == 0) nng_stream_free(static_cast<nng_stream*>(nng_aio_get_output(aio_, 0)));
  if (error == 0) return PortState::open;
  return error == NNG_ECONNREFUSED ? PortState::closed : PortState::unknown;
}

void NngDialer::cancel() { nng_aio_cancel(aio_); }

Result<std::unique_ptr<StreamListener>> Nng::listen(const std::string& url, const TlsFiles& files) {
  const bool tls = starts_with(url, "tls");
  nng_stream_listener* raw = nullptr;
  if (const int error = nng_stream_listener_alloc(&raw, url.c_str())) {
    return io_error(Code::bad_argument, "not an address to listen at: " + url, error);
  }
  struct Free {
    void operator()(nng_stream_listener* listener) const { nng_stream_listener_free(listener); }
  };
  std::unique_ptr<nng_stream_listener, Free> listener(raw);
  if (tls) {
    auto config = listener_tls(files);
    if (!config.ok()) return config.error();
    if (const int error = nng_stream_listener_set_ptr(raw, NNG_OPT_TLS_CONFIG, config->get())) {
      return io_error(Code::unsupported, "TLS for " + url, error);
    }
  }
  if (starts_with(url, "ipc")) nng_stream_listener_set_int(raw, NNG_OPT_IPC_PERMISSIONS, 0600);
  if (const int error = nng_stream_listener_listen(raw)) {
    if (error == NNG_EADDRINUSE) return Error{Code::io, "cannot listen at " + url + ": address in use"};
    return io_error(Code::io, "cannot listen at " + url, error);
  }
  std::string bound = url;
  int port = 0;
  if (nng_stream_listener_get_int(raw, NNG_OPT_TCP_BOUND_PORT, &port) == 0) {
    bound.replace(bound.rfind(':') + 1, std::string::npos, std::to_string(port));
  }
  return Result<std::unique_ptr<StreamListener>>(
      std::make_unique<NngListener>(std::move(bound), listener.release(), tls));
}

NngListener::NngListener(std::string url, nng_stream_listener* listener, bool tls)
    : url_(std::move(url)), listener_(listener), tls_(tls) {
  nng_aio_alloc(&aio_, nullptr, nullptr);
}

NngListener::~NngListener() {
  nng_stream_listener_close(listener_);
  nng_aio_stop(aio_);
  nng_stream_listener_free(listener_);
  nng_aio_free(aio_);
}

Result<std::unique_ptr<Stream>> NngListener::accept() {
  nng_stream_listener_accept(listener_, aio_);
  nng_aio_wait(aio_);
  const int error = nng_aio_result(aio_);
  if (error == NNG_ECLOSED) return Error{Code::interrupted, "no longer listening at " + url_};
  if (error != 0) return io_error(Code::io, "cannot accept a connection at " + url_, error);
  return open_stream(aio_, tls_);
}

void NngListener::close() { nng_stream_listener_close(listener_); }

}  // namespace

StreamNetwork& nng_network() {
  static Nng network;
  return network;
}

}  // namespace actorhost
