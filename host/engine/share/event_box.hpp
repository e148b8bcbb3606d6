#pragma once
// A node's events: the queue of received events that the script has not taken yet, by name and sender, and the send
// window for each other node. Owned and used by the node's thread for the node's whole life, so events arrive whether
// or not the script waits for any.
//
// Back-pressure: at most kWindowEvents events, or slightly more than kWindowBytes, may be sent to a node and not yet
// accepted there; then the sender waits. A node accepts an event when the script gets the event, or during any wait of
// the node in an engine call, because the sender may be the node that it waits for. So nodes that flood each other make
// progress: each accepts events while it waits for the other. A node that computes, or takes its events one by one,
// stops its senders.

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

class EventBox final : private FrameHandler {
 public:
  /// Small enough that 64 senders do not fill a mailbox; a full mailbox stalls a whole link.
  static constexpr uint32_t kWindowEvents = 256;
  static constexpr uint64_t kWindowBytes = uint64_t{4} << 20;

  /// To be created before the node's port reads any frame. `courier` of the node's process must outlive the box.
  EventBox(Node& node, ServiceThread& courier);

  /// The events that a caller wants; each field may be empty.
  struct Filter {
    std::optional<std::string> name = {};
    std::optional<NodeId> from = {};
  };

  /// Puts an event into this node's own queue.
  void put(const std::string& name, PackedValue value);
  /// Sends to each of `to` except this node. Sends to nodes with a full window last, and blocks until there is room. A
  /// failed node, or a node whose script has ended, gets no event. Returns the number of receivers. Code::timeout;
  /// bad_argument for an oversized value.
  Result<size_t> send(const std::vector<NodeId>& to, const EventMessage& message, double deadline = kForever);
  /// The first matching event; does not block.
  Result<std::optional<Event>> get(const Filter& filter);
  /// Blocks until an event matches. Code::peer_lost if the requested sender, or without a sender every other worker,
  /// has failed or has ended its script; Code::timeout.
  Result<Event> wait(const Filter& filter, double deadline = kForever);

  /// The number of events that the script has not taken.
  size_t size() const noexcept { return events_.size(); }
  /// The name that the script knows: "rank 2", or "worker 2" for a worker without a rank.
  std::string rank_name(NodeId id) const;

 private:
  struct Queued {
    Event event;
    uint64_t cost = 0;
    uint64_t round = 0;  // rounds_ on arrival
  };
  struct Peer {
    // events to the peer
    uint32_t sent = 0;
    uint64_t sent_cost = 0;
    WindowUpdate confirmed;
    // events from the peer
    uint32_t received = 0;
    uint64_t received_cost = 0;
    WindowUpdate accepted;
    WindowUpdate reported;
    bool unaccepted = false;  // listed in unaccepted_
  };
  /// Asks the coordinator whether workers have ended their scripts. The reply may overtake their earlier events, so it
  /// counts only when it has arrived twice.
  struct EndWatch {
    double since;  // when the wait began
    double interval = 1;
    bool ended_before = false;
    bool logged = false;  // whether the log has named the awaited nodes
  };

  // FrameHandler
  void on_frame(Frame&& frame) override;
  void before_wait() override;

  void on_event(Frame&& frame);
  void enqueue(Event event, uint64_t cost);
  std::optional<uint64_t> find(const Filter& filter) const;
  Event take(uint64_t number);
  void send_window_update(NodeId from, Peer& peer);
  bool full(NodeId to) const;
  Status send_now(NodeId to, const EventMessage& message, double deadline);
  Status wait_for_room(NodeId to, double deadline);
  Result<bool> have_ended(const std::vector<NodeId>& ids, EndWatch& watch, const char* call);
  std::vector<NodeId> others() const;
  Error wait_error(const Filter& filter, Code code, const std::string& why) const;

  Node& node_;
  ServiceThread& courier_;
  uint64_t numbers_ = 0;                             // of events, in order of arrival
  uint64_t rounds_ = 0;                              // how often all received events were accepted
  std::map<uint64_t, Queued> events_;                // by number
  std::map<std::string, std::set<uint64_t>> names_;  // numbers by name; no set is empty
  std::map<NodeId, Peer> peers_;
  std::vector<NodeId> unaccepted_;  // peers with received and not yet accepted events
  std::set<NodeId> ended_;          // nodes whose script has ended: they accept no more events
};

}  // namespace actorhost
