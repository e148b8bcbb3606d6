#pragma once
// A node's events: those that have come and that the script has not asked for yet, by name and sender, and how much may
// still be sent to each node. Owned and used by the node's thread, for the node's whole life, so that events arrive
// whether the script has asked for any or not.
//
// Back-pressure: a sender has at most kWindowEvents events, or a little more than kWindowBytes, on their way to a node
// that the node has not taken in; then it waits. An event is taken in when the script gets it, or when the node waits
// in an engine call, whatever for: it could be waited for by the sender itself. So nodes that flood each other go on
// (each takes in while it waits for the other), while one that computes, or goes through its events one by one, stops
// its senders.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/cluster/service_thread.hpp"
#include "host/engine/share/event_messages.hpp"

namespace actorhost {

struct Event {
  std::string name;
  NodeId from = 0;
  PackedValue value;
};

class EventBox final : private PortGuest {
 public:
  /// Small enough that 64 senders do not fill a mailbox, which would hold up a whole link.
  static constexpr uint32_t kWindowEvents = 256;
  static constexpr uint64_t kWindowBytes = uint64_t{4} << 20;

  /// Before the node's port has read anything. `courier`, of the node's process, outlives it.
  EventBox(Node& node, ServiceThread& courier);

  /// Which events a caller wants; each may be left open.
  struct Filter {
    std::optional<std::string> name = {};
    std::optional<NodeId> from = {};
  };

  /// Puts an event into this node's own queue.
  void put(const std::string& name, PackedValue value);
  /// Sends to each of `to` but this node; waits for nodes that are behind, after it has sent to the others. A node that
  /// is gone or has come to the end of its script gets none. Returns how many got it. Code::timeout; bad_argument for a
  /// value that is too big.
  Result<size_t> send(const std::vector<NodeId>& to, const EventMessage& message, double deadline = kForever);
  /// The first event that matches, without waiting.
  Result<std::optional<Event>> get(const Filter& filter);
  /// The first event that matches. Code::peer_lost when the sender that is asked for, or without one every other
  /// worker, is gone or has come to the end of its script; Code::timeout.
  Result<Event> wait(const Filter& filter, double deadline = kForever);

  /// Events that the script has not asked for.
  size_t size() const noexcept { return events_.size(); }
  /// As the script knows it: "rank 2", or "worker 2" where it has no rank any more.
  std::string rank_name(NodeId id) const;

 private:
  struct Queued {
    Event event;
    uint64_t cost = 0;
    uint64_t round = 0;  // rounds_ when it came
  };
  struct Peer {
    // to it
    uint32_t sent = 0;
    uint64_t sent_cost = 0;
    TakenMessage confirmed;
    // from it
    uint32_t came = 0;
    uint64_t came_cost = 0;
    TakenMessage taken;
    TakenMessage told;
    bool owed = false;  // listed in owing_
  };
  /// Asks the rendezvous host whether workers have come to the end of their scripts. The answer may overtake events
  /// that they sent before, so it is believed when it has come twice.
  struct EndWatch {
    double since;  // when the wait began
    double interval = 1;
    bool told = false;
    bool logged = false;  // whether the log says for which node it waits
  };

  // PortGuest
  void on_frame(Frame&& frame) override;
  void before_wait() override;

  void on_event(Frame&& frame);
  void enqueue(Event event, uint64_t cost);
  std::optional<uint64_t> find(const Filter& filter) const;
  Event take(uint64_t number);
  void tell_taken(NodeId from, Peer& peer);
  bool full(NodeId to) const;
  Status send_now(NodeId to, const EventMessage& message, double deadline);
  Status wait_for_room(NodeId to, double deadline);
  Result<bool> have_ended(const std::vector<NodeId>& who, EndWatch& watch, const char* what);
  std::vector<NodeId> others() const;
  Error nothing_came(const Filter& filter, Code code, const std::string& why) const;

  Node& node_;
  ServiceThread& courier_;
  uint64_t numbers_ = 0;                             // of events, in the order in which they came
  uint64_t rounds_ = 0;                              // how often everything that had come has been taken in
  std::map<uint64_t, Queued> events_;                // by number
  std::map<std::string, std::set<uint64_t>> names_;  // numbers by name; none is empty
  std::map<NodeId, Peer> peers_;
  std::vector<NodeId> owing_;  // peers with events that have come and are not taken in
  std::set<NodeId> ended_;     // have come to the end of their scripts: they take nothing in any more
};

}  // namespace actorhost
