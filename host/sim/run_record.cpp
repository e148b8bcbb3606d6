#include "host/sim/run_record.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

namespace actorhost {

namespace {

constexpr uint32_t kProgressPoints = 100;
constexpr size_t kNamed = 5;  // nodes that the report of a deadlock names

}  // namespace

// --- nodes and their steps ---

NodeId RunRecord::add(int32_t step, double now) {
  const NodeId id = clocks_.add(step);
  Node& node = nodes_.emplace_back();
  node.since = now;
  node.base = step;
  node.version = result_.updates;
  trace(SimTraceEvent::Kind::join, id, now);
  return id;
}

void RunRecord::remove(NodeId id, double now) {
  enter(id, State::departed, now);
  clocks_.remove(id);
  if (clocks_.size() == 0) result_.emptied = now;
  trace(SimTraceEvent::Kind::leave, id, now);
}

// --- measures ---

// Compares the updates applied at the begin of this step with the updates that a serial execution (step by step, and
// node by node within a step) would have applied. Compares counts by node, since a node's updates arrive in order.
void RunRecord::measure_sequence(NodeId puller) {
  next_sequence_ = pulls_ + clocks_.size();
  const int32_t step = clocks_.step(puller);
  int64_t difference = 0;
  for (const NodeId id : clocks_.live()) difference += std::abs(clocks_.step(id) - step - (id < puller ? 1 : 0));
  sequence_.add(static_cast<double>(difference) / clocks_.size());
}

void RunRecord::add_point() {
  if (clocks_.size() > 0) {
    int64_t sum = 0;
    for (const NodeId id : clocks_.live()) sum += clocks_.step(id);
    result_.progress.push_back({next_point_, static_cast<double>(sum) / clocks_.size(), clocks_.min(), clocks_.max()});
  }
  ++point_;
  next_point_ = point_ <= kProgressPoints ? scenario_.seconds * point_ / kProgressPoints
                                          : std::numeric_limits<double>::infinity();
}

void RunRecord::sum_up_steps() {
  double sum = 0;
  for (const NodeId id : clocks_.live()) {
    const Node& node = nodes_[id];
    result_.ids.push_back(id);
    result_.steps.push_back(node.base + static_cast<int32_t>(node.started));
    result_.busy_by_node.push_back(node.busy);
    sum += result_.steps.back();
  }
  if (result_.steps.empty()) return;
  const auto n = static_cast<double>(result_.steps.size());
  const auto [low, high] = std::minmax_element(result_.steps.begin(), result_.steps.end());
  result_.min_step = *low;
  result_.max_step = *high;
  result_.mean_step = sum / n;
  double squares = 0;
  for (const int32_t step : result_.steps) squares += (step - result_.mean_step) * (step - result_.mean_step);
  result_.sd_step = std::sqrt(squares / n);
}

SimResult RunRecord::finish(double ended) {
  for (NodeId id = 0; id < ids(); ++id) {
    if (nodes_[id].state != State::departed) enter(id, nodes_[id].state, scenario_.seconds);
  }
  result_.ended = ended;
  sum_up_steps();
  result_.staleness = staleness_.moments();
  result_.progress_inconsistency = staleness_.moments(std::max(1U, scenario_.nodes));
  result_.sequence_inconsistency = sequence_.moments();
  return std::move(result_);
}

Error RunRecord::deadlock(double now, const char* idle) const {
  const std::vector<NodeId>& live = clocks_.live();
  const auto earlier = [this](NodeId a, NodeId b) { return nodes_[a].since < nodes_[b].since; };
  const NodeId oldest = *std::min_element(live.begin(), live.end(), earlier);
  std::string slowest;
  size_t count = 0;
  for (const NodeId id : live) {
    if (clocks_.step(id) != clocks_.min() || ++count > kNamed) continue;
    slowest += (slowest.empty() ? "" : ", ") + std::to_string(id);
  }
  if (count > kNamed) slowest += " and " + std::to_string(count - kNamed) + " more";
  char text[512];
  std::snprintf(text, sizeof text,
                "deadlock at %.6g s: all %u nodes wait, %s. Node %u has waited longest, since %.6g s, with %d steps "
                "completed; the slowest, with %d completed, wait as well: node%s %s",
                now, clocks_.size(), idle, oldest, nodes_[oldest].since, clocks_.step(oldest), clocks_.min(),
                count > 1 ? "s" : "", slowest.c_str());
  return {Code::script, text};
}

}  // namespace actorhost
