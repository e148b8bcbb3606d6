#include "tests/rehearse/memory_network.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <xxhash.h>

#include "tests/rehearse/network_events.hpp"
#include "tests/rehearse/scheduler.hpp"

using rehearse::kSecond;
using rehearse::NetworkEvents;
using rehearse::NetworkSettings;
using rehearse::Scheduler;

namespace {

constexpr size_t kWindow = size_t{256} << 10;  // bytes that a stream has in flight or unread at most
constexpr uint16_t kFirstPort = 40'000;

uint64_t now() { return Scheduler::current()->now(); }

struct Operation;
struct Endpoint;
struct Listening;
using OperationPtr = std::shared_ptr<Operation>;
using EndpointPtr = std::shared_ptr<Endpoint>;

struct Network {
  NetworkEvents events;
  NetworkSettings settings;
  uint64_t writes = 0;
  std::map<uint16_t, std::shared_ptr<Listening>> listeners;
  std::vector<std::weak_ptr<Endpoint>> connections;  // one end of each
  uint16_t next_port = kFirstPort;
  bool breaks_planned = false;

  uint64_t latency() {
    return settings.latency + (settings.jitter != 0 ? Scheduler::current()->random(settings.jitter) : 0);
  }
};

Network& network() {
  static auto* const made = new Network;
  return *made;
}

using Lock = std::unique_lock<std::mutex>;
Lock lock_network() { return Lock(network().events.mutex); }

/// The state of an nng_aio. The functions expect the lock.
struct Operation : std::enable_shared_from_this<Operation> {
  void (*callback)(void*) = nullptr;
  void* argument = nullptr;
  std::vector<nng_iov> pieces;
  nng_duration timeout = NNG_DURATION_DEFAULT;
  bool busy = false;
  bool in_callback = false;
  uint64_t number = 0;  // of the present use
  int result = 0;
  size_t bytes = 0;
  nng_stream* output = nullptr;
  std::function<void()> withdraw;
  std::condition_variable ended;

  void begin(std::function<void()> on_withdraw) {
    busy = true;
    result = 0;
    bytes = 0;
    ++number;
    withdraw = std::move(on_withdraw);
    if (timeout > 0)
      after(static_cast<uint64_t>(timeout) * 1'000'000, [](Operation& self) { self.abort(NNG_ETIMEDOUT); });
  }

  /// Calls `run` unless this use has ended by then.
  void after(uint64_t nanoseconds, std::function<void(Operation&)> run) {
    network().events.post(now() + nanoseconds, [self = weak_from_this(), use = number, run = std::move(run)] {
      const OperationPtr operation = self.lock();
      if (operation != nullptr && operation->busy && operation->number == use) run(*operation);
    });
  }

  void finish(int with_result, size_t with_bytes = 0) {
    busy = false;
    result = with_result;
    bytes = with_bytes;
    withdraw = nullptr;
    if (callback == nullptr) {
      ended.notify_all();
      return;
    }
    in_callback = true;
    network().events.post(now(), [self = shared_from_this()] {
      network().events.mutex.unlock();
      self->callback(self->argument);
      network().events.mutex.lock();
      self->in_callback = false;
      self->ended.notify_all();
    });
  }

  void abort(int with_result) {
    if (!busy) return;
    if (withdraw) withdraw();
    finish(with_result);
  }

  void wait(Lock& lock) {
    ended.wait(lock, [this] { return !busy && !in_callback; });
  }
};

/// One end of a connection.
struct Endpoint : std::enable_shared_from_this<Endpoint> {
  std::weak_ptr<Endpoint> other;
  bool closed = false;
  bool peer_closed = false;
  std::string unread;
  size_t in_flight = 0;  // bytes on their way to the other end
  uint64_t last_arrival = 0;
  uint16_t peer_port = 0;
  OperationPtr receiving;
  OperationPtr sending;

  void receive(const OperationPtr& operation) {
    operation->begin([this] { receiving = nullptr; });
    receiving = operation;
    if (closed) return end(receiving, NNG_ECLOSED);
    continue_receive();
  }

  void continue_receive() {
    if (receiving == nullptr) return;
    if (unread.empty()) {
      if (peer_closed) end(receiving, NNG_ECONNSHUT);
      return;
    }
    size_t done = 0;
    for (const nng_iov& piece : receiving->pieces) {
      const size_t part = std::min(piece.iov_len, unread.size() - done);
      std::memcpy(piece.iov_buf, unread.data() + done, part);
      done += part;
    }
    unread.erase(0, done);
    std::exchange(receiving, nullptr)->finish(0, done);
    if (const EndpointPtr peer = other.lock()) peer->continue_send();
  }

  void send(const OperationPtr& operation) {
    operation->begin([this] { sending = nullptr; });
    sending = operation;
    if (closed) return end(sending, NNG_ECLOSED);
    continue_send();
  }

  void continue_send() {
    if (sending == nullptr) return;
    const EndpointPtr peer = other.lock();
    if (peer_closed || peer == nullptr) return end(sending, NNG_ECONNRESET);
    const size_t used = peer->unread.size() + in_flight;
    if (used >= kWindow) return;
    std::string bytes;
    for (const nng_iov& piece : sending->pieces) {
      const size_t part = std::min(piece.iov_len, kWindow - used - bytes.size());
      bytes.append(static_cast<const char*>(piece.iov_buf), part);
    }
    const size_t size = bytes.size();
    Network& net = network();
    ++net.writes;
    Scheduler::current()->record('n', XXH3_64bits(bytes.data(), size));
    last_arrival = std::max(last_arrival, now() + net.latency());
    in_flight += size;
    net.events.post(last_arrival, [self = shared_from_this(), peer, bytes = std::move(bytes)] {
      self->in_flight -= bytes.size();
      if (peer->closed || peer->peer_closed) return;
      peer->unread += bytes;
      peer->continue_receive();
    });
    std::exchange(sending, nullptr)->finish(0, size);
  }

  static void end(OperationPtr& operation, int result) { std::exchange(operation, nullptr)->finish(result); }

  void close() {
    if (closed) return;
    closed = true;
    for (OperationPtr* operation : {&receiving, &sending}) {
      if (*operation != nullptr) end(*operation, NNG_ECLOSED);
    }
    // The other end reads the bytes in flight first.
    last_arrival = std::max(last_arrival, now() + network().latency());
    network().events.post(last_arrival, [peer = other.lock()] {
      if (peer != nullptr) peer->lose_peer();
    });
  }

  void lose_peer() {
    peer_closed = true;
    continue_receive();
    continue_send();
  }

  void lose_bytes() {
    unread.clear();
    lose_peer();
  }
};

struct Listening {
  OperationPtr accepting;
  std::deque<EndpointPtr> waiting;
  bool closed = false;
};

void break_a_connection() {
  std::vector<EndpointPtr> alive;
  for (const auto& connection : network().connections) {
    const EndpointPtr end = connection.lock();
    const EndpointPtr other = end != nullptr ? end->other.lock() : nullptr;
    if (other == nullptr || end->closed || other->closed || end->peer_closed || other->peer_closed) continue;
    alive.push_back(end);
  }
  if (alive.empty()) return;
  const EndpointPtr end = alive[Scheduler::current()->random(alive.size())];
  const EndpointPtr other = end->other.lock();
  end->lose_bytes();
  other->lose_bytes();
  std::fprintf(stderr, "rehearse: broke a connection at %.6f s\n", static_cast<double>(now() - kSecond) / kSecond);
}

void plan_breaks() {
  Network& net = network();
  if (std::exchange(net.breaks_planned, true)) return;
  for (unsigned i = 0; i < net.settings.breaks; ++i) {
    net.events.post(now() + Scheduler::current()->random(net.settings.break_within), &break_a_connection);
  }
}

uint16_t port_of(const std::string& url) {
  return static_cast<uint16_t>(std::strtoul(url.c_str() + url.rfind(':') + 1, nullptr, 10));
}

}  // namespace

struct nng_aio {
  OperationPtr operation = std::make_shared<Operation>();
};
struct nng_stream {
  EndpointPtr end;
};
struct nng_stream_listener {
  uint16_t port = 0;
  std::shared_ptr<Listening> listening = std::make_shared<Listening>();
};
struct nng_stream_dialer {
  uint16_t port = 0;
};

namespace {

void accept(Operation& operation, const EndpointPtr& end) {
  operation.output = new nng_stream{end};
  operation.finish(0);
}

void connect(Operation& operation, uint16_t port) {
  Network& net = network();
  const auto at = net.listeners.find(port);
  if (at == net.listeners.end()) return operation.finish(NNG_ECONNREFUSED);
  const auto dialled = std::make_shared<Endpoint>();
  const auto accepted = std::make_shared<Endpoint>();
  dialled->other = accepted;
  accepted->other = dialled;
  dialled->peer_port = port;
  accepted->peer_port = net.next_port++;
  net.connections.push_back(dialled);
  plan_breaks();
  accept(operation, dialled);
  Listening& listening = *at->second;
  if (listening.accepting != nullptr) {
    accept(*std::exchange(listening.accepting, nullptr), accepted);
  } else {
    listening.waiting.push_back(accepted);
  }
}

}  // namespace

namespace rehearse {

void configure_network(const NetworkSettings& settings) { network().settings = settings; }
uint64_t network_writes() { return network().writes; }

}  // namespace rehearse

extern "C" {

int nng_aio_alloc(nng_aio** aio, void (*callback)(void*), void* argument) {
  *aio = new nng_aio;
  (*aio)->operation->callback = callback;
  (*aio)->operation->argument = argument;
  return 0;
}

void nng_aio_wait(nng_aio* aio) {
  Lock lock = lock_network();
  aio->operation->wait(lock);
}

int nng_aio_result(nng_aio* aio) { return aio->operation->result; }
size_t nng_aio_count(nng_aio* aio) { return aio->operation->bytes; }
void* nng_aio_get_output(nng_aio* aio, unsigned) { return aio->operation->output; }

int nng_aio_set_iov(nng_aio* aio, unsigned count, const nng_iov* pieces) {
  aio->operation->pieces.assign(pieces, pieces + count);
  return 0;
}

void nng_aio_set_timeout(nng_aio* aio, nng_duration milliseconds) { aio->operation->timeout = milliseconds; }

void nng_aio_cancel(nng_aio* aio) {
  const Lock lock = lock_network();
  aio->operation->abort(NNG_ECANCELED);
}

void nng_aio_stop(nng_aio* aio) {
  Lock lock = lock_network();
  aio->operation->abort(NNG_ECANCELED);
  aio->operation->wait(lock);
}

void nng_aio_free(nng_aio* aio) {
  nng_aio_stop(aio);
  delete aio;
}

void nng_sleep_aio(nng_duration milliseconds, nng_aio* aio) {
  const Lock lock = lock_network();
  Operation& operation = *aio->operation;
  operation.timeout = NNG_DURATION_INFINITE;
  operation.begin(nullptr);
  operation.after(static_cast<uint64_t>(milliseconds) * 1'000'000, [](Operation& self) { self.finish(0); });
}

void nng_stream_send(nng_stream* stream, nng_aio* aio) {
  const Lock lock = lock_network();
  stream->end->send(aio->operation);
}

void nng_stream_recv(nng_stream* stream, nng_aio* aio) {
  const Lock lock = lock_network();
  stream->end->receive(aio->operation);
}

void nng_stream_close(nng_stream* stream) {
  const Lock lock = lock_network();
  stream->end->close();
}

void nng_stream_free(nng_stream* stream) {
  nng_stream_close(stream);
  delete stream;
}

int nng_stream_set_bool(nng_stream*, const char*, bool) { return 0; }

int nng_stream_get_addr(nng_stream* stream, const char*, nng_sockaddr* address) {
  address->s_in.sa_family = NNG_AF_INET;
  address->s_in.sa_addr = htonl(INADDR_LOOPBACK);
  address->s_in.sa_port = htons(stream->end->peer_port);
  return 0;
}

int nng_stream_dialer_alloc(nng_stream_dialer** dialer, const char* url) {
  *dialer = new nng_stream_dialer{port_of(url)};
  return 0;
}

void nng_stream_dialer_dial(nng_stream_dialer* dialer, nng_aio* aio) {
  const Lock lock = lock_network();
  Operation& operation = *aio->operation;
  operation.begin(nullptr);
  operation.after(2 * network().latency(), [port = dialer->port](Operation& self) { connect(self, port); });
}

void nng_stream_dialer_close(nng_stream_dialer*) {}
void nng_stream_dialer_free(nng_stream_dialer* dialer) { delete dialer; }
int nng_stream_dialer_set_ptr(nng_stream_dialer*, const char*, void*) { return NNG_ENOTSUP; }

int nng_stream_listener_alloc(nng_stream_listener** listener, const char* url) {
  *listener = new nng_stream_listener;
  (*listener)->port = port_of(url);
  return 0;
}

int nng_stream_listener_listen(nng_stream_listener* listener) {
  const Lock lock = lock_network();
  Network& net = network();
  if (listener->port == 0) listener->port = net.next_port++;
  return net.listeners.emplace(listener->port, listener->listening).second ? 0 : NNG_EADDRINUSE;
}

int nng_stream_listener_get_int(nng_stream_listener* listener, const char*, int* port) {
  *port = listener->port;
  return 0;
}

int nng_stream_listener_set_int(nng_stream_listener*, const char*, int) { return 0; }
int nng_stream_listener_set_ptr(nng_stream_listener*, const char*, void*) { return NNG_ENOTSUP; }

void nng_stream_listener_accept(nng_stream_listener* listener, nng_aio* aio) {
  const Lock lock = lock_network();
  const std::shared_ptr<Listening> listening = listener->listening;
  aio->operation->begin([listening] { listening->accepting = nullptr; });
  if (listening->closed) return aio->operation->finish(NNG_ECLOSED);
  if (listening->waiting.empty()) {
    listening->accepting = aio->operation;
    return;
  }
  const EndpointPtr end = listening->waiting.front();
  listening->waiting.pop_front();
  accept(*aio->operation, end);
}

void nng_stream_listener_close(nng_stream_listener* listener) {
  const Lock lock = lock_network();
  Listening& listening = *listener->listening;
  if (std::exchange(listening.closed, true)) return;
  if (const auto at = network().listeners.find(listener->port);
      at != network().listeners.end() && at->second == listener->listening) {
    network().listeners.erase(at);
  }
  for (const EndpointPtr& end : listening.waiting) end->close();
  if (listening.accepting != nullptr) std::exchange(listening.accepting, nullptr)->finish(NNG_ECLOSED);
}

void nng_stream_listener_free(nng_stream_listener* listener) {
  nng_stream_listener_close(listener);
  delete listener;
}

const char* nng_strerror(int error) {
  switch (error) {
    case NNG_ECONNREFUSED: return "Connection refused";
    case NNG_ECONNRESET: return "Connection reset";
    case NNG_EADDRINUSE: return "Address in use";
    default: return "an error of the rehearsed network";
  }
}

// TLS has no place in a rehearsal.
int nng_tls_config_alloc(nng_tls_config**, nng_tls_mode) { return NNG_ENOTSUP; }
int nng_tls_config_auth_mode(nng_tls_config*, nng_tls_auth_mode) { return NNG_ENOTSUP; }
int nng_tls_config_ca_chain(nng_tls_config*, const char*, const char*) { return NNG_ENOTSUP; }
int nng_tls_config_own_cert(nng_tls_config*, const char*, const char*, const char*) { return NNG_ENOTSUP; }
int nng_tls_config_server_name(nng_tls_config*, const char*) { return NNG_ENOTSUP; }
void nng_tls_config_free(nng_tls_config*) {}

}  // extern "C"
