#include "host/net/transport.hpp"

#include <memory>
#include <mutex>

#include "host/base/printable.hpp"
#include "host/base/tasks.hpp"

namespace actorhost {

namespace {

/// A sleeping thread; shared with the callback that ends its sleep, which may run after the thread has given up.
struct Sleeper {
  std::mutex mutex;
  WaitPoint changed;
  bool notified = false;

  void notify() {
    {
      std::lock_guard lock(mutex);
      notified = true;
    }
    changed.notify_one();
  }
  void sleep_until(double deadline, const Clock& clock) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, deadline - clock.now(), [this] { return notified; });
  }
};

}  // namespace

Status Transport::try_send_together(Frame&& frame, Writes& /*writes*/) { return try_send(std::move(frame)); }

bool Transport::pop_all(Mailbox& inbox, SpinWait& /*spin*/, std::vector<Frame>& out, double seconds) {
  return inbox.pop_all(out, seconds);
}

Status Transport::send(Frame&& frame, double seconds) {
  const SteadyClock clock;
  const double deadline = clock.now() + seconds;
  const Address dst = frame.dst;
  for (;;) {
    Status status = try_send(std::move(frame));
    if (status.ok() || status.error().code != Code::full) return status;
    if (clock.now() >= deadline) {
      return Error{Code::timeout, "no room at " + address_name(dst) + " for " + seconds_text(seconds)};
    }
    auto sleeper = std::make_shared<Sleeper>();
    when_room(dst, [sleeper] { sleeper->notify(); });
    sleeper->sleep_until(deadline, clock);
  }
}

}  // namespace actorhost
