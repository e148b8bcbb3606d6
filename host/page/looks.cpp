#include "host/page/looks.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

constexpr double kAnswerSeconds = 5;  // timeout of a request; after it, Looks may send the next request
constexpr double kLastLooks = 0.02;   // seconds between requests for the state of an ended run

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

struct Looks::Inbox {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t asked = 0;  // number of the pending request; 0: none
  uint64_t looks = 0;
  std::optional<std::string> answer;
  StatePtr latest;
  bool last = false;  // `finish` waits for the state after the run's end
  bool woken = false;
  bool quit = false;
};

Looks::Looks(StateSource& source, const Clock& clock, Log& log, std::vector<Watcher*> watchers)
    : source_(source),
      clock_(clock),
      log_(log),
      watchers_(std::move(watchers)),
      inbox_(std::make_shared<Inbox>()),
      thread_([this] { serve(); }) {}

Looks::~Looks() { stop(); }

void Looks::wake() {
  std::lock_guard lock(inbox_->mutex);
  inbox_->woken = true;
  inbox_->changed.notify_all();
}

StatePtr Looks::finish(double seconds) {
  const bool watched = wanted() != kForever;
  std::unique_lock lock(inbox_->mutex);
  if (!watched) return inbox_->latest;
  inbox_->last = inbox_->woken = true;
  inbox_->changed.notify_all();
  inbox_->changed.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return !inbox_->last; });
  inbox_->last = false;
  return inbox_->latest;
}

void Looks::stop() {
  {
    std::lock_guard lock(inbox_->mutex);
    inbox_->quit = true;
    inbox_->changed.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

double Looks::wanted() const {
  double next = kForever;
  for (Watcher* watcher : watchers_) next = std::min(next, watcher->next_look());
  return next;
}

void Looks::serve() {
  double asked_at = 0;
  for (;;) {
    double next = wanted();
    std::unique_lock lock(inbox_->mutex);
    if (inbox_->quit) return;
    if (inbox_->last) next = asked_at + kLastLooks;
    const double now = clock_.now();
    if (inbox_->answer) {
      const std::string text = std::move(*std::exchange(inbox_->answer, std::nullopt));
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
    if (inbox_->asked != 0 && now >= asked_at + kAnswerSeconds) inbox_->asked = 0;
    if (inbox_->asked == 0 && now >= next) {
      const uint64_t look = inbox_->asked = ++inbox_->looks;
      asked_at = now;
      lock.unlock();
      source_.look(watched_sections(), [inbox = inbox_, look](std::string json) {
        std::lock_guard told(inbox->mutex);
        if (inbox->asked != look) return;  // timed out
        inbox->asked = 0;
        inbox->answer = std::move(json);
        inbox->changed.notify_all();
      });
      continue;
    }
    const double until = inbox_->asked == 0 ? next : asked_at + kAnswerSeconds;
    const auto news = [&] { return inbox_->quit || inbox_->answer || std::exchange(inbox_->woken, false); };
    if (until == kForever) {
      inbox_->changed.wait(lock, news);
    } else {
      inbox_->changed.wait_for(lock, std::chrono::duration<double>(std::max(0.0, until - now)), news);
    }
  }
}

StatePtr Looks::take(const std::string& text) {
  auto state = std::make_shared<nlohmann::json>(nlohmann::json::parse(text, nullptr, false));
  if (!state->is_object()) {
    if (!std::exchange(complained_, true))
      log_.warn("", "the state of the run cannot be shown: it is not a JSON object");
    state = std::make_shared<nlohmann::json>(nlohmann::json::object());
  }
  const double now = clock_.now();
  for (Watcher* watcher : watchers_) watcher->seen(state, now);
  return state;
}

}  // namespace actorhost
