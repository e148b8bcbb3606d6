#include "host/page/state_poller.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "host/base/outside_json.hpp"
#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

constexpr double kReplySeconds = 5;        // timeout of a request; after it, the next request may be sent
constexpr double kLastPollSeconds = 0.02;  // seconds between requests for the state of an ended run

/// Whether the run has ended and each node knows.
bool is_over(const nlohmann::json& state) {
  if (!field(field(state, "run"), "ended").is_string()) return false;
  for (const nlohmann::json& node : list(state, "nodes")) {
    const std::string is = text(node, "state");
    if (is == "computing" || is == "waiting" || is == "starting") return false;
  }
  return true;
}

}  // namespace

const std::vector<std::string>& watched_sections() {
  static const std::vector<std::string> kSections = {"barrier", "keys",   "stages",    "members",
                                                     "log",     "series", "histograms"};
  return kSections;
}

struct StatePoller::Inbox {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t pending = 0;  // number of the pending request; 0: none
  uint64_t requests = 0;
  std::optional<std::string> reply;
  StatePtr latest;
  bool last = false;  // `finish` waits for the state after the run's end
  bool woken = false;
  bool quit = false;
};

StatePoller::StatePoller(StateSource& source, const Clock& clock, Log& log, std::vector<Watcher*> watchers)
    : source_(source),
      clock_(clock),
      log_(log),
      watchers_(std::move(watchers)),
      inbox_(std::make_shared<Inbox>()),
      thread_([this] { serve(); }) {}

StatePoller::~StatePoller() { stop(); }

void StatePoller::wake() {
  std::lock_guard lock(inbox_->mutex);
  inbox_->woken = true;
  inbox_->changed.notify_all();
}

StatePtr StatePoller::finish(double seconds) {
  const bool watched = wanted() != kForever;
  std::unique_lock lock(inbox_->mutex);
  if (!watched) return inbox_->latest;
  inbox_->last = inbox_->woken = true;
  inbox_->changed.notify_all();
  inbox_->changed.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return !inbox_->last; });
  inbox_->last = false;
  return inbox_->latest;
}

void StatePoller::stop() {
  {
    std::lock_guard lock(inbox_->mutex);
    inbox_->quit = true;
    inbox_->changed.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

double StatePoller::wanted() const {
  double next = kForever;
  for (Watcher* watcher : watchers_) next = std::min(next, watcher->next_poll());
  return next;
}

std::vector<std::string> StatePoller::wanted_sections() const {
  std::set<std::string> wanted;
  for (Watcher* watcher : watchers_) {
    for (std::string& name : watcher->sections()) wanted.insert(std::move(name));
  }
  return {wanted.begin(), wanted.end()};
}

void StatePoller::serve() {
  double requested_at = 0;
  for (;;) {
    double next = wanted();
    std::unique_lock lock(inbox_->mutex);
    if (inbox_->quit) return;
    if (inbox_->last) next = requested_at + kLastPollSeconds;
    const double now = clock_.now();
    if (inbox_->reply) {
      const std::string text = std::move(*std::exchange(inbox_->reply, std::nullopt));
      lock.unlock();
      const StatePtr state = take(text);
      lock.lock();
      inbox_->latest = state;
      if (inbox_->last && is_over(*state)) {
        inbox_->last = false;
        inbox_->changed.notify_all();
      }
      continue;
    }
    if (inbox_->pending != 0 && now >= requested_at + kReplySeconds) inbox_->pending = 0;
    if (inbox_->pending == 0 && now >= next) {
      const uint64_t number = inbox_->pending = ++inbox_->requests;
      requested_at = now;
      lock.unlock();
      source_.request_state(wanted_sections(), [inbox = inbox_, number](std::string json) {
        std::lock_guard inbox_lock(inbox->mutex);
        if (inbox->pending != number) return;  // timed out
        inbox->pending = 0;
        inbox->reply = std::move(json);
        inbox->changed.notify_all();
      });
      continue;
    }
    const double until = inbox_->pending == 0 ? next : requested_at + kReplySeconds;
    const auto news = [&] { return inbox_->quit || inbox_->reply || std::exchange(inbox_->woken, false); };
    if (until == kForever) {
      inbox_->changed.wait(lock, news);
    } else {
      inbox_->changed.wait_for(lock, std::chrono::duration<double>(std::max(0.0, until - now)), news);
    }
  }
}

StatePtr StatePoller::take(const std::string& text) {
  auto state = std::make_shared<nlohmann::json>(parse_outside_json(text));
  if (!state->is_object()) {
    if (!std::exchange(warned_, true)) log_.warn("", "the state of the run cannot be shown: it is not a JSON object");
    state = std::make_shared<nlohmann::json>(nlohmann::json::object());
  }
  const double now = clock_.now();
  for (Watcher* watcher : watchers_) watcher->seen(state, now);
  return state;
}

}  // namespace actorhost
