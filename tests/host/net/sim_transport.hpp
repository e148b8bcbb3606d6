#pragma once
// A network on virtual time. Frames arrive after a latency from a seeded generator, and may be lost or cut
// off. One thread owns the network, all simulated nodes, their mailboxes and the clock; nothing blocks. A test runs the
// simulation by `step` or `run_until`, which advance the clock to the next event. Nodes act on arrivals
// (`on_delivered`) or timers (`at`). The same seed and calls give the same run, event for event.

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/random.hpp"
#include "host/net/directory.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

/// Seconds in flight of a frame.
using Latency = std::function<double(Rng&)>;
Latency constant_latency(double seconds);
Latency uniform_latency(double low, double high);
Latency exponential_latency(double mean);

/// The link from one process to another. The default behaves like a stream: in order, no losses.
struct SimLink {
  Latency latency = constant_latency(50e-6);
  double loss = 0;  // probability that a frame vanishes
  double bytes_per_second = kForever;
  size_t max_queued_bytes = size_t{64} << 20;  // in flight and undelivered; above this, try_send returns full
};

class SimTransport final : public Transport {
 public:
  SimTransport(ManualClock& clock, uint64_t seed);
  ~SimTransport() override;

  /// Puts `address` into `process`; to be called before its first frame. Without it, each address is a process of its
  /// own, with the same number.
  void place(Address address, ProcessId process);
  /// Sets the links of all pairs of different processes without own settings. Frames within a process take no time and
  /// are never lost, unless set_link(p, p, ...) changes that.
  void set_links(SimLink link);
  /// Sets the link from `from` to `to`, in one direction.
  void set_link(ProcessId from, ProcessId to, SimLink link);
  /// Cuts both directions between two processes: frames in flight, and frames sent during the cut, are lost.
  void cut(ProcessId a, ProcessId b);
  void heal(ProcessId a, ProcessId b);
  /// Loses frames between all pairs for which `separated` holds, until the next call; nullptr: none.
  void partition(std::function<bool(ProcessId, ProcessId)> separated) { separated_ = std::move(separated); }

  /// Runs `fn` at `time`, or now if that is in the past. Simultaneous events run in the order of their creation.
  void at(double time, std::function<void()> fn);
  /// Called after each delivery to the mailbox of `address`.
  void on_delivered(std::function<void(Address)> callback) { delivered_ = std::move(callback); }

  /// Moves the clock to the next event and runs the event; false without one.
  bool step();
  /// Runs every event up to `time` and leaves the clock there (kForever: at the last event).
  void run_until(double time);
  /// Runs events until `done` holds; false if it does not by `time` or no event is left.
  bool run_until(const std::function<bool()>& done, double time);
  /// Time of the next event, or kForever.
  double next_event_time() const noexcept { return events_.empty() ? kForever : events_.front().time; }
  Rng& rng() noexcept { return rng_; }

  struct Counters {
    uint64_t sent = 0, delivered = 0, lost = 0;
  };
  const Counters& counters() const noexcept { return counters_; }

  Status attach(Address self, Mailbox& inbox) override;
  void detach(Address self) override;
  Status try_send(Frame&& frame) override;
  void when_room(Address dst, std::function<void()> callback) override;
  /// Runs the simulation until there is room, for up to `seconds` of virtual time. Must not be called inside an event.
  Status send(Frame&& frame, double seconds) override;
  void close() override;

 private:
  struct Link;
  struct Event {
    double time;
    uint64_t number;  // orders simultaneous events by creation
    Link* link;       // nullptr: a callback
    uint32_t slot;    // index in frames_ or callbacks_; kResume: delivers the link's backlog
  };
  static constexpr uint32_t kResume = 0xffffffffU;

  Link& link_between(ProcessId from, ProcessId to);
  void drop_idle(Link& link);
  ProcessId process_of(Address address) const;
  void add_event(double time, Link* link, uint32_t slot);
  void arrive(Link& link, Frame&& frame);
  bool deliver(Link& link, Frame& frame);
  void resume(Link& link);
  void done_with(Link& link, size_t cost);
  double arrival_time(Link& link, size_t cost);

  ManualClock& clock_;
  Rng rng_;
  Directory inboxes_;
  std::unordered_map<Address, ProcessId> places_;
  std::unordered_map<uint64_t, std::unique_ptr<Link>> links_;  // links in use or with own settings
  std::vector<std::unique_ptr<Link>> free_links_;
  std::function<bool(ProcessId, ProcessId)> separated_;
  std::shared_ptr<const SimLink> default_link_;  // shared by the links without own settings
  std::shared_ptr<const SimLink> inside_link_;
  Link* refused_ = nullptr;    // link of the last try_send that returned full
  std::vector<Event> events_;  // a heap with the next event in front
  uint64_t events_made_ = 0;
  std::vector<Frame> frames_;
  std::vector<uint32_t> free_frames_;
  std::vector<std::function<void()>> callbacks_;
  std::vector<uint32_t> free_callbacks_;
  std::function<void(Address)> delivered_;
  Counters counters_;
  std::shared_ptr<SimTransport*> alive_;  // the room callbacks in mailboxes hold weak pointers to it
};

}  // namespace actorhost
