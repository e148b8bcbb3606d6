#include "host/rehearsal/memory_network.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "host/rehearsal/connection.hpp"
#include "host/rehearsal/deliveries.hpp"

namespace actorhost::rehearsal {

namespace {

using State = MemoryNetwork::State;
using Lock = std::unique_lock<std::mutex>;

constexpr uint16_t kFirstPort = 40'000;

std::string text_of(const Place& place) {
  return MemoryNetwork::address_of(place.host) + ":" + std::to_string(place.port);
}

/// The place of tcp://10.0.x.y:PORT. Any other numeric address is one of `own`.
std::optional<Place> place_of(const std::string& url, uint32_t own) {
  unsigned a = 0, b = 0, c = 0, d = 0, port = 0;
  if (std::sscanf(url.c_str(), "tcp://%u.%u.%u.%u:%u", &a, &b, &c, &d, &port) != 5 || port > UINT16_MAX) return {};
  return Place{a == 10 ? c * 256 + d - 1 : own, static_cast<uint16_t>(port)};
}

}  // namespace

struct Listening {
  std::deque<EndPtr> waiting;
  bool closed = false;
  WaitPoint changed;
};

struct MemoryNetwork::State : Deliveries {
  using Deliveries::Deliveries;

  EndPtr connect(uint32_t from, const Place& to);
  std::vector<EndPtr> open_ends() const;
  std::vector<EndPtr> ends_of(uint32_t host) const;
  uint16_t free_port(uint32_t host);

  std::map<uint32_t, std::unique_ptr<StreamNetwork>> hosts;
  std::map<Place, std::shared_ptr<Listening>> listeners;
  std::set<uint32_t> crashed;                   // hosts that reply to nothing
  std::vector<std::weak_ptr<End>> connections;  // one end of each
  uint16_t last_port = kFirstPort;
};

namespace {

class MemoryStream final : public Stream {
 public:
  MemoryStream(State& net, EndPtr end) : net_(net), end_(std::move(end)) {
    end_->report = [this](IoResult result) { sent_(result); };
  }
  ~MemoryStream() override { MemoryStream::stop(); }

  std::string peer() const override { return text_of(end_->peer_place); }
  bool tls() const noexcept override { return false; }

  IoResult receive_now(const Piece* pieces, size_t count) override {
    const Lock lock(net_.mutex);
    return end_->receive(pieces, count);
  }

  bool wait_readable(double limit) override {
    Lock lock(net_.mutex);
    return end_->arrival.wait_for(lock, limit, [this] { return end_->readable(); });
  }

  IoResult send_now(const Piece* pieces, size_t count) override {
    const Lock lock(net_.mutex);
    if (!end_->connected()) return kClosedHere;
    const size_t sent = end_->transmit(pieces, count);
    return sent == 0 ? IoResult{IoEnd::would_block, 0, "no room"} : IoResult{IoEnd::done, sent};
  }

  bool start_send(const Piece* pieces, size_t count) override {
    const Lock lock(net_.mutex);
    if (end_->closed) return false;
    end_->pending.assign(pieces, pieces + count);
    end_->sending = true;
    end_->continue_send();
    return true;
  }

  void close() override {
    const Lock lock(net_.mutex);
    end_->close();
  }

  void stop() override {
    Lock lock(net_.mutex);
    end_->close();
    end_->reported.wait(lock, [this] { return end_->reports == 0; });
  }

  void close_later(double limit) override {
    const Lock lock(net_.mutex);
    if (std::exchange(closes_later_, true)) return;
    const Time at = net_.scheduler.time() + time_of(limit);
    net_.post(at, [end = std::weak_ptr(end_)] {
      if (const EndPtr open = end.lock()) open->close();
    });
  }

 protected:
  IoResult send_some(Piece piece, double limit) override {
    Lock lock(net_.mutex);
    size_t sent = 0;
    const bool in_time = end_->room.wait_for(lock, limit, [&] {
      if (!end_->connected()) return true;
      sent = end_->transmit(&piece, 1);
      return sent > 0;
    });
    if (sent > 0) return {IoEnd::done, sent};
    return in_time ? kClosedHere : IoResult{IoEnd::timed_out, 0, "timed out"};
  }

 private:
  State& net_;
  const EndPtr end_;
  bool closes_later_ = false;
};

class MemoryDialer final : public StreamDialer {
 public:
  MemoryDialer(State& net, uint32_t host, std::string url, const Place& to)
      : net_(net), host_(host), url_(std::move(url)), to_(to) {}

  Result<std::unique_ptr<Stream>> dial(double limit) override {
    Lock lock(net_.mutex);
    const Time back = net_.arrival(host_, to_.host, 0) + net_.arrival(to_.host, host_, 0) - net_.scheduler.time();
    const double round_trip = seconds(back - net_.scheduler.time());
    const bool no_reply = round_trip > limit || net_.crashed.contains(to_.host);
    if (cancelled_.wait_for(lock, no_reply ? limit : round_trip, [this] { return is_cancelled_; })) {
      return Error{Code::interrupted, "connecting to " + url_ + " was cancelled"};
    }
    if (no_reply) return Error{Code::timeout, "no connection to " + url_ + " in time"};
    EndPtr end = net_.connect(host_, to_);
    if (end == nullptr) return Error{Code::unreachable, "cannot connect to " + url_ + ": Connection refused"};
    return Result<std::unique_ptr<Stream>>(std::make_unique<MemoryStream>(net_, std::move(end)));
  }

  PortState probe(double limit) override {
    const auto stream = dial(limit);
    if (stream.ok()) return PortState::open;
    return stream.error().code == Code::unreachable ? PortState::closed : PortState::unknown;
  }

  void cancel() override {
    const Lock lock(net_.mutex);
    is_cancelled_ = true;
    cancelled_.notify_all();
  }

 private:
  State& net_;
  const uint32_t host_;
  const std::string url_;
  const Place to_;
  bool is_cancelled_ = false;
  WaitPoint cancelled_;
};

class MemoryListener final : public StreamListener {
 public:
  MemoryListener(State& net, const Place& at, std::string url, std::shared_ptr<Listening> listening)
      : net_(net), place_(at), url_(std::move(url)), listening_(std::move(listening)) {}
  ~MemoryListener() override { MemoryListener::close(); }

  const std::string& url() const noexcept override { return url_; }

  Result<std::unique_ptr<Stream>> accept() override {
    Lock lock(net_.mutex);
    listening_->changed.wait(lock, [this] { return listening_->closed || !listening_->waiting.empty(); });
    if (listening_->closed) return Error{Code::interrupted, "no longer listening at " + url_};
    EndPtr end = std::move(listening_->waiting.front());
    listening_->waiting.pop_front();
    return Result<std::unique_ptr<Stream>>(std::make_unique<MemoryStream>(net_, std::move(end)));
  }

  void close() override {
    const Lock lock(net_.mutex);
    if (std::exchange(listening_->closed, true)) return;
    net_.listeners.erase(place_);
    for (const EndPtr& end : listening_->waiting) end->close();
    listening_->changed.notify_all();
  }

 private:
  State& net_;
  const Place place_;
  const std::string url_;
  const std::shared_ptr<Listening> listening_;
};

class HostNetwork final : public StreamNetwork {
 public:
  HostNetwork(State& net, uint32_t host) : net_(net), host_(host) {}

  Result<std::unique_ptr<StreamDialer>> dialer(const std::string& url, const TlsFiles& /*files*/) override {
    const auto to = place_of(url, host_);
    if (!to) return Error{Code::bad_argument, "not an address to connect to in a rehearsal: " + url};
    return Result<std::unique_ptr<StreamDialer>>(std::make_unique<MemoryDialer>(net_, host_, url, *to));
  }

  Result<std::unique_ptr<StreamListener>> listen(const std::string& url, const TlsFiles& /*files*/) override {
    auto at = place_of(url, host_);
    if (!at) return Error{Code::bad_argument, "not an address to listen at in a rehearsal: " + url};
    const Lock lock(net_.mutex);
    std::string bound = url;
    if (at->port == 0) {
      at->port = net_.free_port(host_);
      bound.replace(bound.rfind(':') + 1, std::string::npos, std::to_string(at->port));
    }
    at->host = host_;
    const auto [made, is_new] = net_.listeners.emplace(*at, std::make_shared<Listening>());
    if (!is_new) return Error{Code::io, "cannot listen at " + url + ": address in use"};
    return Result<std::unique_ptr<StreamListener>>(
        std::make_unique<MemoryListener>(net_, *at, std::move(bound), made->second));
  }

 private:
  State& net_;
  const uint32_t host_;
};

}  // namespace

/// Connects a host to a place; null if no host listens there.
EndPtr MemoryNetwork::State::connect(uint32_t from, const Place& to) {
  const auto at = listeners.find(to);
  if (at == listeners.end()) return nullptr;
  auto dialled = std::make_shared<End>(*this, from, to);
  auto accepted = std::make_shared<End>(*this, to.host, Place{from, free_port(from)});
  dialled->other = accepted;
  accepted->other = dialled;
  std::erase_if(connections, [](const auto& connection) { return connection.expired(); });
  connections.push_back(dialled);
  at->second->waiting.push_back(std::move(accepted));
  at->second->changed.notify_all();
  return dialled;
}

/// A port of the host where nothing listens.
uint16_t MemoryNetwork::State::free_port(uint32_t host) {
  do {
    last_port = last_port == UINT16_MAX ? kFirstPort : static_cast<uint16_t>(last_port + 1);
  } while (listeners.contains({host, last_port}));
  return last_port;
}

/// The ends at a host of all connections.
std::vector<EndPtr> MemoryNetwork::State::ends_of(uint32_t host) const {
  std::vector<EndPtr> out;
  for (const auto& connection : connections) {
    const EndPtr end = connection.lock();
    if (end == nullptr) continue;
    for (const EndPtr& each : {end, end->other.lock()}) {
      if (each != nullptr && each->host == host) out.push_back(each);
    }
  }
  return out;
}

/// One end of each open connection between two hosts, the oldest first.
std::vector<EndPtr> MemoryNetwork::State::open_ends() const {
  std::vector<EndPtr> open;
  for (const auto& connection : connections) {
    const EndPtr end = connection.lock();
    const EndPtr other = end != nullptr ? end->other.lock() : nullptr;
    if (other != nullptr && end->host != other->host && end->connected() && other->connected()) open.push_back(end);
  }
  return open;
}

MemoryNetwork::MemoryNetwork(Scheduler& scheduler, const NetworkSettings& settings)
    : state_(std::make_unique<State>(scheduler, settings)) {}

MemoryNetwork::~MemoryNetwork() = default;

std::string MemoryNetwork::address_of(uint32_t host) {
  return "10.0." + std::to_string((host + 1) / 256) + "." + std::to_string((host + 1) % 256);
}

StreamNetwork& MemoryNetwork::at(uint32_t host) {
  auto& made = state_->hosts[host];
  if (made == nullptr) made = std::make_unique<HostNetwork>(*state_, host);
  return *made;
}

std::optional<std::pair<uint32_t, uint32_t>> MemoryNetwork::random_connection(Rng& random) const {
  const Lock lock(state_->mutex);
  const std::vector<EndPtr> open = state_->open_ends();
  if (open.empty()) return {};
  const EndPtr& end = open[random.below(open.size())];
  return std::pair{end->host, end->peer_place.host};
}

bool MemoryNetwork::break_between(uint32_t a, uint32_t b) {
  const Lock lock(state_->mutex);
  for (const EndPtr& end : state_->open_ends()) {
    if (std::minmax(end->host, end->peer_place.host) != std::minmax(a, b)) continue;
    const EndPtr other = end->other.lock();
    end->lose_bytes();
    other->lose_bytes();
    return true;
  }
  return false;
}

void MemoryNetwork::cut(const std::set<uint32_t>& part, bool both, Time until) {
  const Lock lock(state_->mutex);
  std::erase_if(state_->cuts, [this](const State::Cut& cut) { return cut.until <= state_->scheduler.time(); });
  state_->cuts.push_back({part, both, until});
}

void MemoryNetwork::kill(uint32_t host, bool crash) {
  const Lock lock(state_->mutex);
  const auto end_of = [crash](End& end) { crash ? end.vanish() : end.abandon(); };
  for (const EndPtr& end : state_->ends_of(host)) end_of(*end);
  std::erase_if(state_->listeners, [&](const auto& listener) {
    if (listener.first.host != host) return false;
    for (const EndPtr& end : listener.second->waiting) end_of(*end);
    listener.second->closed = true;
    return true;
  });
  if (crash) state_->crashed.insert(host);
}

void MemoryNetwork::revive(uint32_t host) {
  const Lock lock(state_->mutex);
  if (state_->crashed.erase(host) == 0) return;
  for (const EndPtr& end : state_->ends_of(host)) {
    const EndPtr other = end->other.lock();
    if (end->vanished && other != nullptr) other->lose_peer();
  }
}

uint64_t MemoryNetwork::writes() const noexcept { return state_->writes; }

}  // namespace actorhost::rehearsal
