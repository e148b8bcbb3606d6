#pragma once
// The input of a simulation as plain values: nodes, their work, faults, and the delays between nodes and the barrier.
// Times are in seconds. `check` reports values that cannot be simulated.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/distribution.hpp"
#include "host/base/result.hpp"

namespace actorhost {

struct Stragglers {
  double share = 0;   // of the nodes, 0 .. 1
  double factor = 1;  // multiplies the duration of each step
  double change = 0;  // seconds after which other nodes are slow; 0: the same nodes for the whole run

  /// "0.05:10x", "0.05:10x@20".
  static Result<Stragglers> parse(const std::string& text);
};

struct Churn {
  double joins = 0;  // nodes a second, over the whole cluster
  double leaves = 0;

  /// "JOIN:LEAVE".
  static Result<Churn> parse(const std::string& text);
};

/// Crashes. A crashed node is removed after `detect` seconds; a new node may replace it.
struct Failures {
  double mean_life = 0;  // mean time until a node crashes; 0: no crashes
  double repair = 0;     // from the crash until a new node joins; 0: no replacement
  double detect = 2.5;   // the timeout of the failure detector

  /// "LIFE" or "LIFE:REPAIR".
  static Result<Failures> parse(const std::string& text);
};

struct Topology {
  enum class Kind : uint8_t {
    oracle,  // a hub knows all clocks at once, except for `delay`
    server,  // updates and models pass through the shards of a parameter server, which takes time
    peers    // no node knows all clocks; a node queries others by message
  };
  Kind kind = Kind::oracle;
  uint32_t shards = 1;
  Distribution service;  // time of a shard for its part of an update
  double bandwidth = 0;  // bytes a second of a shard's link, each way; 0: unlimited
  double bytes = 0;      // of an update, and of a model

  /// "oracle", "server:S", "peers".
  static Result<Topology> parse(const std::string& text);
};

/// Measured steps to run again, for each node in the order of joining. Further nodes repeat the steps of the first
/// nodes. The steps run in their order. With `period` they run by time instead, so that a slow phase of a node lasts as
/// many seconds as in the recording under every rule: a step that begins at t is like a random one of the four steps
/// nearest to the step in progress at the recorded time (offset + t) mod period. That step itself is left out, since
/// long steps are more often in progress than short steps.
struct Replay {
  struct Step {
    double work;        // at the node
    double network;     // until the barrier knows the step, and back
    double begins = 0;  // recorded time
  };
  struct Node {
    double joins = 0;
    double leaves = 0;        // 0: does not leave
    std::vector<Step> steps;  // after the last step: random steps of this list
  };
  std::vector<Node> nodes;
  double period = 0;  // seconds of the recording; 0: the steps run in their order
  double offset = 0;
};

struct Scenario {
  uint32_t nodes = 100;
  double seconds = 200;
  Distribution work;
  Distribution speed;  // heterogeneity: a factor on a node's work, drawn once for each node; zero: all equal
  Stragglers stragglers;
  Topology topology;
  Distribution delay;  // of a message
  double loss = 0;     // share of lost messages, below 1; a lost message is sent again after `retry`
  double retry = 0.2;
  Churn churn;
  Failures failures;
  uint64_t seed = 0;
  bool trace = false;              // record every event
  const Replay* replay = nullptr;  // instead of nodes, work, speed, stragglers, churn

  static constexpr uint32_t kMaxNodes = 1U << 23;
  Status check() const;
};

}  // namespace actorhost
