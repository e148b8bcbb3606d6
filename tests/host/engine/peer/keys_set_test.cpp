// Nodes set and read values in parts under joins, leaves and failures. A reader must see the complete value of one set,
// and no overwritten value; parts of replaced values must be removed.

#include "tests/host/engine/peer/keys_world.hpp"
#include "tests/test.hpp"

namespace {

constexpr size_t kPart = 64;

ParamEntry filled(const ParamKey& key, float value, int64_t elements) {
  TensorLayout layout{Dtype::f32, Shape({elements})};
  Blob data = Blob::allocate(layout.bytes());
  std::fill_n(reinterpret_cast<float*>(data.data()), elements, value);
  return {key, ParamTensor::whole(layout, std::move(data)), 0};
}

/// A value that every set changes, with the times of the request and the completion of each set.
class Register {
 public:
  Register(KeysWorld& world, Rng& rng) : world_(world), rng_(rng), key_(*ParamKey::of("register")) {}

  void set(NodeId node) {
    busy.insert(node);
    const size_t number = sets_.size();
    sets_.push_back({world_.now()});
    const auto elements = static_cast<int64_t>(1 + rng_.below(100));  // whole, or in up to 7 parts
    const auto done = [this, node, number](const Status& set) {
      busy.erase(node);
      if (set.ok()) sets_[number].done = world_.now();
    };
    world_.at(node).keys.client().set({filled(key_, static_cast<float>(number), elements)}, 0, world_.now(), done);
    world_.serve(node);
  }

  void get(NodeId node) {
    busy.insert(node);
    const double requested = world_.now();
    world_.at(node).keys.client().get({key_}, 0, requested, [this, node, requested](const auto& values) {
      busy.erase(node);
      ++read;
      if (values.ok()) check(values->front(), requested);
    });
    world_.serve(node);
  }

  const ParamKey& key() const { return key_; }
  std::string problem;
  size_t read = 0;
  std::set<NodeId> busy;

 private:
  struct Set {
    double requested;
    double done = kForever;
  };

  void check(const ParamEntry& entry, double requested) {
    const auto* tensor = std::get_if<ParamTensor>(&entry.value);
    if (tensor == nullptr) {
      const bool none = std::none_of(sets_.begin(), sets_.end(), [&](const Set& set) { return set.done < requested; });
      if (!none) problem = "the value is missing";
      return;
    }
    const auto* values = reinterpret_cast<const float*>(tensor->data.data());
    if (std::any_of(values, values + tensor->count, [&](float v) { return v != values[0]; })) problem = "it is mixed";
    const Set& seen = sets_[static_cast<size_t>(values[0])];
    for (const Set& later : sets_) {
      if (seen.done < later.requested && later.done < requested) problem = "it had been overwritten";
    }
  }

  KeysWorld& world_;
  Rng& rng_;
  ParamKey key_;
  std::vector<Set> sets_;
};

size_t count_parts(const KeysWorld& world) {
  const std::set<ParamKey> keys = world.keys();
  return static_cast<size_t>(
      std::count_if(keys.begin(), keys.end(), [](const ParamKey& key) { return key.is_part(); }));
}

/// Returns what is wrong, or an empty string; nothing if all replicas of a key are lost.
std::optional<std::string> sets(uint64_t seed, double churn) {
  KeysWorld world(seed, {uniform_latency(0.5e-3, 1.5e-3)}, kPart);
  Rng rng(seed, 3);
  world.bootstrap(8, 1);
  Register value(world, rng);
  NodeId next = 8;
  const double end = world.now() + 30;
  while (world.now() < end) {
    world.run(0.01 * rng.uniform());
    if (!value.problem.empty()) return value.problem;
    const std::vector<NodeId> nodes = world.nodes();
    const NodeId some = nodes[rng.below(nodes.size())];
    if (value.busy.count(some) == 0) rng.below(2) == 0 ? value.set(some) : value.get(some);
    if (rng.uniform() < churn) world.add(next++, nodes);
    if (rng.uniform() < churn && nodes.size() > 4) {
      const NodeId victim = nodes[rng.below(nodes.size())];
      world.kill(victim, true);
      value.busy.erase(victim);
      if (world.lost() > 0) return std::nullopt;
    }
  }
  if (value.read < 100) return "few values were read";
  world.net.run_until([&] { return value.busy.empty(); }, world.now() + 70);  // no earlier set may replace the last one
  world.run(10);
  world.at(world.nodes().front()).keys.client().set({filled(value.key(), 0, 100)}, 0, world.now(), [](auto) {});
  world.serve(world.nodes().front());
  world.run(300);
  if (count_parts(world) != 7) return std::to_string(count_parts(world)) + " parts are there";
  return world.trouble();
}

}  // namespace

TEST_CASE("a reader of a value in parts sees one complete set, and old parts are removed", "[deep]") {
  for_seeds(2, [](uint64_t seed) { return sets(seed, 0); });
}

TEST_CASE("a reader of a value in parts sees one complete set, and old parts are removed, under any failure",
          "[deep]") {
  for_seeds(6, [](uint64_t seed) { return sets(seed, 0.0015); });
}
