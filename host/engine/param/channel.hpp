#pragma once
// How a node's parameter-server calls reach the network and wait: through a bare port (tests, benchmarks) or through
// the Node of a run, whose waits end when the run does. Used by the node's thread.

#include <vector>

#include "host/cluster/node.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/net/port.hpp"

namespace actorhost {

class ParamChannel {
 public:
  ParamChannel() = default;
  ParamChannel(const ParamChannel&) = delete;
  ParamChannel& operator=(const ParamChannel&) = delete;
  virtual ~ParamChannel() = default;

  virtual Address self() const = 0;
  virtual double now() const = 0;
  /// Waits for room until `deadline`.
  virtual Status send(Frame&& frame, double deadline) = 0;
  /// Appends the parameter server's frames that have arrived, waiting until `deadline` for the first. May come back
  /// earlier without any (the membership has changed).
  virtual Status receive(std::vector<Frame>& out, double deadline) = 0;

  struct Changes {
    std::vector<NodeId> joined;
    std::vector<NodeId> lost;
    std::vector<NodeId> suspected;  // silent for a while
    std::vector<NodeId> cleared;    // heard again
  };
  /// How the live workers have changed since the last call.
  virtual Changes changes() { return {}; }
};

class PortChannel final : public ParamChannel {
 public:
  explicit PortChannel(Port& port) : port_(port) {}
  Address self() const override { return port_.self(); }
  double now() const override { return port_.clock().now(); }
  Status send(Frame&& frame, double deadline) override { return port_.send(std::move(frame), deadline); }
  Status receive(std::vector<Frame>& out, double deadline) override {
    return port_.receive_all([](const Frame& frame) { return param_kind::is_one(frame.kind); }, deadline, out);
  }

 private:
  Port& port_;
};

class NodeChannel final : public ParamChannel {
 public:
  explicit NodeChannel(Node& node) : node_(node), seen_(node.newest_membership()) {}
  Address self() const override { return node_.address(); }
  double now() const override { return node_.clock().now(); }
  Status send(Frame&& frame, double deadline) override;
  Status receive(std::vector<Frame>& out, double deadline) override;
  Changes changes() override;

  /// The workers that `changes` counts from, without those that wait elsewhere until they may join in.
  Result<std::vector<NodeId>> members();

 private:
  Node& node_;
  MembershipPtr seen_;
  uint64_t seen_news_ = 0;
  std::vector<NodeId> suspected_;
};

}  // namespace actorhost
