#include "host/sim/hub_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace actorhost {

namespace {

constexpr uint64_t kWatchEvery = 4096;  // events between two looks at the watch
constexpr uint32_t kProgressPoints = 100;

}  // namespace

HubSimulation::HubSimulation(const Scenario& scenario, const MakeAdmission& admission, SimWatch* watch)
    : scenario_(scenario),
      watch_(watch),
      direct_(scenario.topology.kind == Topology::Kind::oracle && scenario.delay.zero() && scenario.loss == 0 &&
              scenario.replay == nullptr),
      work_(scenario),
      admission_(admission(clocks_)),
      shard_in_(scenario.topology.shards, 0),
      shard_out_(scenario.topology.shards, 0),
      churn_(sim_seed(scenario.seed, SimStream::churn)) {}

// --- nodes come and go ---

void HubSimulation::populate() {
  if (scenario_.replay != nullptr) {
    // In the order in which they come, so that a node's id is its place among them.
    for (const Replay::Node& node : scenario_.replay->nodes) {
      if (node.joins > 0) {
        push(node.joins, 0, Kind::joins);
      } else {
        add_node(0, false);
      }
    }
  } else {
    nodes_.reserve(scenario_.nodes);
    for (uint32_t i = 0; i < scenario_.nodes; ++i) add_node(0, false);
  }
  for (NodeId id = 0; id < nodes_.size(); ++id) begin(id, 0);
  if (scenario_.churn.joins > 0) push(churn_.exponential(1 / scenario_.churn.joins), 0, Kind::joins);
  if (scenario_.churn.leaves > 0) push(churn_.exponential(1 / scenario_.churn.leaves), 0, Kind::leaves);
}

NodeId HubSimulation::add_node(double now, bool starts) {
  const NodeId id = clocks_.add(clocks_.size() > 0 ? clocks_.min() : 0);
  Node& node = nodes_.emplace_back();
  node.since = now;
  node.base = clocks_.step(id);
  node.version = result_.updates;
  admission_->joined(id);
  trace(SimTraceEvent::Kind::join, id, now);
  if (scenario_.failures.mean_life > 0) {
    StepRng rng(sim_seed(scenario_.seed, SimStream::life), id, 0);
    push(now + rng.exponential(scenario_.failures.mean_life), id, Kind::crashes);
  }
  if (scenario_.replay != nullptr && id < scenario_.replay->nodes.size()) {
    const double leaves = scenario_.replay->nodes[id].leaves;
    if (leaves > now) push(leaves, id, Kind::departs);
  }
  if (starts) begin(id, now);
  return id;
}

void HubSimulation::enter(Node& node, State state, double now) {
  const double seconds = now - node.since;
  switch (node.state) {
    case State::working:
      node.busy += seconds;
      result_.busy += seconds;
      break;
    case State::travelling: result_.network += seconds; break;
    case State::waiting: result_.waiting += seconds; break;
    case State::down: result_.down += seconds; break;
    case State::gone: break;
  }
  node.state = state;
  node.since = now;
}

void HubSimulation::remove(NodeId id, double now, bool crashed) {
  enter(nodes_[id], State::gone, now);
  clocks_.remove(id);
  admission_->left(id);
  if (!crashed) ++result_.departed;
  trace(SimTraceEvent::Kind::leave, id, now);
}

// --- a step ---

// The first step, with the model as it is.
void HubSimulation::begin(NodeId id, double now) {
  if (admission_->asks_first()) return admission_->asks(id, now);
  admission_->started(id, now, nodes_[id].version);
  trace(SimTraceEvent::Kind::release, id, now);
  start(id, now);
}

void HubSimulation::start(NodeId id, double now) {
  Node& node = nodes_[id];
  enter(node, State::working, now);
  if (pulls_++ >= next_sequence_) measure_sequence(id);
  trace(SimTraceEvent::Kind::start, id, now);
  push(now + work_.work(id, node.started++, now), id, Kind::finished);
}

void HubSimulation::finish(NodeId id, double now) {
  trace(SimTraceEvent::Kind::finish, id, now);
  if (direct_) {
    ++result_.messages;
    return apply(id, now);
  }
  enter(nodes_[id], State::travelling, now);
  if (scenario_.replay != nullptr) {
    ++result_.messages;
    return push(now + work_.network(id, nodes_[id].started - 1), id, Kind::merged);
  }
  send(id, now, Kind::arrived, 0);
}

// A message of the node's present step, in as many parts as there are shards: to the hub (direction 0) or from it (1).
void HubSimulation::send(NodeId id, double now, Kind kind, uint32_t direction) {
  Node& node = nodes_[id];
  StepRng rng(sim_seed(scenario_.seed, SimStream::delay), id, 2 * uint64_t{node.started} + direction);
  const Topology& topology = scenario_.topology;
  const bool server = topology.kind == Topology::Kind::server;
  node.parts = topology.shards;
  for (uint32_t shard = 0; shard < topology.shards; ++shard) {
    double leaves = now;
    if (server && direction == 1 && topology.bandwidth > 0) {
      double& free = shard_out_[shard];
      leaves = free = std::max(free, now) + topology.bytes / topology.shards / topology.bandwidth;
    }
    ++result_.messages;
    while (scenario_.loss > 0 && rng.uniform() < scenario_.loss) {
      ++result_.messages;
      ++result_.lost;
      leaves += scenario_.retry;
    }
    const auto tag = static_cast<uint32_t>(kind) | shard << 8;
    queue_.push(leaves + scenario_.delay.draw(rng), id, tag);
  }
}

double HubSimulation::service_time(StepRng& rng) {
  const Topology& topology = scenario_.topology;
  const double transfer = topology.bandwidth > 0 ? topology.bytes / topology.shards / topology.bandwidth : 0;
  return transfer + topology.service.draw(rng);
}

// All parts are there: the update counts, and the node asks to go on.
void HubSimulation::apply(NodeId id, double now) {
  Node& node = nodes_[id];
  if (node.state != State::down) enter(node, State::waiting, now);
  staleness_.add(static_cast<double>(result_.updates++ - node.version));
  clocks_.advance(id);
  trace(SimTraceEvent::Kind::apply, id, now);
  admission_->completed(id, now);
}

void HubSimulation::release(NodeId id, double now) {
  Node& node = nodes_[id];
  node.version = result_.updates;
  trace(SimTraceEvent::Kind::release, id, now);
  if (node.started == 0) return start(id, now);  // it has the model as it comes
  if (direct_ || scenario_.replay != nullptr) {
    ++result_.messages;
    return start(id, now);
  }
  enter(node, State::travelling, now);
  send(id, now, Kind::released, 1);
}

// --- measures ---

// What a serial execution, step by step and in each step node by node, would have applied before this pull, against
// what is: by node, since a node's updates come in order.
void HubSimulation::measure_sequence(NodeId puller) {
  next_sequence_ = pulls_ + clocks_.size();
  const int32_t step = clocks_.step(puller);
  int64_t difference = 0;
  for (const NodeId id : clocks_.live()) difference += std::abs(clocks_.step(id) - step - (id < puller ? 1 : 0));
  sequence_.add(static_cast<double>(difference) / clocks_.size());
}

// Up to `time`, before what happens then.
void HubSimulation::note_progress(double time) {
  for (; point_ <= kProgressPoints && scenario_.seconds * point_ / kProgressPoints <= time; ++point_) add_point();
}

void HubSimulation::add_point() {
  if (clocks_.size() == 0) return;
  int64_t sum = 0;
  for (const NodeId id : clocks_.live()) sum += clocks_.step(id);
  const double at = scenario_.seconds * point_ / kProgressPoints;
  result_.progress.push_back({at, static_cast<double>(sum) / clocks_.size(), clocks_.min(), clocks_.max()});
}

void HubSimulation::trace(SimTraceEvent::Kind kind, NodeId id, double now) {
  if (scenario_.trace) result_.trace.push_back({kind, id, clocks_.step(id), now});
}

SimResult HubSimulation::finish_result() {
  for (Node& node : nodes_) {
    if (node.state != State::gone) enter(node, node.state, scenario_.seconds);
  }
  result_.ended = now_;
  double sum = 0;
  for (const NodeId id : clocks_.live()) {
    const Node& node = nodes_[id];
    const int32_t steps = node.base + static_cast<int32_t>(node.started);
    result_.ids.push_back(id);
    result_.steps.push_back(steps);
    result_.busy_by_node.push_back(node.busy);
    sum += steps;
  }
  if (const auto n = static_cast<double>(result_.steps.size()); n > 0) {
    const auto [low, high] = std::minmax_element(result_.steps.begin(), result_.steps.end());
    result_.min_step = *low;
    result_.max_step = *high;
    result_.mean_step = sum / n;
    double squares = 0;
    for (const int32_t step : result_.steps) squares += (step - result_.mean_step) * (step - result_.mean_step);
    result_.sd_step = std::sqrt(squares / n);
  }
  result_.checks = admission_->checks();
  result_.staleness = staleness_.moments();
  result_.progress_inconsistency = staleness_.moments(std::max(1U, scenario_.nodes));
  result_.sequence_inconsistency = sequence_.moments();
  return std::move(result_);
}

// --- the run ---

void HubSimulation::handle(const SimEvent& event) {
  const auto kind = static_cast<Kind>(event.tag & 0xff);
  const NodeId id = event.node;
  const double now = event.time;
  if (kind >= Kind::joins) return handle_membership(event, kind);
  Node& node = nodes_[id];
  if (node.state == State::gone || (node.state == State::down && kind != Kind::arrived && kind != Kind::merged)) return;
  result_.last_progress = now;
  switch (kind) {
    case Kind::finished: return finish(id, now);
    case Kind::arrived: {
      if (scenario_.topology.kind == Topology::Kind::server) {
        const uint32_t shard = event.tag >> 8;
        StepRng rng(sim_seed(scenario_.seed, SimStream::delay), id,
                    (uint64_t{1} << 40) + node.started * 256ULL + shard);
        double& free = shard_in_[shard];
        free = std::max(free, now) + service_time(rng);
        return push(free, id, Kind::merged);
      }
      [[fallthrough]];
    }
    case Kind::merged:
      if (node.parts > 1) {
        --node.parts;
      } else {
        apply(id, now);
      }
      return;
    case Kind::released:
      if (--node.parts == 0) start(id, now);
      return;
    default: return;
  }
}

void HubSimulation::handle_membership(const SimEvent& event, Kind kind) {
  const NodeId id = event.node;
  const double now = event.time;
  switch (kind) {
    case Kind::joins:
      ++result_.joined;
      add_node(now, true);
      if (scenario_.replay == nullptr) push(now + churn_.exponential(1 / scenario_.churn.joins), 0, Kind::joins);
      return;
    case Kind::leaves:
      if (clocks_.size() > 0) remove(clocks_.live()[churn_.below(clocks_.size())], now, false);
      return push(now + churn_.exponential(1 / scenario_.churn.leaves), 0, Kind::leaves);
    case Kind::departs:
      if (nodes_[id].state != State::gone) remove(id, now, false);
      return;
    case Kind::crashes:
      if (nodes_[id].state == State::gone) return;
      ++result_.crashed;
      enter(nodes_[id], State::down, now);
      push(now + scenario_.failures.detect / 2, id, Kind::suspected);
      push(now + scenario_.failures.detect, id, Kind::missed);
      if (scenario_.failures.repair > 0) push(now + scenario_.failures.repair, id, Kind::returns);
      return;
    case Kind::suspected:
      if (nodes_[id].state != State::gone) admission_->suspected(id, true);
      return;
    case Kind::missed:
      if (nodes_[id].state != State::gone) remove(id, now, true);
      return;
    case Kind::returns:
      ++result_.joined;
      add_node(now, true);
      return;
    default: return;
  }
}

Status HubSimulation::decide(double now) {
  passed_.clear();
  AH_TRY(admission_->decide(now, passed_));
  for (const NodeId id : passed_) {
    // The hub sends the model, and counts the step as begun, also to those that it does not know to be down.
    admission_->started(id, now, result_.updates);
    if (nodes_[id].state == State::waiting) release(id, now);
  }
  if (!passed_.empty()) result_.last_progress = now;
  return {};
}

Error HubSimulation::deadlock(double now) const {
  const std::vector<NodeId>& live = clocks_.live();
  const auto earlier = [this](NodeId a, NodeId b) { return nodes_[a].since < nodes_[b].since; };
  const NodeId oldest = *std::min_element(live.begin(), live.end(), earlier);
  std::string slowest;
  size_t count = 0;
  for (const NodeId id : live) {
    if (clocks_.step(id) != clocks_.min() || ++count > 5) continue;
    slowest += (slowest.empty() ? "" : ", ") + std::to_string(id);
  }
  if (count > 5) slowest += " and " + std::to_string(count - 5) + " more";
  char text[512];
  std::snprintf(
      text, sizeof text,
      "deadlock at %.6g s: all %u nodes wait, nobody works and no re-check is due. Node %u has waited longest, "
      "since %.6g s, with %d steps completed; the slowest, with %d completed, wait as well: node%s %s",
      now, clocks_.size(), oldest, nodes_[oldest].since, clocks_.step(oldest), clocks_.min(), count > 1 ? "s" : "",
      slowest.c_str());
  return {Code::script, text};
}

// While it is handled, the next one's node comes from memory: with many nodes each event would wait for that.
SimEvent HubSimulation::take_event() {
  const SimEvent event = queue_.pop();
  if (!queue_.empty() && queue_.next_node() < nodes_.size()) __builtin_prefetch(&nodes_[queue_.next_node()]);
  return event;
}

Result<SimResult> HubSimulation::run() {
  populate();
  if (admission_->waiting() > 0) AH_TRY(decide(0));
  for (uint64_t events = 0;; ++events) {
    const double next = std::min(queue_.next_time(), admission_->next_time());
    if (!(next <= scenario_.seconds)) {
      if (std::isinf(next) && admission_->waiting() > 0) return deadlock(now_);
      break;
    }
    note_progress(next);
    now_ = next;
    if (queue_.next_time() <= next) handle(take_event());
    AH_TRY(decide(next));
    if (watch_ != nullptr && events % kWatchEvery == 0) AH_TRY(watch_->look(next));
  }
  if (clocks_.size() > 0) now_ = scenario_.seconds;
  note_progress(scenario_.seconds);
  return finish_result();
}

Result<SimResult> simulate_hub(const Scenario& scenario, const MakeAdmission& admission, SimWatch* watch) {
  return HubSimulation(scenario, admission, watch).run();
}

}  // namespace actorhost
