#include "host/overlay/requests.hpp"

#include <algorithm>

namespace actorhost {

void Requests::find(const Peer& to, RingId key, int tries, OnFound done) {
  ask({to, Find{{}, key}, tries, now_, 0, std::move(done), nullptr});
}

void Requests::greet(const Peer& to, Greeting greeting, int tries, OnGreeted done) {
  ask({to, std::move(greeting), tries, now_, 0, nullptr, std::move(done)});
}

bool Requests::greets(NodeId node) const noexcept {
  const auto at = peers_.find(node);
  return at != peers_.end() && at->second.greetings > 0;
}

void Requests::heard(NodeId node) {
  const auto at = peers_.find(node);
  if (at != peers_.end()) at->second.heard = now_;
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
  Asked& asked = peers_[question.to.node];
  ++asked.questions;
  asked.greetings += question.found ? 0 : 1;
  waiting_.emplace(tag, std::move(question));
}

Requests::Question Requests::take(Waiting::iterator at) {
  Question question = std::move(at->second);
  waiting_.erase(at);
  const auto asked = peers_.find(question.to.node);
  asked->second.greetings -= question.found ? 0 : 1;
  if (--asked->second.questions == 0) peers_.erase(asked);
  return question;
}

bool Requests::answer(uint32_t tag, const Found& found) {
  const auto at = waiting_.find(tag);
  if (at == waiting_.end() || at->second.to.node != found.envelope.from.node || !at->second.found) return false;
  take(at).found(&found);
  return true;
}

bool Requests::answer(uint32_t tag, const Greeting& greeting) {
  const auto at = waiting_.find(tag);
  if (at == waiting_.end() || at->second.to.node != greeting.envelope.from.node || !at->second.greeted) return false;
  take(at).greeted(&greeting);
  return true;
}

double Requests::tick() {
  while (!waiting_.empty() && waiting_.begin()->second.due <= now_) {
    const double heard = peers_.at(waiting_.begin()->second.to.node).heard;
    Question question = take(waiting_.begin());
    if (question.tries > 0) {
      ask(std::move(question));
      peers_.at(question.to.node).heard = heard;
    } else {
      const bool silent = heard < question.begun;
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
    const auto here = at++;
    if (here->second.to.node == node) failed.push_back(take(here));
  }
  for (Question& question : failed) give_up(std::move(question));
}

void Requests::fail_all() {
  peers_.clear();
  for (auto& [tag, question] : std::exchange(waiting_, {})) give_up(std::move(question));
}

}  // namespace actorhost
