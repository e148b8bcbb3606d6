#include "host/net/link_polls.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace actorhost {

namespace {

// A poll of more sockets takes longer than the wake-up of a sleeping thread.
constexpr std::ptrdiff_t kMostSockets = 8;
// Seconds without a poll after which the nodes seem to compute.
constexpr double kGap = 1e-3;
// Seconds between two looks whether the nodes still poll. Each costs a wake-up.
constexpr double kWatch = 4e-3;

}  // namespace

void LinkPolls::add(const std::shared_ptr<Link>& link) {
  if (link->poll_cost() == PollCost::impossible) return;
  std::lock_guard lock(mutex_);
  all_.push_back(link);
  set_links();
}

void LinkPolls::remove(const std::shared_ptr<Link>& link) {
  std::lock_guard lock(mutex_);
  if (std::erase(all_, link) != 0) set_links();
}

void LinkPolls::set_links() {
  for (const auto& link : *polled_links_) link->set_reader(StreamReader::thread);
  reader_ = StreamReader::thread;
  const auto is_socket = [](const auto& link) { return link->poll_cost() == PollCost::system_call; };
  auto links = std::make_shared<Links>(all_);
  if (std::ranges::count_if(*links, is_socket) > kMostSockets) std::erase_if(*links, is_socket);
  const auto count = std::ranges::count_if(*links, [](const auto& link) { return link->bell() != nullptr; });
  bells_.store(static_cast<size_t>(count), std::memory_order_relaxed);
  polled_links_ = std::move(links);
  set_reader();
  links_changed_.ring();
}

void LinkPolls::set_reader() {
  StreamReader reader = StreamReader::thread;
  if (pollers_ > 0 || (often_ && !sleeper_ && sleepers_ == 0)) {
    reader = StreamReader::poller;
  } else if (sleeper_) {
    reader = StreamReader::sleeper;
  }
  if (std::exchange(reader_, reader) == reader) return;
  for (const auto& link : *polled_links_) link->set_reader(reader);
}

std::shared_ptr<const LinkPolls::Links> LinkPolls::start() {
  std::lock_guard lock(mutex_);
  ++pollers_;
  set_reader();
  return polled_links_;
}

bool LinkPolls::poll(Link& link) const {
  return link.poll([this, &link](std::vector<Frame>& frames) { return take_(link, frames); });
}

void LinkPolls::end(bool ready) {
  std::lock_guard lock(mutex_);
  --pollers_;
  ++polls_;
  if (ready && !polled_links_->empty()) {
    const double now = clock_.now();
    if (now - std::exchange(last_, now) < kGap && !often_ && start_watch()) {
      often_ = true;
      changed_.notify_one();
    }
  }
  set_reader();
}

bool LinkPolls::sleep(Mailbox& inbox, double seconds) {
  // Reads the counts of rings first: a later ring ends the wait at once.
  std::vector<Bell::Seen> bells{{&links_changed_, links_changed_.count()}, {&inbox.bell(), inbox.bell().count()}};
  std::shared_ptr<const Links> links;
  {
    std::lock_guard lock(mutex_);
    if (sleeper_ || !has_bells() || bells_ + bells.size() > Bell::most_at_once()) return false;
    sleeper_ = true;
    set_reader();
    links = polled_links_;
  }
  bool arrived = !inbox.arm_bell();
  for (const auto& link : *links) {
    Bell* const bell = link->bell();
    if (bell == nullptr) continue;
    bell->arm(Bell::kAny);  // again: bytes that the link's thread reads now may have disarmed it
    bells.push_back({bell, bell->count()});
    arrived = poll(*link) || arrived;
  }
  if (!arrived) Bell::wait_for_any(bells, seconds);
  inbox.disarm_bell();
  // Does not set the reader: the node polls next.
  std::lock_guard lock(mutex_);
  sleeper_ = false;
  return true;
}

void LinkPolls::count_sleepers(int change) {
  std::lock_guard lock(mutex_);
  sleepers_ += change;
  set_reader();
}

/// False if no thread can be started; then the links' threads take over after each poll.
bool LinkPolls::start_watch() {
  if (closed_) return false;
  try {
    if (!watch_.joinable()) watch_ = Task([this] { watch(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

/// Ends the time of frequent polls.
void LinkPolls::watch() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (!often_) {
      changed_.wait(lock);
      continue;
    }
    const uint64_t seen = polls_;
    changed_.wait_for(lock, kWatch);
    if (polls_ != seen || pollers_ != 0) continue;
    often_ = false;
    set_reader();
  }
}

void LinkPolls::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  if (watch_.joinable()) watch_.join();
}

}  // namespace actorhost
