#include "host/base/node_stats.hpp"

#include <chrono>
#include <thread>

#include "host/base/printable.hpp"

namespace actorhost {

namespace {

constexpr int kQuickTries = 100;
constexpr int kSlowTries = 400;
constexpr std::chrono::microseconds kPause{100};

}  // namespace

NodeStats::Snapshot NodeStats::snapshot() const noexcept {
  for (int tries = 0;; ++tries) {
    const uint64_t before = changes_.load(std::memory_order_acquire);
    Snapshot out{state_.get(), since_.get(), *call_.load(std::memory_order_relaxed), {}};
    for (size_t i = 0; i < out.waited.size(); ++i) out.waited[i] = waited_[i].get();
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool whole = before % 2 == 0 && changes_.load(std::memory_order_relaxed) == before;
    if (whole || tries == kQuickTries + kSlowTries) return out;
    if (tries >= kQuickTries) std::this_thread::sleep_for(kPause);  // the writer may have lost its processor
  }
}

void NodeStats::add_output(std::string_view line) {
  std::string text(line.substr(0, kOutputBytes));
  if (line.size() > kOutputBytes) text += "...";
  std::lock_guard lock(mutex_);
  output_.push_back(std::move(text));
  if (output_.size() > kOutputLines) output_.pop_front();
}

std::vector<std::string> NodeStats::output() const {
  std::vector<std::string> lines;
  std::lock_guard lock(mutex_);
  for (const std::string& line : output_) lines.push_back(printable(line));
  return lines;
}

/// A wait for a server or for peers has the name of its call, such as "wait: pull"; other waits have that of their
/// cause.
void NodeStats::record_wait(Cause cause, double begun, double now) {
  constexpr double kShortest = 20e-6;  // shorter waits are left out, so that a recording stays small
  if (now - begun < kShortest) return;
  const bool by_call = cause == Cause::server || cause == Cause::peer;
  const char* const name =
      by_call ? call_.load(std::memory_order_relaxed)->name : kCauseNames[static_cast<size_t>(cause)];
  spans_.put({std::string("wait: ") + name, "wait", begun, now, 0});
}

/// For the other causes, the span of each wait already shows the call.
void Activity::record_span(SpanSink& spans) const {
  const EngineCall& call = *stats_.call_.load(std::memory_order_relaxed);
  const bool whole = call.cause == Cause::collective || call.cause == Cause::lock || call.cause == Cause::event ||
                     call.cause == Cause::action;
  if (whole) spans.put({call.name, "call", begun_, spans.now(), stats_.calls.get()});
}

}  // namespace actorhost
