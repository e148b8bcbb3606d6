#include "host/overlay/requests.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr size_t kMostHeard = 1024;
constexpr int kMostTries = 10;  // of a question

}  // namespace

void Requests::find(const Peer& to, RingId key, int tries, OnFound done) {
  ask({to, Find{{}, key}, tries, now_, 0, std::move(done), nullptr});
}

void Requests::greet(const Peer& to, Window window, int tries, OnGreeted done) {
  ask({to, Greeting{{}, std::move(window)}, tries, now_, 0, nullptr, std::move(done)});
}

bool Requests::greets(NodeId node) const noexcept {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& item) {
    return item.second.to.node == node && std::holds_alternative<Greeting>(item.second.message);
  });
}

void Requests::heard(NodeId node) {
  // What was heard before all questions that wait tells nothing.
  if (heard_.size() >= kMostHeard) {
    std::erase_if(heard_, [&](const auto& one) { return one.second < now_ - kMostTries * patience_; });
  }
  heard_[node] = now_;
}

void Requests::ask(Question&& question) {
  question.due = now_ + patience_;
  --question.tries;
  const uint32_t tag = ++asked_;
  if (const auto* find = std::get_if<Find>(&question.message)) {
    send(overlay_kind::find, question.to, tag, *find);
  } else {
    send(overlay_kind::greet, question.to, tag, std::get<Greeting>(question.message));
  }
  waiting_.emplace(tag, std::move(question));
}

bool Requests::answer(uint32_t tag, const Found& found) {
  const auto at = waiting_.find(tag);
  if (at == waiting_.end() || at->second.to.node != found.envelope.from.node || !at->second.found) return false;
  const OnFound done = std::move(at->second.found);
  waiting_.erase(at);
  done(&found);
  return true;
}

bool Requests::answer(uint32_t tag, const Greeting& greeting) {
  const auto at = waiting_.find(tag);
  if (at == waiting_.end() || at->second.to.node != greeting.envelope.from.node || !at->second.greeted) return false;
  const OnGreeted done = std::move(at->second.greeted);
  waiting_.erase(at);
  done(&greeting);
  return true;
}

double Requests::tick() {
  while (!waiting_.empty() && waiting_.begin()->second.due <= now_) {
    Question question = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    if (question.tries > 0) {
      ask(std::move(question));
    } else {
      const auto spoke = heard_.find(question.to.node);
      const bool silent = spoke == heard_.end() || spoke->second < question.begun;
      if (silent && silent_) silent_(question.to, question.found ? overlay_kind::find : overlay_kind::greet);
      give_up(std::move(question));
    }
  }
  return waiting_.empty() ? kForever : waiting_.begin()->second.due;
}

void Requests::postpone(double seconds) {
  for (auto& [tag, question] : waiting_) question.due += seconds;
}

void Requests::give_up(Question&& question) {
  if (question.found) return question.found(nullptr);
  question.greeted(nullptr);
}

void Requests::fail(NodeId node) {
  std::vector<Question> failed;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (at->second.to.node == node) {
      failed.push_back(std::move(at->second));
      at = waiting_.erase(at);
    } else {
      ++at;
    }
  }
  for (Question& question : failed) give_up(std::move(question));
}

void Requests::fail_all() {
  for (auto& [tag, question] : std::exchange(waiting_, {})) give_up(std::move(question));
}

}  // namespace actorhost
