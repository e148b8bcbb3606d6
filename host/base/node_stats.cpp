#include "host/base/node_stats.hpp"

namespace actorhost {

void NodeStats::tell_wait(Cause cause, double begun, double now) {
  constexpr double kShortest = 20e-6;  // shorter ones are left out, so that a recording stays small
  if (now - begun < kShortest) return;
  spans_.put({std::string("wait: ") + kCauseNames[static_cast<size_t>(cause)], "wait", begun, now, 0});
}

/// Of the others each wait is a call of its own.
void Activity::tell(SpanSink& spans) const {
  const EngineCall& call = *stats_.call_.load(std::memory_order_relaxed);
  const bool whole = call.cause == Cause::collective || call.cause == Cause::lock || call.cause == Cause::event ||
                     call.cause == Cause::action;
  if (whole) spans.put({call.name, "call", begun_, spans.now(), stats_.calls.get()});
}

}  // namespace actorhost
