#pragma once
// The network of a rehearsal: byte streams in memory between simulated hosts, on the scheduler's time. Host i has the
// address 10.0.x.y of `address_of`. A stream behaves like TCP: bytes arrive in order after a latency, a sender without
// room in the window waits, and a closed end still delivers the bytes in flight. No TLS.
//
// The network and all its streams are used by tasks only.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "host/base/non_copyable.hpp"
#include "host/base/random.hpp"
#include "host/net/byte_stream.hpp"
#include "host/rehearsal/deliveries.hpp"
#include "host/rehearsal/scheduler.hpp"

namespace actorhost::rehearsal {

class MemoryNetwork : private NonCopyable {
 public:
  MemoryNetwork(Scheduler& scheduler, const NetworkSettings& settings);
  ~MemoryNetwork();

  /// The address of a host; the number is below 2^16.
  static std::string address_of(uint32_t host);
  /// The network as `host` sees it. The network owns it.
  StreamNetwork& at(uint32_t host);
  /// The hosts of a random open connection between two hosts; no value without one.
  std::optional<std::pair<uint32_t, uint32_t>> random_connection(Rng& random) const;
  /// Breaks the oldest connection between two hosts: both ends lose the unread bytes. False if there is none.
  bool break_between(uint32_t a, uint32_t b);
  /// Until `until` no byte and no connection attempt gets from a host in `part` to any other host; afterwards they
  /// arrive. With `both` nor in the other direction.
  void cut(const std::set<uint32_t>& part, bool both, Time until);
  /// The process of a host has died: its connections end after the bytes in flight, and its ports refuse connections.
  /// `crash`: the machine has died, so its connections stay half-open, and connection attempts get no reply.
  void kill(uint32_t host, bool crash);
  /// A host starts again. It resets the connections that were half-open.
  void revive(uint32_t host);
  /// Number of writes so far.
  uint64_t writes() const noexcept;

  struct State;

 private:
  const std::unique_ptr<State> state_;
};

}  // namespace actorhost::rehearsal
