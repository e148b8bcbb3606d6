#pragma once
// How peers learn whether they may start their next step: from a sample of other peers, or from minima that travel
// through a tree. PeerWorld (peer_world.hpp) calls the protocol for each event of a node and each arriving message.
// The protocol calls the world to send messages, run the rule and start steps. One thread.

#include <cstdint>

#include "host/base/non_copyable.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

class PeerWorld;

struct PeerMessage {
  enum class Kind : uint8_t {
    query,            // requests the receiver's steps
    timeout,          // no message: the reply to a query is overdue
    sample_complete,  // no message: the last reply of a sample has arrived
    update,           // a subscribed peer's new step
    unsubscribe,      // stops the updates
    rise,             // the minimum below `place` in the tree has risen
    minimum           // the minimum of the whole tree has risen
  };
  double sent = 0;     // query, timeout: when the query was sent; update: when the step began
  double seconds = 0;  // update: duration of the step
  NodeId from = 0;
  NodeId to = 0;
  int32_t value = 0;     // steps; query and unsubscribe: number of queries that the sender has sent
  uint32_t place = 0;    // index in the sample, or in the tree
  uint32_t episode = 0;  // number of the sample, or of the tree
  Kind kind = Kind::query;
  uint8_t tries = 0;
};

class PeerProtocol : public Interface {
 public:
  explicit PeerProtocol(PeerWorld& world) : world_(world) {}

  /// The clock of a node that joins now.
  virtual int32_t first_step() const;
  /// The node has joined with that clock, at the start of the run or `later`.
  virtual void joined(NodeId id, double now, bool later) = 0;
  /// The node begins its first step.
  virtual void begins(NodeId id, double now);
  /// The node has completed a step (the clocks include the step) and requests the next step.
  virtual void completed(NodeId id, double now) = 0;
  /// The time given to PeerWorld::wake has arrived.
  virtual void woken(NodeId id, double now) = 0;
  virtual void arrived(const PeerMessage& message, double now) = 0;
  /// All nodes have removed this node: it has left, or its crash has been detected.
  virtual void left(NodeId id, double now) = 0;

 protected:
  PeerWorld& world_;
};

}  // namespace actorhost
