#include "host/cluster/question_desk.hpp"

#include <algorithm>

namespace actorhost {

namespace {

/// Why a node without a seat does not run chunks.
std::string absence(Address node) {
  const std::string ended = address_name(node) + " has ended its script";
  return is_worker(node) ? ended : ended + ": no param.run is in progress";
}

}  // namespace

Status QuestionDesk::take(const Frame& frame) {
  std::lock_guard lock(mutex_);
  if (frame.kind == console_kind::ask) {
    auto ask = unpack<ConsoleAsk>(frame.meta.view());
    if (!ask) return ask.error();
    on_ask(std::move(*ask), frame.body);
  } else if (frame.kind == console_kind::cut) {
    const auto cut = unpack<ConsoleCut>(frame.meta.view());
    if (!cut) return cut.error();
    on_cut(*cut);
  } else if (frame.kind == console_kind::over) {
    const auto over = unpack<ConsoleOver>(frame.meta.view());
    if (!over) return over.error();
    for (Together& each : together_) {
      if (each.question->ask.chunk == over->chunk) each.ok = over->ok;
    }
  } else if (frame.kind == console_kind::hold) {
    const auto hold = unpack<ConsoleHold>(frame.meta.view());
    if (!hold) return hold.error();
    paused_ = hold->paused;
    for (const auto& [node, seat] : seats_) look(*seat);
  }
  return {};
}

void QuestionDesk::on_ask(ConsoleAsk&& ask, const Blob& source) {
  const auto question = std::make_shared<const Question>(Question{std::move(ask), std::string(source.view())});
  if (question->ask.together) together_.push_back({question});
  for (const Address node : question->ask.nodes) {
    const auto at = seats_.find(node);
    if (at == seats_.end() && is_worker(node) && !gone_.contains(node)) {
      if (!question->ask.together) early_[node].push_back(question);
      continue;
    }
    if (at == seats_.end()) {
      refuse(*question, node, absence(node));
      continue;
    }
    if (!question->ask.together) at->second->waiting.push_back(question);
    look(*at->second);
  }
  if (!question->ask.together) return;
  for (const auto& [node, seat] : seats_) {
    if (is_server(node)) look(*seat);
  }
}

void QuestionDesk::on_cut(const ConsoleCut& cut) {
  const auto is_it = [&](const auto& question) { return question->ask.chunk == cut.chunk; };
  for (Together& each : together_) {
    if (!is_it(each.question)) continue;
    each.cut = each.cut || cut.why.empty();
    each.why_failed = cut.why;
  }
  for (const auto& [node, seat] : seats_) {
    look(*seat);
    if (const auto at = std::find_if(seat->waiting.begin(), seat->waiting.end(), is_it); at != seat->waiting.end()) {
      ConsoleDone done{cut.chunk, node, false, true, false};
      done.error = "interrupted before it ran";
      send(console_kind::done, pack(done));
      seat->waiting.erase(at);
      look(*seat);
    }
    for (Seat::Running& running : seat->running) {
      if (!is_it(running.question)) continue;
      if (cut.why.empty()) {
        running.cut = true;
        seat->cut_ = true;
        if (seat->interrupt) seat->interrupt();
      } else {
        seat->why_failed = cut.why;
        seat->failed_ = true;
      }
      seat->wake();
    }
  }
}

bool QuestionDesk::insist() {
  std::lock_guard lock(mutex_);
  bool any = false;
  for (const auto& [node, seat] : seats_) {
    if (!seat->cut()) continue;
    any = true;
    if (seat->interrupt) seat->interrupt();
  }
  return any;
}

void QuestionDesk::let_go() {
  std::lock_guard lock(mutex_);
  paused_ = false;
  for (const auto& [node, seat] : seats_) {
    seat->waiting.clear();
    look(*seat);
    for (Seat::Running& running : seat->running) running.cut = seat->cut_ = true;
    if (seat->cut() && seat->interrupt) seat->interrupt();
  }
}

void QuestionDesk::send(Kind kind, std::string_view meta, std::string_view body) {
  send_(make_frame(kind, kNoAddress, service_address(0), 0, meta, body.empty() ? Blob() : Blob::copy_of(body)));
}

void QuestionDesk::refuse(const Question& question, Address node, const std::string& why) {
  ConsoleDone done{question.ask.chunk, node, false, false, false};
  done.error = why;
  send(console_kind::done, pack(done));
}

/// Sets the node's flags, and wakes it if there is work. A pause does not hold a node back from a cancelled chunk for
/// all nodes that it has not begun, because the chunk ends only once it has ended on every node. With the mutex held.
void QuestionDesk::look(Seat& seat) {
  const size_t next = find_together(seat);
  const bool given_up = seat.running.empty() && next < together_.size() && together_[next].cut;
  seat.held_ = paused_ && is_worker(seat.node) && !given_up;
  seat.asked_ = !seat.waiting.empty();
  seat.called_ = seat.asked_ || seat.held_ || (seat.idle && next < together_.size());
  seat.wake();
}

std::shared_ptr<QuestionDesk::Seat> QuestionDesk::sit(Address node, std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  auto seat = std::make_shared<Seat>();
  seat->node = node;
  seat->wake = std::move(wake);
  seat->waiting = std::exchange(early_[node], {});
  early_.erase(node);
  seats_[node] = seat;
  look(*seat);
  return seat;
}

void QuestionDesk::set_interrupt(Seat& seat, std::function<void()> interrupt) {
  std::lock_guard lock(mutex_);
  seat.interrupt = std::move(interrupt);
}

void QuestionDesk::rise(const std::shared_ptr<Seat>& seat) {
  std::lock_guard lock(mutex_);
  if (const auto at = seats_.find(seat->node); at != seats_.end() && at->second == seat) seats_.erase(at);
  const std::string why = absence(seat->node);
  for (const QuestionPtr& question : std::exchange(seat->waiting, {})) refuse(*question, seat->node, why);
  if (!is_worker(seat->node)) return;
  gone_.insert(seat->node);
  for (size_t i = seat->next_together; i < together_.size(); ++i) {
    if (!together_[i].ok) refuse(*together_[i].question, seat->node, why);
  }
}

QuestionPtr QuestionDesk::begin(Seat& seat) {
  std::lock_guard lock(mutex_);
  if (seat.waiting.empty()) return nullptr;
  QuestionPtr question = std::move(seat.waiting.front());
  seat.waiting.pop_front();
  seat.running.push_back({question});
  look(seat);
  return question;
}

void QuestionDesk::get_ready(Seat& seat) {
  std::lock_guard lock(mutex_);
  if (is_worker(seat.node)) {
    if (seat.next_together == 0) send(console_kind::ready, pack(ConsoleFrom{0, seat.node}));
    return;
  }
  seat.idle = true;
  look(seat);
}

size_t QuestionDesk::find_together(const Seat& seat) const {
  size_t at = seat.next_together;
  const auto passes_over = [&](const Together& each) { return is_server(seat.node) && each.ok == false; };
  while (at < together_.size() && passes_over(together_[at])) ++at;
  return at;
}

bool QuestionDesk::has_together(const Seat& seat) const {
  std::lock_guard lock(mutex_);
  return find_together(seat) < together_.size();
}

QuestionPtr QuestionDesk::begin_together(Seat& seat) {
  std::lock_guard lock(mutex_);
  const size_t at = find_together(seat);
  if (at == together_.size()) return nullptr;
  seat.next_together = at + 1;
  seat.idle = false;
  const Together& next = together_[at];
  seat.running.push_back({next.question, next.cut});
  look(seat);
  seat.cut_ = next.cut;
  seat.failed_ = !next.why_failed.empty();
  seat.why_failed = next.why_failed;
  return next.question;
}

/// The part of a text within the limit.
std::string_view QuestionDesk::within_limit(Seat::Running& running, std::string_view text) {
  const uint64_t limit = running.question->ask.limit;
  const uint64_t room = limit - std::min(limit, running.written);
  const std::string_view part = text.substr(0, room);
  running.written += part.size();
  running.left_out += text.size() - part.size();
  return part;
}

void QuestionDesk::write(Seat& seat, std::string_view text) {
  std::lock_guard lock(mutex_);
  if (seat.running.empty()) return;
  Seat::Running& running = seat.running.back();
  const std::string_view part = within_limit(running, text);
  if (!part.empty()) send(console_kind::output, pack(ConsoleFrom{running.question->ask.chunk, seat.node}), part);
}

void QuestionDesk::finish(Seat& seat, ConsoleDone done, std::string_view values) {
  std::lock_guard lock(mutex_);
  Seat::Running& running = seat.running.back();
  const std::string_view part = within_limit(running, values);
  done.chunk = running.question->ask.chunk;
  done.node = seat.node;
  done.interrupted = done.interrupted || (running.cut && !done.ok);
  done.left_out = running.left_out;
  send(console_kind::done, pack(done), part);
  seat.running.pop_back();
  seat.cut_ = std::any_of(seat.running.begin(), seat.running.end(), [](const auto& outer) { return outer.cut; });
  if (seat.running.empty()) {
    seat.failed_ = false;
    seat.why_failed.clear();
  }
  look(seat);
}

void QuestionDesk::fail_together(Seat& seat, const std::string& error) {
  std::lock_guard lock(mutex_);
  if (seat.running.empty()) return;
  ConsoleDone done{seat.running.front().question->ask.chunk, seat.node, false};
  done.still = true;
  done.error = error;
  send(console_kind::done, pack(done));
}

std::string QuestionDesk::why_failed(const Seat& seat) const {
  std::lock_guard lock(mutex_);
  return seat.why_failed;
}

}  // namespace actorhost
