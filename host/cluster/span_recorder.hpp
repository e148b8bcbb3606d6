#pragma once
// Collects the spans of a node and sends them to the coordinator's trace, some hundred at a time. Used by the node's
// thread.

#include <vector>

#include "host/base/span_sink.hpp"
#include "host/cluster/cluster.hpp"

namespace actorhost {

class SpanRecorder final : public SpanSink {
 public:
  SpanRecorder(Cluster& cluster, const Clock& clock, Address node) : cluster_(cluster), clock_(clock), node_(node) {}

  double now() const override { return clock_.now(); }
  void put(TimeSpan span) override {
    const double ended = span.end;
    spans_.push_back(std::move(span));
    if (spans_.size() >= kMost || ended > sent_ + kSeconds) flush();
  }
  /// Sends the remaining spans.
  void flush() {
    sent_ = clock_.now();
    if (!spans_.empty()) cluster_.report_spans(node_, {sent_, std::exchange(spans_, {})});
  }

 private:
  static constexpr size_t kMost = 200;
  static constexpr double kSeconds = 0.5;

  Cluster& cluster_;
  const Clock& clock_;
  const Address node_;
  std::vector<TimeSpan> spans_;
  double sent_ = 0;
};

}  // namespace actorhost
