#pragma once
// The network access of a node's parameter-server calls: through a bare port (tests, benchmarks) or through the Node of
// a run (then waits end with the run). Used by the node's thread.

#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/cluster/node.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/net/port.hpp"

namespace actorhost {

/// What a worker waits for, as observers see it.
enum class ParamPhase : uint8_t { request, task, pull };

class ParamChannel : public Interface {
 public:
  /// The following waits are in this phase.
  void enter(ParamPhase phase) noexcept { phase_ = phase; }
  virtual Address self() const = 0;
  virtual double now() const = 0;
  /// Blocks until there is room, or until `deadline`.
  virtual Status send(Frame&& frame, double deadline) = 0;
  /// Appends the arrived frames of the parameter server, and blocks until `deadline` for the first frame. May
  /// return earlier without frames (after a membership change).
  virtual Status receive(std::vector<Frame>& out, double deadline) = 0;

  struct Changes {
    std::vector<NodeId> joined;
    std::vector<NodeId> lost;
    std::vector<NodeId> suspected;  // suspected by the failure detector
    std::vector<NodeId> cleared;    // no longer suspected
  };
  /// The changes of the live workers since the last call.
  virtual Changes changes() { return {}; }

 protected:
  ParamPhase phase_ = ParamPhase::request;
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

  /// The workers that `changes` starts from, without late joiners that still wait to join in.
  Result<std::vector<NodeId>> members();

 private:
  Node& node_;
  MembershipPtr seen_;
  uint64_t seen_news_ = 0;
  std::vector<NodeId> suspected_;
};

}  // namespace actorhost
