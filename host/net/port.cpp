#include "host/net/port.hpp"

#include <atomic>
#include <cassert>
#include <utility>

namespace actorhost {

Port::Port(Transport& transport, Address self, const Clock& clock, std::shared_ptr<Mailbox> attached)
    : transport_(transport),
      self_(self),
      clock_(clock),
      inbox_(attached ? std::move(attached) : attach(transport, self)) {}

std::shared_ptr<Mailbox> Port::attach(Transport& transport, Address self) {
  auto inbox = std::make_shared<Mailbox>();
  const Status attached = transport.attach(self, *inbox);
  assert(attached.ok() || attached.error().code == Code::interrupted);
  if (!attached.ok()) inbox->close();
  return inbox;
}

Port::~Port() {
  transport_.detach(self_);
  inbox_->close();
}

Status Port::send(Frame&& frame, double deadline) {
  frame.src = self_;
  const Address dst = frame.dst;
  const size_t cost = frame.cost();
  std::shared_ptr<std::atomic<bool>> pending;  // a room callback is pending; outlives a send that gives up
  for (;;) {
    Status sent = transport_.try_send(std::move(frame));
    if (sent.ok() && stats_ != nullptr) stats_->message_bytes.add(static_cast<double>(cost));
    if (sent.ok() || sent.error().code != Code::full) return sent;
    const double now = clock_.now();
    if (now >= deadline) return timed_out("there was no room to send");
    if (!pending) pending = std::make_shared<std::atomic<bool>>(false);
    if (!pending->exchange(true)) {
      transport_.when_room(dst, [pending, inbox = std::weak_ptr(inbox_)] {
        pending->store(false);
        if (const auto alive = inbox.lock()) alive->wake();
      });
    }
    const auto waited = wait(now, deadline, [](Frame&) { return Take::no; });
    if (!waited.ok()) return waited.error();
  }
}

Result<Frame> Port::receive(const Match& match, double deadline) {
  size_t seen = 0;  // stored frames before this index do not match
  Frame found;
  const auto take = [&](Frame& frame) {
    if (!match(frame)) return Take::no;
    found = std::move(frame);
    return Take::last;
  };
  for (bool last_try = false;;) {
    for (; seen < unreceived_.size(); ++seen) {
      if (!match(unreceived_[seen])) continue;
      found = std::move(unreceived_[seen]);
      unreceived_.erase(unreceived_.begin() + static_cast<std::ptrdiff_t>(seen));
      return found;
    }
    if (last_try) return timed_out("no expected frame arrived").error();
    const double now = clock_.now();
    last_try = now >= deadline;
    auto took = wait(now, deadline, take);
    if (!took.ok()) return took.error();
    if (*took) return found;
  }
}

Status Port::receive_all(const Match& match, double deadline, std::vector<Frame>& out) {
  const size_t before = out.size();
  take_matching(match, out);
  const auto take = [&](Frame& frame) {
    if (!match(frame)) return Take::no;
    out.push_back(std::move(frame));
    return Take::more;
  };
  inbox_->pop_all(arrived_, 0);
  auto took = examine(take);
  for (bool last_try = false; took.ok() && out.size() == before && !last_try;) {
    const double now = clock_.now();
    last_try = now >= deadline;
    took = wait(now, deadline, take);
  }
  return took.ok() ? Status() : took.error();
}

Status Port::receive_some(const Match& match, double deadline, std::vector<Frame>& out) {
  const size_t before = out.size();
  take_matching(match, out);
  if (out.size() > before) return {};
  // The wait ends at once if `wake` was called since the last wait.
  const auto took = wait(clock_.now(), deadline, [&](Frame& frame) {
    if (!match(frame)) return Take::no;
    out.push_back(std::move(frame));
    return Take::more;
  });
  return took.ok() ? Status() : took.error();
}

std::function<size_t()> Port::queue_length() const {
  return [inbox = std::weak_ptr(inbox_)] {
    const auto alive = inbox.lock();
    return alive ? alive->frames() : 0;
  };
}

std::function<void()> Port::waker() const {
  return [inbox = std::weak_ptr(inbox_)] {
    if (const auto alive = inbox.lock()) alive->wake();
  };
}

void Port::take_matching(const Match& match, std::vector<Frame>& out) {
  auto kept = unreceived_.begin();
  for (auto it = unreceived_.begin(); it != unreceived_.end(); ++it) {
    if (match(*it)) {
      out.push_back(std::move(*it));
    } else {
      if (kept != it) *kept = std::move(*it);
      ++kept;
    }
  }
  unreceived_.erase(kept, unreceived_.end());
}

Status Port::poll() {
  inbox_->pop_all(arrived_, 0);
  const auto took = examine([](Frame&) { return Take::no; });
  return took.ok() ? Status() : took.error();
}

Status Port::wait_until(const std::function<bool()>& done, double deadline) {
  AH_TRY(poll());
  while (!done()) {
    const double now = clock_.now();
    if (now >= deadline) return timed_out("the awaited condition did not hold");
    auto waited = wait(now, deadline, [](Frame&) { return Take::no; });
    if (!waited.ok()) return waited.error();
  }
  return {};
}

template <typename Taker>
Result<bool> Port::wait(double now, double deadline, Taker take) {
  // Examines read frames first, since a wait would not end because of them.
  if (next_ == arrived_.size()) {
    if (check_) AH_TRY(check_());
    if (handler_ != nullptr) handler_->before_wait();
    if (stats_ != nullptr) stats_->blocked(now);
    const bool popped = transport_.pop_all(*inbox_, spin_, arrived_, deadline - now);
    if (stats_ != nullptr) stats_->woken(clock_.now());
    if (!popped && inbox_->closed()) {
      return Error{Code::interrupted, "the transport was closed while " + address_name(self_) + " was waiting"};
    }
    if (check_) AH_TRY(check_());
  }
  return examine(take);
}

template <typename Taker>
Result<bool> Port::examine(Taker take) {
  bool took = false;
  while (next_ < arrived_.size()) {
    Frame& arrived = arrived_[next_++];
    if (stats_ != nullptr) {
      stats_->frames_received.add(1);
      stats_->bytes_received.add(arrived.cost());
    }
    if (handler_ != nullptr && within(arrived.kind, handled_kinds_)) {
      handler_->on_frame(std::move(arrived));
      continue;
    }
    const Take taken = take(arrived);
    if (taken == Take::no) unreceived_.push_back(std::move(arrived));
    took = took || taken != Take::no;
    if (taken == Take::last && next_ < arrived_.size()) return true;
  }
  // Clears the list also when its last frame was the match, so that examined frames do not accumulate.
  arrived_.clear();
  next_ = 0;
  return took;
}

Status Port::timed_out(const char* what) const {
  return Error{Code::timeout, std::string(what) + " at " + address_name(self_) + " before the deadline"};
}

}  // namespace actorhost
