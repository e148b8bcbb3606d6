#include "tests/host/net/sim_transport.hpp"

#include <algorithm>
#include <list>
#include <utility>

namespace actorhost {

struct SimTransport::Link {
  ProcessId from = 0;
  ProcessId to = 0;
  std::shared_ptr<const SimLink> settings;  // shared by all links without own settings
  bool lost = false;                        // cut
  double last_arrival = 0;
  double free_at = 0;  // end of the last transmission, for a limited bandwidth
  size_t queued_bytes = 0;
  std::list<Frame> backlog;  // frames before a full mailbox; costs nothing while it is empty
  std::vector<std::function<void()>> room_callbacks;

  bool has_room(size_t cost, size_t times) const {
    return queued_bytes == 0 || queued_bytes + cost <= times * settings->max_queued_bytes;
  }
};

namespace {

template <typename T>
uint32_t store(std::vector<T>& pool, std::vector<uint32_t>& free_slots, T value) {
  if (free_slots.empty()) {
    pool.push_back(std::move(value));
    return static_cast<uint32_t>(pool.size() - 1);
  }
  const uint32_t slot = free_slots.back();
  free_slots.pop_back();
  pool[slot] = std::move(value);
  return slot;
}

template <typename T>
T take(std::vector<T>& pool, std::vector<uint32_t>& free_slots, uint32_t slot) {
  free_slots.push_back(slot);
  return std::exchange(pool[slot], T());
}

constexpr auto later = [](const auto& a, const auto& b) {
  return a.time > b.time || (a.time == b.time && a.number > b.number);
};

}  // namespace

Latency constant_latency(double seconds) {
  return [seconds](Rng&) { return seconds; };
}

Latency uniform_latency(double low, double high) {
  return [low, high](Rng& rng) { return low + (high - low) * rng.uniform(); };
}

Latency exponential_latency(double mean) {
  return [mean](Rng& rng) { return rng.exponential(mean); };
}

SimTransport::SimTransport(ManualClock& clock, uint64_t seed)
    : clock_(clock),
      rng_(seed),
      default_link_(std::make_shared<const SimLink>()),
      inside_link_(std::make_shared<const SimLink>(SimLink{.latency = constant_latency(0)})),
      alive_(std::make_shared<SimTransport*>(this)) {}

SimTransport::~SimTransport() { close(); }

void SimTransport::place(Address address, ProcessId process) { places_[address] = process; }

void SimTransport::set_links(SimLink link) {
  auto settings = std::make_shared<const SimLink>(std::move(link));
  for (auto& [pair, existing] : links_) {
    if (existing->settings == default_link_) existing->settings = settings;
  }
  default_link_ = std::move(settings);
}

void SimTransport::set_link(ProcessId from, ProcessId to, SimLink link) {
  link_between(from, to).settings = std::make_shared<const SimLink>(std::move(link));
}

void SimTransport::cut(ProcessId a, ProcessId b) {
  for (Link* link : {&link_between(a, b), &link_between(b, a)}) {
    link->lost = true;
    counters_.lost += link->backlog.size();
    for (const Frame& frame : link->backlog) done_with(*link, frame.cost());
    link->backlog.clear();
  }
}

void SimTransport::heal(ProcessId a, ProcessId b) {
  for (Link* link : {&link_between(a, b), &link_between(b, a)}) {
    link->lost = false;
    if (!link->backlog.empty()) add_event(clock_.now(), link, kResume);
  }
}

void SimTransport::at(double time, std::function<void()> fn) {
  add_event(time, nullptr, store(callbacks_, free_callbacks_, std::move(fn)));
}

bool SimTransport::step() {
  if (events_.empty()) return false;
  std::pop_heap(events_.begin(), events_.end(), later);
  const Event event = events_.back();
  events_.pop_back();
  if (event.time > clock_.now()) clock_.set(event.time);
  if (event.link == nullptr) {
    take(callbacks_, free_callbacks_, event.slot)();
  } else if (event.slot == kResume) {
    resume(*event.link);
  } else {
    arrive(*event.link, take(frames_, free_frames_, event.slot));
  }
  return true;
}

void SimTransport::run_until(double time) {
  while (next_event_time() <= time && step()) {
  }
  if (time < kForever && time > clock_.now()) clock_.set(time);
}

bool SimTransport::run_until(const std::function<bool()>& done, double time) {
  while (!done()) {
    if (next_event_time() > time || !step()) return false;
  }
  return true;
}

Status SimTransport::attach(Address self, Mailbox& inbox) { return inboxes_.add(self, inbox); }

void SimTransport::detach(Address self) { inboxes_.remove(self); }

Status SimTransport::try_send(Frame&& frame) {
  if (!inboxes_.has(frame.dst)) return delivery_status(std::nullopt, frame.dst, inboxes_.closed());
  Link& link = link_between(process_of(frame.src), process_of(frame.dst));
  const size_t cost = frame.cost();
  if (!link.has_room(cost, is_control(frame.kind) ? Mailbox::kUrgentFactor : 1)) {
    refused_ = &link;
    return Error{Code::full, "no room on the way to " + address_name(frame.dst)};
  }
  ++counters_.sent;
  const double time = arrival_time(link, cost);
  const bool separated = separated_ && separated_(link.from, link.to);
  if (link.lost || separated || (link.settings->loss > 0 && rng_.uniform() < link.settings->loss)) {
    ++counters_.lost;
    [[maybe_unused]] const Frame dropped = std::move(frame);
    return {};
  }
  link.queued_bytes += cost;
  add_event(time, &link, store(frames_, free_frames_, std::move(frame)));
  return {};
}

void SimTransport::when_room(Address dst, std::function<void()> callback) {
  // The sender is unknown; in a single thread it is the sender of the last refused frame.
  if (refused_ == nullptr || refused_->to != process_of(dst) || refused_->queued_bytes == 0) return callback();
  refused_->room_callbacks.push_back(std::move(callback));
}

Status SimTransport::send(Frame&& frame, double seconds) {
  const double deadline = clock_.now() + seconds;
  for (;;) {
    Status status = try_send(std::move(frame));
    if (status.ok() || status.error().code != Code::full) return status;
    if (next_event_time() > deadline || !step()) break;
  }
  if (deadline < kForever && deadline > clock_.now()) clock_.set(deadline);
  return Error{Code::timeout, "no room on the way to " + address_name(frame.dst)};
}

void SimTransport::close() {
  inboxes_.close();
  alive_.reset();
  events_.clear();
  frames_.clear();
  free_frames_.clear();
  callbacks_.clear();
  free_callbacks_.clear();
  for (const auto& [pair, link] : links_) {
    link->backlog.clear();
    link->queued_bytes = 0;
    for (const auto& callback : std::exchange(link->room_callbacks, {})) callback();
  }
}

SimTransport::Link& SimTransport::link_between(ProcessId from, ProcessId to) {
  std::unique_ptr<Link>& link = links_[(uint64_t{from} << 32) | to];
  if (!link && !free_links_.empty()) {
    link = std::move(free_links_.back());
    free_links_.pop_back();
    *link = Link();
  } else if (!link) {
    link = std::make_unique<Link>();
  }
  if (!link->settings) {
    link->from = from;
    link->to = to;
    link->settings = from == to ? inside_link_ : default_link_;
  }
  return *link;
}

// An idle link equals a new link, so it is dropped: in large simulations most pairs send once.
void SimTransport::drop_idle(Link& link) {
  const bool plain = link.settings == (link.from == link.to ? inside_link_ : default_link_);
  if (!plain || link.lost || link.queued_bytes > 0 || !link.room_callbacks.empty()) return;
  if (refused_ == &link) refused_ = nullptr;
  const auto at = links_.find((uint64_t{link.from} << 32) | link.to);
  free_links_.push_back(std::move(at->second));
  links_.erase(at);
}

ProcessId SimTransport::process_of(Address address) const {
  const auto found = places_.find(address);
  return found != places_.end() ? found->second : address;
}

void SimTransport::add_event(double time, Link* link, uint32_t slot) {
  events_.push_back({std::max(time, clock_.now()), events_made_++, link, slot});
  std::push_heap(events_.begin(), events_.end(), later);
}

double SimTransport::arrival_time(Link& link, size_t cost) {
  double leaves = clock_.now();
  if (link.settings->bytes_per_second < kForever) {
    leaves = std::max(leaves, link.free_at) + static_cast<double>(cost) / link.settings->bytes_per_second;
    link.free_at = leaves;
  }
  link.last_arrival = std::max(leaves + link.settings->latency(rng_), link.last_arrival);
  return link.last_arrival;
}

void SimTransport::arrive(Link& link, Frame&& frame) {
  if (link.lost || (separated_ && separated_(link.from, link.to))) {
    ++counters_.lost;
    done_with(link, frame.cost());
    return;
  }
  if (!link.backlog.empty() || !deliver(link, frame)) return link.backlog.push_back(std::move(frame));
  drop_idle(link);
}

/// False when the mailbox is full; the link resumes when there is room.
bool SimTransport::deliver(Link& link, Frame& frame) {
  const size_t cost = frame.cost();
  const Address dst = frame.dst;
  const auto put = inboxes_.deliver(std::move(frame));
  if (put == Mailbox::Put::full) {
    inboxes_.when_room(dst, [alive = std::weak_ptr(alive_), to = &link] {
      if (const auto sim = alive.lock()) (*sim)->add_event((*sim)->clock_.now(), to, kResume);
    });
    return false;
  }
  done_with(link, cost);
  if (put == Mailbox::Put::ok) {
    ++counters_.delivered;
    if (delivered_) delivered_(dst);
  } else {
    ++counters_.lost;
  }
  return true;
}

void SimTransport::resume(Link& link) {
  while (!link.backlog.empty()) {
    if (!deliver(link, link.backlog.front())) return;
    link.backlog.pop_front();
  }
}

void SimTransport::done_with(Link& link, size_t cost) {
  link.queued_bytes -= cost;
  if (link.room_callbacks.empty()) return;
  for (const auto& callback : std::exchange(link.room_callbacks, {})) callback();
}

}  // namespace actorhost
