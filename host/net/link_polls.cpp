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
  if (std::exchange(polled_, false)) {
    for (const auto& link : *polled_links_) link->set_polled(false);
  }
  const auto is_socket = [](const auto& link) { return link->poll_cost() == PollCost::system_call; };
  auto links = std::make_shared<Links>(all_);
  if (std::ranges::count_if(*links, is_socket) > kMostSockets) std::erase_if(*links, is_socket);
  polled_links_ = std::move(links);
  set_polled();
}

void LinkPolls::set_polled() {
  const bool polled = pollers_ > 0 || (often_ && sleepers_ == 0);
  if (std::exchange(polled_, polled) == polled) return;
  for (const auto& link : *polled_links_) link->set_polled(polled);
}

std::shared_ptr<const LinkPolls::Links> LinkPolls::start() {
  std::lock_guard lock(mutex_);
  ++pollers_;
  set_polled();
  return polled_links_;
}

void LinkPolls::poll(Link& link) const {
  link.poll([this, &link](std::vector<Frame>& frames) { return take_(link, frames); });
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
  set_polled();
}

void LinkPolls::count_sleepers(int change) {
  std::lock_guard lock(mutex_);
  sleepers_ += change;
  set_polled();
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

/// Ends the time in which the nodes poll often.
void LinkPolls::watch() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (!often_) {
      changed_.wait(lock);
      continue;
    }
    const uint64_t seen = polls_;
    changed_.wait_for(lock, kGap);
    if (polls_ != seen || pollers_ != 0) continue;
    often_ = false;
    set_polled();
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
