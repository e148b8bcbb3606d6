#pragma once
// How peers find out whether they may go on: by asking a sample of the others, or by minima that travel through a tree.
// The world (peer_world.hpp) tells a protocol what happens to the nodes and what messages arrive, and does what it
// says: sends messages, asks the rule, starts steps. One thread.

#include <cstdint>

#include "host/wire/address.hpp"

namespace actorhost {

class PeerWorld;

struct PeerMessage {
  enum class Kind : uint8_t {
    query,        // what are your steps?
    silence,      // no message: a query's answer is overdue
    answered,     // no message: the last answer of a sample has come
    update,       // a subscribed peer's new step
    unsubscribe,  // send no more of them
    rise,         // the minimum below `place` in the tree has risen
    minimum       // and the tree's
  };
  double sent = 0;     // of query and silence: when; of update: when the step began
  double seconds = 0;  // of update: that it took
  NodeId from = 0;
  NodeId to = 0;
  int32_t value = 0;     // steps; of query and unsubscribe: the sender's queries so far
  uint32_t place = 0;    // in the sample, or in the tree
  uint32_t episode = 0;  // of a sample, or of the tree
  Kind kind = Kind::query;
  uint8_t tries = 0;
};

class PeerProtocol {
 public:
  explicit PeerProtocol(PeerWorld& world) : world_(world) {}
  PeerProtocol(const PeerProtocol&) = delete;
  PeerProtocol& operator=(const PeerProtocol&) = delete;
  virtual ~PeerProtocol() = default;

  /// The clock with which a node that joins now starts.
  virtual int32_t first_step() const;
  /// The node has joined, with that clock; at the start of the run, or `later`.
  virtual void joined(NodeId id, double now, bool later) = 0;
  /// It begins.
  virtual void begins(NodeId id, double now);
  /// It has completed a step (the clocks say so) and wants to go on.
  virtual void completed(NodeId id, double now) = 0;
  /// A time has come that was given to PeerWorld::wake.
  virtual void woken(NodeId id, double now) = 0;
  virtual void arrived(const PeerMessage& message, double now) = 0;
  /// All nodes have forgotten this one: it has left, or its crash has been noticed.
  virtual void left(NodeId id, double now) = 0;

 protected:
  PeerWorld& world_;
};

}  // namespace actorhost
