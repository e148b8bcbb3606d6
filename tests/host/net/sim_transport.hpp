#pragma once
// A network on virtual time: frames arrive after a latency drawn from a seeded generator, may be lost,
// overtake each other, or meet a cut. One thread owns it with all simulated nodes, their mailboxes and the
// clock; nothing ever waits. A test runs the simulation by `step` or `run_until`, which move the clock to
// the next event, and lets nodes act on what arrived (`on_delivered`) or on timers (`at`). The same seed and
// calls give the same run, event for event.

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/random.hpp"
#include "host/net/directory.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

/// Seconds under way for one frame.
using Latency = std::function<double(Rng&)>;
Latency constant_latency(double seconds);
Latency uniform_latency(double low, double high);
Latency exponential_latency(double mean);

/// How frames travel from one process to another. By default as over a stream: in order, none lost.
struct SimLink {
  Latency latency = constant_latency(50e-6);
  double loss = 0;       // probability that a frame vanishes
  bool reorder = false;  // a frame may arrive before one that was sent earlier
  double bytes_per_second = kForever;
  size_t max_queued_bytes = size_t{64} << 20;  // under way and undelivered; then try_send says full
};

enum class Cut {
  lose,  // frames that are under way or sent over the cut are gone
  hold   // they wait and arrive, in order, once the cut is healed
};

class SimTransport final : public Transport {
 public:
  SimTransport(ManualClock& clock, uint64_t seed);
  ~SimTransport() override;

  /// `address` lives in `process`; to be said before it sends or is sent to. Otherwise each address is a
  /// process of its own, with the same number.
  void place(Address address, ProcessId process);
  /// For all pairs of different processes without a link of their own. Frames inside a process take no time
  /// and are never lost, unless set_link(p, p, ...) says otherwise.
  void set_links(SimLink link);
  /// Sets the link from `from` to `to`, one way.
  void set_link(ProcessId from, ProcessId to, SimLink link);
  /// Cuts both ways between two processes.
  void cut(ProcessId a, ProcessId b, Cut how = Cut::lose);
  void heal(ProcessId a, ProcessId b);
  /// Frames are lost between all processes for which `apart` holds, until it is set anew; nullptr: between none.
  void part(std::function<bool(ProcessId, ProcessId)> apart) { apart_ = std::move(apart); }

  /// Runs `fn` at `time` (now, if that has passed). Events of one time run in the order in which they were
  /// made.
  void at(double time, std::function<void()> fn);
  /// Called after a frame was put into the mailbox of `address`.
  void on_delivered(std::function<void(Address)> told) { delivered_ = std::move(told); }

  /// Moves the clock to the next event and runs it; false when there is none.
  bool step();
  /// Runs every event up to `time` and leaves the clock there (kForever: at the last event).
  void run_until(double time);
  /// Runs events until `done` holds; false when it does not by `time` or no event is left.
  bool run_until(const std::function<bool()>& done, double time);
  /// kForever when there is none.
  double next_event_time() const noexcept { return events_.empty() ? kForever : events_.front().time; }
  Rng& rng() noexcept { return rng_; }

  struct Counters {
    uint64_t sent = 0, delivered = 0, lost = 0;
  };
  const Counters& counters() const noexcept { return counters_; }

  Status attach(Address self, Mailbox& inbox) override;
  void detach(Address self) override;
  Status try_send(Frame&& frame) override;
  void when_room(Address dst, std::function<void()> told) override;
  /// Runs the simulation while there is no room, for up to `seconds` of its time. Not from inside an event.
  Status send(Frame&& frame, double seconds) override;
  void close() override;

 private:
  struct Link;
  struct Event {
    double time;
    uint64_t number;  // ties run in the order of creation
    Link* link;       // nullptr: a callback
    uint32_t slot;    // of frames_ or callbacks_; kResume: deliver what the link has held back
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
  std::unordered_map<uint64_t, std::unique_ptr<Link>> links_;  // in use, or not like all others
  std::vector<std::unique_ptr<Link>> free_links_;
  std::function<bool(ProcessId, ProcessId)> apart_;
  std::shared_ptr<const SimLink> default_link_;  // shared by the links that it holds for
  std::shared_ptr<const SimLink> inside_link_;
  Link* refused_ = nullptr;    // by the last try_send that said full
  std::vector<Event> events_;  // a heap, the next one in front
  uint64_t events_made_ = 0;
  std::vector<Frame> frames_;
  std::vector<uint32_t> free_frames_;
  std::vector<std::function<void()>> callbacks_;
  std::vector<uint32_t> free_callbacks_;
  std::function<void(Address)> delivered_;
  Counters counters_;
  std::shared_ptr<SimTransport*> alive_;  // mailboxes keep a weak one in their calls for room
};

}  // namespace actorhost
