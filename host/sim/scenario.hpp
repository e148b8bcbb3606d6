#pragma once
// What is simulated, as plain values: nodes, their work, what goes wrong, and the delays between nodes and the barrier.
// Times in seconds. `check` says what cannot be simulated.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/distribution.hpp"
#include "host/base/result.hpp"

namespace actorhost {

struct Stragglers {
  double share = 0;   // of the nodes, 0 .. 1
  double factor = 1;  // times as long for each step
  double change = 0;  // others are slow after so many seconds; 0: always the same

  /// "0.05:10x", "0.05:10x@20".
  static Result<Stragglers> parse(const std::string& text);
};

struct Churn {
  double joins = 0;  // nodes of the whole cluster, a second
  double leaves = 0;

  /// "JOIN:LEAVE".
  static Result<Churn> parse(const std::string& text);
};

/// Crashes: a node falls silent, is missed after `detect` seconds, and may come back as a new one.
struct Failures {
  double mean_life = 0;  // of a node; 0: none crashes
  double repair = 0;     // until a new node comes, from the crash on; 0: none comes
  double detect = 2.5;   // silence that counts as death

  /// "LIFE" or "LIFE:REPAIR".
  static Result<Failures> parse(const std::string& text);
};

struct Topology {
  enum class Kind : uint8_t {
    oracle,  // all clocks are known at once, but for `delay`
    server,  // updates and models pass through the shards of a parameter server, which take time
    peers    // no node knows all clocks: it asks others by message
  };
  Kind kind = Kind::oracle;
  uint32_t shards = 1;
  Distribution service;  // of a shard, for its part of an update
  double bandwidth = 0;  // bytes a second of a shard's link, each way; 0: without limit
  double bytes = 0;      // of an update, and of a model

  /// "oracle", "server:S", "peers".
  static Result<Topology> parse(const std::string& text);
};

/// Measured steps to be run again, of each node in the order in which they joined. Further nodes repeat the steps of
/// the first ones.
struct Replay {
  struct Step {
    double work;     // at the node
    double network;  // until the barrier knows, and back
  };
  struct Node {
    double joins = 0;
    double leaves = 0;        // 0: it stays
    std::vector<Step> steps;  // when they are used up, some of them again, drawn at random
  };
  std::vector<Node> nodes;
};

struct Scenario {
  uint32_t nodes = 100;
  double seconds = 200;
  Distribution work;
  Distribution speed;  // heterogeneity: a node's own factor on its work, drawn once; zero: all alike
  Stragglers stragglers;
  Topology topology;
  Distribution delay;  // of a message
  double loss = 0;     // share of messages that get lost, below 1; they are sent again after `retry`
  double retry = 0.2;
  Churn churn;
  Failures failures;
  uint64_t seed = 0;
  bool trace = false;              // keep every event
  const Replay* replay = nullptr;  // instead of nodes, work, speed, stragglers, churn

  static constexpr uint32_t kMaxNodes = 1U << 23;
  Status check() const;
};

}  // namespace actorhost
