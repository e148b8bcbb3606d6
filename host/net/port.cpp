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
  std::shared_ptr<std::atomic<bool>> asked;  // a wake-up for room is on its way; outlives a send that gives up
  for (;;) {
    Status sent = transport_.try_send(std::move(frame));
    if (sent.ok() || sent.error().code != Code::full) return sent;
    if (clock_.now() >= deadline) return timed_out("there was no room to send");
    if (!asked) asked = std::make_shared<std::atomic<bool>>(false);
    if (!asked->exchange(true)) {
      transport_.when_room(dst, [asked, inbox = std::weak_ptr(inbox_)] {
        asked->store(false);
        if (const auto alive = inbox.lock()) alive->wake();
      });
    }
    AH_TRY(wait(deadline));
  }
}

Result<Frame> Port::receive(const Match& match, double deadline) {
  size_t seen = 0;  // kept frames before this one do not match
  for (bool last_look = false;;) {
    for (; seen < kept_.size(); ++seen) {
      if (!match(kept_[seen])) continue;
      Frame found = std::move(kept_[seen]);
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(seen));
      ++taken_;
      return found;
    }
    if (last_look) return timed_out("what was waited for did not arrive").error();
    last_look = clock_.now() >= deadline;
    const uint64_t taken = taken_;
    AH_TRY(wait(deadline));
    if (taken != taken_) seen = 0;  // a control handler has received something itself: places have shifted
  }
}

Status Port::receive_all(const Match& match, double deadline, std::vector<Frame>& out) {
  const size_t before = out.size();
  for (bool last_look = false;; last_look = clock_.now() >= deadline) {
    AH_TRY(poll());
    take_matching(match, out);
    if (out.size() != before || last_look || clock_.now() >= deadline) return {};
    AH_TRY(wait(deadline));
  }
}

void Port::take_matching(const Match& match, std::vector<Frame>& out) {
  auto keep = kept_.begin();
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (match(*it)) {
      out.push_back(std::move(*it));
    } else {
      if (keep != it) *keep = std::move(*it);
      ++keep;
    }
  }
  if (keep != kept_.end()) ++taken_;
  kept_.erase(keep, kept_.end());
}

Status Port::poll() {
  inbox_->pop_all(arrived_, 0);
  return examine();
}

Status Port::wait(double deadline) {
  // What a nested wait has taken from the mailbox but not dealt with comes first: sleeping on it would be a
  // deadlock.
  if (next_ == arrived_.size()) {
    if (check_) AH_TRY(check_());
    const bool came = inbox_->pop_all(arrived_, deadline - clock_.now());
    if (!came && inbox_->closed()) {
      return Error{Code::interrupted, "the transport was closed while " + address_name(self_) + " was waiting"};
    }
    if (check_) AH_TRY(check_());
  }
  return examine();
}

Status Port::examine() {
  Status first;
  while (next_ < arrived_.size()) {
    Frame frame = std::move(arrived_[next_++]);
    if (!is_control(frame.kind) || !control_) {
      kept_.push_back(std::move(frame));
    } else {
      Status status = control_(std::move(frame));
      if (!status.ok() && first.ok()) first = std::move(status);
    }
  }
  arrived_.clear();
  next_ = 0;
  return first;
}

Status Port::timed_out(const char* what) const {
  return Error{Code::timeout, std::string(what) + " at " + address_name(self_) + " before the deadline"};
}

}  // namespace actorhost
