#include "host/cluster/succession.hpp"

#include <utility>

namespace actorhost {

void Succession::begin(ProcessId self, MembershipPtr table, ProcessId lost, double now) {
  self_ = self;
  table_ = std::move(table);
  lost_.insert(lost);  // beside processes of earlier elections, which the table may still contain
  attach_to_next(now);
}

void Succession::failed(ProcessId process, double now) {
  if (!going_on()) return;
  lost_.insert(process);
  if (process == candidate_) attach_to_next(now);
}

void Succession::tick(double now) {
  if (going_on() && now >= deadline_) failed(candidate_, now);
}

/// The next process to attach to: the lowest, but processes that accept no connections are last, since none can join
/// there.
ProcessId Succession::next() const {
  ProcessId closed = kNoProcess;
  for (const ProcessInfo& info : table_->processes()) {
    if (lost_.contains(info.process)) continue;
    if (!info.url.empty()) return info.process;
    if (closed == kNoProcess) closed = info.process;
  }
  return closed == kNoProcess ? self_ : closed;
}

void Succession::attach_to_next(double now) {
  for (;;) {
    candidate_ = next();
    deadline_ = now + patience_;
    if (candidate_ == self_) {
      candidate_ = kNoProcess;
      return output_.become_candidate();
    }
    if (output_.attach_to(candidate_)) return;
    lost_.insert(candidate_);
  }
}

}  // namespace actorhost
