// Nodes write and read keys under joins, leaves, failures, frame loss and partitions. Each acknowledged update must be
// in the value exactly once, a read must return all earlier acknowledged updates, and in the end all replicas must
// agree.

#include "host/engine/values/assembler.hpp"
#include "tests/host/engine/peer/keys_world.hpp"
#include "tests/test.hpp"

namespace {

constexpr NodeId kMostWriters = 64;

/// The requests of the nodes so far. A counter is a tensor with one element for each writer, which adds 1 to its own.
class History {
 public:
  /// Limit of the requests in flight of each node; each get must see the earlier pushes.
  History(KeysWorld& world, uint32_t keys, bool lua, size_t at_once = 1)
      : world_(world), keys_(keys), at_once_(at_once) {
    rule_.rule = UpdateRule::native({});
    rule_.rule.spec.kind = kernel::OptimiserKind::add;
    if (lua) rule_.rule.kind = UpdateRule::Kind::lua;
    for (uint32_t k = 0; k < keys; ++k) names_.push_back(*ParamKey::of("counter " + std::to_string(k)));
    counts_.resize(keys);
  }

  const ParamKey& name(uint32_t key) const { return names_[key]; }

  static ParamEntry entry(const ParamKey& key, NodeId writer, float value) {
    TensorLayout layout{Dtype::f32, Shape({kMostWriters})};
    Blob data = Blob::allocate(layout.bytes());
    std::memset(data.data(), 0, data.size());
    if (writer < kMostWriters) reinterpret_cast<float*>(data.data())[writer] = value;
    return {key, ParamTensor::whole(layout, std::move(data)), 0};
  }

  /// Sets the first values of the keys through some node.
  void init(NodeId node) {
    std::vector<ParamEntry> entries;
    for (const ParamKey& key : names_) entries.push_back(entry(key, kMostWriters, 0));
    bool done = false;
    world_.at(node).keys.client().set(std::move(entries), 0, world_.now(node), [&](const Status& set) {
      REQUIRE(set.ok());
      done = true;
    });
    world_.serve(node);
    REQUIRE(world_.net.run_until([&] { return done; }, world_.now() + 20));
  }

  /// The node's next update, of several keys at once.
  void push(NodeId node, Rng& rng) {
    std::vector<ParamEntry> entries;
    std::vector<uint32_t> keys;
    for (uint32_t k = 0; k < keys_; ++k) {
      if (k == 0 ? rng.below(2) == 0 : rng.below(keys_) != 0) continue;
      keys.push_back(k);
      entries.push_back(entry(names_[k], node, 1));
      ++counts_[k].issued[node];
    }
    ++busy_[node];
    const Mark mark = mark_of(1, ++steps_[node]);
    world_.at(node).keys.client().push(std::move(entries), mark, rule_, world_.now(node),
                                       [this, node, keys](const Status& status) {
                                         --busy_[node];
                                         if (status.ok()) {
                                           for (const uint32_t k : keys) ++counts_[k].acknowledged[node];
                                           ++acknowledged;
                                         } else {
                                           failed_.insert(node);
                                           ++failed;
                                         }
                                       });
    world_.serve(node);
  }

  void get(NodeId node, uint32_t key) {
    auto before = counts_[key].acknowledged;
    const int own = counts_[key].issued[node];
    ++busy_[node];
    world_.at(node).keys.client().get({names_[key]}, 0, world_.now(node),
                                      [this, node, key, before, own](auto values) mutable {
                                        --busy_[node];
                                        if (!values.ok()) {
                                          ++failed;
                                          return;
                                        }
                                        ++read;
                                        if (failed_.count(node) == 0) before[node] = own;
                                        check(key, values->front(), before);
                                      });
    world_.serve(node);
  }

  void check(uint32_t key, const ParamEntry& entry, const std::map<NodeId, int>& before) {
    const auto* tensor = std::get_if<ParamTensor>(&entry.value);
    if (tensor == nullptr) return wrong("a key has no value");
    const auto* values = reinterpret_cast<const float*>(tensor->data.data());
    for (NodeId w = 0; w < kMostWriters; ++w) {
      const auto at_least = before.find(w);
      const int least = at_least == before.end() ? 0 : at_least->second;
      const int most = counts_[key].issued[w];
      if (values[w] < static_cast<float>(least)) {
        wrong("lost: key " + std::to_string(key) + " has " + std::to_string(values[w]) + " updates of node " +
              std::to_string(w) + ", acknowledged were " + std::to_string(least));
      }
      if (values[w] > static_cast<float>(most)) {
        wrong("twice: key " + std::to_string(key) + " has " + std::to_string(values[w]) + " updates of node " +
              std::to_string(w) + ", made were " + std::to_string(most));
      }
    }
  }

  /// Unacknowledged updates of failed nodes may be missing.
  void finish(NodeId node) {
    for (uint32_t k = 0; k < keys_; ++k) {
      bool done = false;
      const auto before = counts_[k].acknowledged;
      world_.at(node).keys.client().get({names_[k]}, 0, world_.now(node), [&](auto values) {
        done = true;
        if (!values.ok()) return wrong("in the end: " + values.error().message);
        check(k, values->front(), before);
      });
      world_.serve(node);
      world_.net.run_until([&] { return done; }, world_.now() + 100);
      if (!done) wrong("no reply in the end");
    }
  }

  void wrong(const std::string& text) {
    if (problem.empty()) problem = std::to_string(world_.now()) + " s: " + text;
  }
  bool idle(NodeId node) const { return busy_.count(node) == 0 || busy_.at(node) == 0; }
  bool may_send(NodeId node) const { return failed_.count(node) == 0 && (idle(node) || busy_.at(node) < at_once_); }

  std::string problem;
  size_t acknowledged = 0;
  size_t read = 0;
  size_t failed = 0;

 private:
  struct Counts {
    std::map<NodeId, int> issued, acknowledged;
  };
  KeysWorld& world_;
  uint32_t keys_;
  PushRule rule_;
  std::vector<ParamKey> names_;
  std::vector<Counts> counts_;
  std::map<NodeId, uint64_t> steps_;
  size_t at_once_;
  std::map<NodeId, size_t> busy_;
  std::set<NodeId> failed_;
};

struct Weather {
  bool lua = false;  // updates are merged outside of the table, after a delay
  NodeId nodes = 8;
  uint32_t copies = kReplicas;
  double seconds = 30;
  double kills = 0;                // per second, for this number of nodes
  bool closes_connections = true;  // failures close the connections
  double joins = 0;
  double leaves = 0;
  double loss = 0;
  double cut = 0;    // seconds of a partition in two halves, in the middle of the run
  double leaps = 0;  // jumps of a node's clock per second, of up to ten minutes
};

/// Merges a batch like a VM: the present value plus the updates.
void pull(KeysWorld& world, NodeId node, const std::vector<PullEntry>& batch) {
  std::vector<ParamKey> keys;
  for (const PullEntry& update : batch) {
    if (std::find(keys.begin(), keys.end(), update.key) == keys.end()) keys.push_back(update.key);
  }
  const auto add = [&world, node, batch](Result<std::vector<ParamEntry>> values) {
    if (!values.ok()) return;      // a partition longer than its timeout: others have taken over meanwhile
    if (world.lost() > 0) return;  // the value may be lost
    for (const PullEntry& update : batch) {
      const auto same = [&](const ParamEntry& entry) { return entry.key == update.key; };
      auto& sum = std::get<ParamTensor>(std::find_if(values->begin(), values->end(), same)->value);
      auto* to = reinterpret_cast<float*>(sum.data.data());
      const auto& value = std::get<ParamTensor>(update.value);
      const auto* from = reinterpret_cast<const float*>(value.data.data());
      for (uint64_t i = 0; i < value.count; ++i) to[i] += from[i];
    }
    if (!world.at(node).keys.holder().answer_pull(*std::move(values)).ok()) throw std::runtime_error("a wrong pull");
  };
  world.at(node).keys.client().get(keys, 0, world.now(), add);
  world.serve(node);
}

// Every other seed has values in parts: four of each counter.
size_t part_bytes(uint64_t seed) { return seed % 2 == 0 ? 64 : kChunkBytes; }

void pulls(KeysWorld& world, NodeId node, Rng& rng) {
  world.at(node).keys.holder().on_pull([&world, &rng, node](std::vector<PullEntry> batch) {
    world.net.at(world.now() + 0.005 * rng.uniform(), [&world, node, batch = std::move(batch)] {
      if (world.has(node)) pull(world, node, batch);
    });
  });
}

/// Returns what is wrong, or an empty string; nothing if all replicas of a key are lost.
std::optional<std::string> live(uint64_t seed, const Weather& weather) {
  KeysWorld world(seed, {uniform_latency(0.5e-3, 1.5e-3), weather.loss}, part_bytes(seed), weather.copies);
  Rng rng(seed, 99);
  const auto count = static_cast<NodeId>(given("ACTORHOST_TEST_NODES", weather.nodes));
  const double scale = static_cast<double>(count) / weather.nodes;
  world.bootstrap(count, 1);
  const uint32_t keys = std::max(12U, count / 2);
  // Like a run: waits for pushes that Lua merges, and for values in parts.
  History history(world, keys, weather.lua, weather.lua || seed % 2 == 0 ? 1 : 4);
  if (weather.lua) {
    for (const NodeId node : world.nodes()) pulls(world, node, rng);
  }
  history.init(0);
  NodeId next = count;
  const double end = world.now() + weather.seconds;
  const double cut_at = world.now() + weather.seconds / 3;
  bool cut = false;
  const auto set_cut = [&](bool on) {
    const NodeId all = 2 * std::max(count, kMostWriters);
    for (NodeId a = 0; a < all; ++a) {
      for (NodeId b = a + 1; b < all; ++b) {
        if (a % 2 == b % 2) continue;
        on ? world.net.cut(a, b) : world.net.heal(a, b);
      }
    }
    cut = on;
  };
  while (world.now() < end && history.problem.empty() && world.lost() == 0) {
    world.run(0.02 * rng.uniform());
    if (weather.cut > 0 && world.now() > cut_at && world.now() < cut_at + weather.cut && !cut) set_cut(true);
    if (cut && world.now() > cut_at + weather.cut) set_cut(false);
    std::vector<NodeId> nodes = world.nodes();
    std::erase_if(nodes, [&](NodeId node) { return world.leaving(node); });
    const NodeId some = nodes[rng.below(nodes.size())];
    if (history.may_send(some)) {
      if (rng.below(3) == 0 || some >= kMostWriters) {
        history.get(some, static_cast<uint32_t>(rng.below(keys)));
      } else {
        history.push(some, rng);
      }
    }
    const auto happens = [&](double rate) { return rng.uniform() < scale * rate * 0.01; };
    if (happens(weather.kills) && nodes.size() > 3) {
      const NodeId victim = nodes[rng.below(nodes.size())];
      world.kill(victim, weather.closes_connections);
    }
    if (happens(weather.leaves) && nodes.size() > 3) {
      const NodeId one = nodes[rng.below(nodes.size())];
      if (world.has(one) && history.idle(one)) world.leave(one);
    }
    if (happens(weather.leaps)) {
      const NodeId one = nodes[rng.below(nodes.size())];
      const double seconds = 600 * rng.uniform();
      if (world.has(one)) world.leap(one, seconds);
    }
    if (happens(weather.joins)) {
      world.add(next++, {nodes[rng.below(nodes.size())], nodes[rng.below(nodes.size())], nodes.front()});
      if (weather.lua) pulls(world, next - 1, rng);
    }
  }
  if (cut) set_cut(false);
  std::string trouble;
  for (int i = 0; i < 120; ++i) {
    world.run(1);
    trouble = world.trouble();
    if (trouble.empty() && i > 5) break;
  }
  if (world.lost() > 0) return std::nullopt;
  for (const NodeId node : world.nodes()) {
    if (!world.leaving(node)) {
      history.finish(node);
      break;
    }
  }
  if (!history.problem.empty()) return history.problem;
  if (weather.leaps > 0 && weather.kills == 0 && history.failed > 0) return "requests to live nodes have failed";
  return trouble;
}

/// Nodes under bsp; some fail. Returns what is wrong, or an empty string.
std::string staged(uint64_t seed, bool lua) {
  KeysWorld world(seed, {uniform_latency(0.5e-3, 1.5e-3)}, part_bytes(seed));
  Rng rng(seed, 7);
  const NodeId n = 6;
  world.bootstrap(n, 1);
  if (lua) {
    for (const NodeId node : world.nodes()) pulls(world, node, rng);
  }
  History history(world, 8, lua);
  history.init(0);
  PushRule rule;
  rule.staged = true;
  rule.rule = UpdateRule::native({});
  rule.rule.spec.kind = kernel::OptimiserKind::add;
  if (lua) rule.rule.kind = UpdateRule::Kind::lua;
  const uint64_t steps = 40;
  std::map<NodeId, uint64_t> completed;
  std::map<std::pair<uint64_t, uint32_t>, std::string> seen;  // by step and key
  std::map<NodeId, bool> busy;
  std::string wrong;
  const auto slowest = [&] {
    uint64_t least = steps;
    for (const NodeId node : world.nodes()) least = std::min(least, completed[node]);
    return least;
  };
  const auto step = [&](NodeId node) {
    busy[node] = true;
    const uint64_t clock = completed[node];
    std::vector<ParamKey> keys;
    for (uint32_t k = 0; k < 8; ++k) keys.push_back(history.name(k));
    world.at(node).keys.holder().pass(mark_of(1, clock));
    world.at(node).keys.client().get(keys, mark_of(1, clock), world.now(), [&, node, clock](auto values) {
      if (!values.ok()) return void(wrong = values.error().message);
      std::vector<ParamEntry> updates;
      for (uint32_t k = 0; k < 8; ++k) {
        const auto& tensor = std::get<ParamTensor>((*values)[k].value);
        const std::string bytes(tensor.data.view());
        const auto [at, fresh] = seen.try_emplace({clock, k}, bytes);
        if (!fresh && at->second != bytes) wrong = "two nodes see different values in step " + std::to_string(clock);
        const auto* counts = reinterpret_cast<const float*>(tensor.data.data());
        if (counts[node] != static_cast<float>(clock)) wrong = "a node does not see its own updates";
        updates.push_back(History::entry(history.name(k), node, 1));
      }
      const auto done = [&, node](const Status& pushed) {
        if (!pushed.ok()) return void(wrong = pushed.error().message);
        busy[node] = false;
        ++completed[node];
      };
      world.at(node).keys.client().push(std::move(updates), mark_of(1, clock + 1), rule, world.now(), done);
    });
    world.serve(node);
  };
  const double end = world.now() + 300;
  while (slowest() < steps && world.now() < end && wrong.empty()) {
    world.run(0.005 * rng.uniform());
    const uint64_t least = slowest();
    for (const NodeId node : world.nodes()) {
      if (rng.below(2) == 0) {
        world.at(node).keys.holder().pass(mark_of(1, least));
        world.serve(node);
      }
      if (!busy[node] && completed[node] == least && least < steps && rng.below(2) == 0) step(node);
    }
    if (rng.below(400) == 0 && world.nodes().size() > 4) {
      const std::vector<NodeId> nodes = world.nodes();
      world.kill(nodes[rng.below(nodes.size())], true);
    }
  }
  if (wrong.empty() && slowest() < steps) wrong = "the run does not continue";
  return wrong;
}

void many(const Weather& weather, uint64_t count) {
  for_seeds(count, [&](uint64_t seed) { return live(seed, weather); });
}

}  // namespace

TEST_CASE("keys of nodes without faults are written and read, on any number of nodes") {
  for (const NodeId n : {1U, 2U, 3U, 5U, 8U, 20U}) {
    INFO(n << " nodes");
    many({.nodes = n, .seconds = 5}, 1);
  }
}

TEST_CASE("a value of several parts arrives complete, also with lost frames and a duplicate key") {
  for (const double loss : {0.0, 0.05}) {
    INFO("loss " << loss);
    KeysWorld world(5, {uniform_latency(0.5e-3, 1.5e-3), loss});
    world.bootstrap(4, 5);
    const TensorLayout layout{Dtype::f64, Shape({24 * 131072 + 5})};  // 24 chunks and a bit: more than the window
    Blob data = Blob::allocate(layout.bytes());
    for (int64_t i = 0; i < layout.shape.elements(); ++i)
      reinterpret_cast<double*>(data.data())[i] = static_cast<double>(i);
    const ParamKey large = *ParamKey::of("large");
    const ParamKey small = *ParamKey::of("small");
    SplitClient& client = world.at(2).keys.client();
    int done = 0;
    const std::vector<ParamEntry> entries = {{large, ParamTensor::whole(layout, data), 0}, History::entry(small, 3, 7)};
    client.set(entries, 0, world.now(), [&](const Status& set) { done += set.ok() ? 1 : 100; });
    world.serve(2);
    REQUIRE(world.net.run_until([&] { return done > 0; }, world.now() + 100));
    REQUIRE(done == 1);
    std::vector<ParamEntry> got;
    client.get({large, small, large, *ParamKey::of("none")}, 0, world.now(),
               [&](Result<std::vector<ParamEntry>> values) {
                 if (values.ok()) got = *std::move(values);
                 ++done;
               });
    world.serve(2);
    REQUIRE(world.net.run_until([&] { return done > 1; }, world.now() + 100));
    REQUIRE(got.size() == 4);
    CHECK(std::holds_alternative<std::monostate>(got[3].value));
    CHECK(std::get<ParamTensor>(got[1].value).data.view() == std::get<ParamTensor>(entries[1].value).data.view());
    for (const size_t i : {0, 2}) {
      CHECK(std::get<ParamTensor>(got[i].value).data.view() == data.view());
      CHECK(std::get<ParamTensor>(got[i].value).data.unique());
    }
  }
}

TEST_CASE("keys survive joins and leaves") { many({.joins = 0.5, .leaves = 0.5}, 5); }

TEST_CASE("keys survive failures with closed connections") { many({.kills = 0.3, .joins = 0.3}, 5); }

TEST_CASE("keys with any number of copies survive joins, leaves, and failures while another copy exists") {
  for (const uint32_t copies : {1, 2, 5, 16}) {
    INFO(copies << " copies");
    many({.copies = copies, .kills = copies > 1 ? 0.2 : 0, .joins = 0.4, .leaves = 0.2}, 3);
  }
}

TEST_CASE("keys survive silent failures and loss") {
  many({.nodes = 12, .seconds = 120, .kills = 0.05, .closes_connections = false, .joins = 0.05, .loss = 0.01}, 3);
}

TEST_CASE("keys that Lua merges survive joins, leaves and failures") {
  many({.lua = true, .kills = 0.2, .joins = 0.4, .leaves = 0.2}, 5);
}

TEST_CASE("keys survive clock jumps, also with failures, joins and leaves") {
  Weather weather{.leaps = 0.3};
  many(weather, 8);
  weather.nodes = 10;
  weather.kills = 0.1;
  weather.joins = 0.2;
  weather.leaves = 0.1;
  many(weather, 8);
}

TEST_CASE("keys survive all faults together") {
  Weather weather{.nodes = 24, .seconds = 90};
  weather.joins = 0.04;  // a tenth of the nodes is replaced in a minute
  weather.leaves = 0.02;
  weather.kills = 0.02;
  weather.closes_connections = false;
  weather.loss = 0.01;
  weather.cut = 30;
  many(weather, 2);
  // A leader abandoned a write of a place that another node owned by then, and acknowledged it when it was sent again.
  CHECK(live(652, weather) == "");
}

// A node's read in step c returns all updates of earlier steps and none of step c, equal on all nodes.
TEST_CASE("staged updates become visible when all have completed their step, under any failure") {
  for_seeds(5, [](uint64_t seed) { return staged(seed, seed % 3 == 0); });
}

TEST_CASE("keys survive a partition that heals") { many({.nodes = 10, .seconds = 60, .cut = 20}, 3); }
