// Nodes update a value in parts, and fail during an update. Each update must be in all parts or in none, also after its
// writer's failure; an acknowledged update must be in all parts exactly once.

#include "host/engine/peer/peer_pace.hpp"
#include "tests/host/engine/peer/keys_world.hpp"
#include "tests/test.hpp"

namespace {

constexpr size_t kPartBytes = 64;
constexpr size_t kInPart = kPartBytes / sizeof(float);  // one element for each writer
constexpr size_t kParts = 5;

struct PartsWeather {
  bool staged = false;
  kernel::OptimiserKind kind = kernel::OptimiserKind::add;
  bool sets = false;  // sometimes the value is set anew
  double loss = 0;
  bool closes_connections = true;  // failures close the connections
  double joins = 0;                // per step of the test
};

/// A value in parts: an update of a writer adds 1 to an element of each part.
class PartedValue {
 public:
  PartedValue(uint64_t seed, const PartsWeather& weather)
      : weather_(weather),
        world(seed, {uniform_latency(0.5e-3, 1.5e-3), weather.loss}, kPartBytes),
        rng(seed, 11),
        key_(*ParamKey::of("parted")) {
    rule_.rule = UpdateRule::native({});
    rule_.rule.spec.kind = weather.kind;
    rule_.rule.spec.lr = 0.1;
    rule_.rule.spec.momentum = weather.kind == kernel::OptimiserKind::sgd ? 0.9 : 0;
    rule_.staged = weather.staged;
  }

  void init(NodeId nodes) {
    world.bootstrap(nodes, 1);
    bool done = false;
    world.at(0).keys.client().set({entry(0, 0)}, 0, world.now(), [&](const Status& set) { done = set.ok(); });
    world.serve(0);
    REQUIRE(world.net.run_until([&] { return done; }, world.now() + 20));
  }

  void set(NodeId node) {
    const ParamEntry value = entry(static_cast<float>(rng.below(1000)), 0);
    world.at(node).keys.client().set({value}, 0, world.now(), [](const Status&) {});
    world.serve(node);
  }

  /// The node's next step: reads, and pushes an update.
  void step(NodeId node) {
    busy.insert(node);
    auto before = acknowledged_;
    if (weather_.staged) {
      for (auto& [writer, count] : before) count = std::min(count, completed[node]);
    }
    const Mark mark = mark_of(1, completed[node]);
    if (weather_.staged) world.at(node).keys.holder().pass(mark);  // a step begins with the minimum of all clocks
    world.at(node).keys.client().get({key_}, mark, world.now(), [this, node, before](const auto& values) {
      if (!values.ok()) return fail(node, values.error());
      check(values->front(), before, weather_.staged);
      if (weather_.staged && !weather_.sets) compare(completed[node], values->front());
      push(node);
    });
    world.serve(node);
  }

  void check(const ParamEntry& got, const std::map<NodeId, uint64_t>& before, bool whole) {
    const auto* tensor = std::get_if<ParamTensor>(&got.value);
    if (tensor == nullptr || tensor->count != kParts * kInPart) return void(problem = "the value is missing");
    const auto* values = reinterpret_cast<const float*>(tensor->data.data());
    for (NodeId writer = 0; writer < kInPart; ++writer) {
      for (size_t part = 0; part < kParts; ++part) {
        const float value = values[part * kInPart + writer];
        if (whole && value != values[writer])
          problem = "an update of node " + std::to_string(writer) + " is in some parts only";
        if (weather_.sets || weather_.kind != kernel::OptimiserKind::add) continue;
        const auto least = before.find(writer);
        if (least != before.end() && value < static_cast<float>(least->second)) problem = "an update is lost";
        if (value > static_cast<float>(issued_[writer])) problem = "an update was applied twice";
      }
    }
  }

  uint64_t slowest() {
    uint64_t least = UINT64_MAX;
    for (const NodeId node : world.nodes()) {
      if (node < founders && failed_.count(node) == 0) least = std::min(least, completed[node]);
    }
    return least;
  }

  void pass(Mark mark) {
    for (const NodeId node : world.nodes()) {
      if (rng.below(2) == 0) continue;
      world.at(node).keys.holder().pass(mark);
      world.serve(node);
    }
  }

  /// Ends the run; returns what is wrong, or an empty string.
  std::string finish() {
    for (int i = 0; i < 200; ++i) {
      world.run(1);
      pass(settled_in(1, 0));
      if (i > 10 && world.trouble().empty()) break;
    }
    if (world.lost() > 0) return {};
    bool done = false;
    const NodeId node = world.nodes().front();
    world.at(node).keys.holder().pass(settled_in(1, 0));
    world.at(node).keys.client().get({key_}, settled_in(1, 0), world.now(), [&](const auto& values) {
      done = true;
      values.ok() ? check(values->front(), acknowledged_, true) : fail(node, values.error());
    });
    world.serve(node);
    world.net.run_until([&] { return done; }, world.now() + 100);
    if (!done) return "no reply in the end";
    if (!problem.empty()) return problem;
    for (const NodeId one : world.nodes()) {
      if (world.at(one).keys.table().staged(Arc{}, settled_in(1, 0))) return "an update is still undecided or staged";
    }
    return world.trouble();
  }

 private:
  static ParamEntry blank(const ParamKey& key, float fill) {
    TensorLayout layout{Dtype::f32, Shape({static_cast<int64_t>(kParts * kInPart)})};
    Blob data = Blob::allocate(layout.bytes());
    std::fill_n(reinterpret_cast<float*>(data.data()), kParts * kInPart, fill);
    return {key, ParamTensor::whole(layout, std::move(data)), 0};
  }
  ParamEntry entry(float fill, float one, NodeId writer = 0) const {
    ParamEntry made = blank(key_, fill);
    auto* values = reinterpret_cast<float*>(std::get<ParamTensor>(made.value).data.data());
    for (size_t part = 0; part < kParts; ++part) values[part * kInPart + writer] += one;
    return made;
  }

  void push(NodeId node) {
    ++issued_[node];
    const Mark mark = mark_of(1, completed[node] + 1);
    world.at(node).keys.client().push({entry(0, 1, node)}, mark, rule_, world.now(),
                                      [this, node](const Status& pushed) {
                                        if (!pushed.ok()) return fail(node, pushed.error());
                                        ++acknowledged_[node];
                                        ++completed[node];
                                        busy.erase(node);
                                      });
  }

  // A request may fail if no connection reports failures, or if a node has joined after a failure and does not know of
  // it. Its node takes no further part.
  void fail(NodeId node, const Error& error) {
    failed_.insert(node);
    const bool may = error.code == Code::timeout && (!weather_.closes_connections || weather_.joins > 0);
    if (!may) problem = error.message;
  }

  void compare(uint64_t at, const ParamEntry& got) {
    const std::string bytes(std::get<ParamTensor>(got.value).data.view());
    const auto [seen, fresh] = seen_.try_emplace(at, bytes);
    if (!fresh && seen->second != bytes) problem = "two nodes see different values in step " + std::to_string(at);
  }

  PartsWeather weather_;

 public:
  static constexpr NodeId founders = 8;
  KeysWorld world;
  Rng rng;
  std::map<NodeId, uint64_t> completed;
  std::set<NodeId> busy;
  std::string problem;

 private:
  ParamKey key_;
  PushRule rule_;
  std::map<NodeId, uint64_t> acknowledged_, issued_;
  std::map<uint64_t, std::string> seen_;
  std::set<NodeId> failed_;
};

/// Returns what is wrong, or an empty string; nothing if all replicas of a key are lost.
std::optional<std::string> parted(uint64_t seed, const PartsWeather& weather) {
  PartedValue value(seed, weather);
  KeysWorld& world = value.world;
  value.init(PartedValue::founders);
  NodeId next = kInPart;
  const uint64_t steps = 30;
  const double end = world.now() + 300;
  while (value.slowest() < steps && world.now() < end && value.problem.empty() && world.lost() == 0) {
    world.run(0.004 * value.rng.uniform());
    const uint64_t least = value.slowest();
    value.pass(mark_of(1, least));
    for (const NodeId node : world.nodes()) {
      const bool may = weather.staged ? value.completed[node] == least && least < steps : value.completed[node] < steps;
      if (node >= PartedValue::founders || value.busy.count(node) > 0 || !may || value.rng.below(2) == 0) continue;
      value.step(node);
      if (value.rng.below(60) > 0 || world.nodes().size() <= 4) continue;
      // During this step, or during the decisions after it.
      world.net.at(world.now() + 0.015 * value.rng.uniform(), [&world, &weather, node] {
        if (world.has(node) && world.nodes().size() > 4) world.kill(node, weather.closes_connections);
      });
    }
    if (weather.sets && value.rng.below(20) == 0) value.set(world.nodes().front());
    if (next < kInPart + 6 && value.rng.uniform() < weather.joins) world.add(next++, world.nodes());
    if (value.rng.below(600) == 0 && world.nodes().size() > 4) {
      const std::vector<NodeId> nodes = world.nodes();
      world.kill(nodes[value.rng.below(nodes.size())], weather.closes_connections);
    }
  }
  if (world.lost() > 0) return std::nullopt;
  if (!value.problem.empty()) return value.problem;
  if (value.slowest() < steps) return "the run does not continue";
  return value.finish();
}

void many_parted(const PartsWeather& weather, uint64_t count) {
  INFO((weather.staged ? "staged, " : "at once, ") << weather.joins << " joins");
  for_seeds(count, [&](uint64_t seed) { return parted(seed, weather); });
}

}  // namespace

TEST_CASE("an update of a value in parts is complete or absent after its writer's failure, staged or not") {
  many_parted({.staged = GENERATE(true, false), .joins = GENERATE(0.0, 0.01)}, 8);
}

TEST_CASE("the optimiser's state of a value in parts stays in step when writers fail") {
  many_parted({.staged = true, .kind = GENERATE(kernel::OptimiserKind::sgd, kernel::OptimiserKind::adam)}, 4);
}

TEST_CASE("an update of a value in parts is complete while the value is set anew") {
  many_parted({.staged = true, .sets = true}, 4);
}

TEST_CASE("an update of a value in parts is complete though frames are lost and failures are silent") {
  many_parted({.staged = GENERATE(true, false), .loss = 0.01, .closes_connections = false}, 3);
}
