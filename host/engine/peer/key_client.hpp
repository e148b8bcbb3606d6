#pragma once
// The client side of the replicated keys: finds the leader of each key, sends requests to it, and resends them after
// the owner has changed or failed. Passive; PeerKeys owns it.
//
// Each write is applied exactly once: the leader stores the latest update of each writer for a key. A node's writes to
// a key are applied in the order of the calls: each message names the latest earlier push. A get returns all earlier
// pushes of this node.
//
// A window limits the bytes of large values in flight, so that a slow reply is not mistaken for a failed peer. A
// request never waits for window space of a later request. Requests that may wait for a Lua pull have a window of their
// own, and other requests never wait for its space. So a pull can itself get and set values of any size.

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "host/engine/peer/peer_messages.hpp"
#include "host/engine/values/assembler.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

class KeyClient {
 public:
  /// Values in the order of the keys; nil for keys without a value.
  using OnValues = std::function<void(Result<std::vector<ParamEntry>>)>;
  using OnDone = std::function<void(Status)>;

  explicit KeyClient(Overlay& overlay) : overlay_(overlay) {}

  /// `mark`: the last step that this node has completed. `shared`: the values are read-only and may share their bytes
  /// with other values.
  void get(std::vector<ParamKey> keys, Mark mark, double now, OnValues done, bool shared = false);
  /// `number`: greater than the numbers of all earlier sets of this node. Code::timeout: for a minute no peer has
  /// replied for some key.
  void set(std::vector<ParamEntry> entries, Mark mark, uint64_t number, double now, OnDone done);
  /// Code::mismatch: the value is split into other parts than the update (split_tensor.hpp). A push for a Lua pull
  /// delays no later writes to its keys, and gets need not return it: the pull itself may make them. `number`: of the
  /// attempt, for parts of split tensors and their descriptions.
  void push(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now, OnDone done,
            uint64_t number = 0);
  /// Lets this node's prepared update of the parts (entries without values) count: they merge or stage it.
  void count(std::vector<ParamEntry> parts, Mark mark, double now, OnDone done);
  /// Whether the writer's update of a split tensor counts. An undecided attempt is refused for good (Code::mismatch).
  void outcome(const ParamKey& key, NodeId writer, Mark mark, uint64_t number, double now, OnDone done);

  /// All live workers have completed this step.
  void pass(Mark mark) { passed_ = std::max(passed_, mark); }

  /// At most eight requests without a reply, for messages about what this node waits for.
  struct Pending {
    ParamKey key;
    std::optional<NodeId> owner = {};  // nullopt: not known yet
    std::vector<NodeId> awaited = {};  // the owner in turn waits for these nodes
  };
  std::vector<Pending> pending() const;

  void on_reply(Frame&& frame, const KeyReply& reply, Unpacker& in, double now);
  /// The process has failed: requests to its peers are resent to others.
  void lose_process(ProcessId process, double now);
  double tick(double now);
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  struct Request {
    KeyRequest head;
    std::vector<ParamKey> keys;   // of a get, without duplicates
    std::vector<uint32_t> order;  // their places in the order of the call
    std::unordered_map<ParamKey, uint32_t> places;
    std::vector<ParamEntry> entries;              // of other requests
    std::vector<ParamAssembler::Partial> values;  // of a get
    std::vector<uint8_t> replied;                 // by place
    size_t open = 0;
    double deadline = 0;
    bool shared = false;
    uint32_t silences = 0;
    std::optional<Error> error;
    OnValues got;
    OnDone done;

    /// A push that precedes this node's later requests for its keys.
    bool ordered() const noexcept { return head.type == KeyRequest::Type::push && !head.rule.rule.is_lua(); }
    /// Its reply may arrive only after a Lua pull, so it uses the second window. A get of mark 0 waits for no update.
    bool may_wait_for_pull() const noexcept {
      if (head.type == KeyRequest::Type::get) return head.mark > 0;
      return head.type == KeyRequest::Type::push && head.rule.rule.is_lua();
    }
    size_t size() const noexcept { return keys.empty() ? entries.size() : keys.size(); }
    const ParamKey& key(size_t place) const { return keys.empty() ? entries[place].key : keys[place]; }
  };
  /// One message in flight.
  struct InFlight {
    uint32_t request;
    std::vector<uint32_t> places;
    Peer to;
    size_t bytes;
    bool of_pull;  // in the window of requests that may wait for a pull
    double due;
    double wait;
    bool probed = false;
    std::vector<NodeId> awaited = {};  // by `to`, as last reported
  };
  /// Places that wait for window space.
  struct Waiting {
    uint32_t request;
    std::vector<uint32_t> places;
    Peer to;
    size_t bytes;
    Mark own = 0;
  };
  struct Route {
    RingId from;
    Peer owner;
  };

  void extend_deadlines(double now);
  void route_again(double now);
  void probe_overdue(double now);
  void fail_overdue(double now);
  double next_time(double now) const;
  void write(const KeyRequest& head, std::vector<ParamEntry> entries, double now, OnDone done);
  void begin(Request&& request, double now);
  Mark own_before(const Request& request, size_t place) const;
  void route(uint32_t request, const std::vector<uint32_t>& places, double now, size_t lookups = 1);
  void enqueue(uint32_t request, const std::vector<uint32_t>& places, const Peer& to, double now);
  void send_waiting(double now);
  bool may_send(const Waiting& message) const;
  void send(Waiting&& message, double now);
  std::map<uint32_t, InFlight>::node_type take(uint32_t tag);
  void look_up(uint32_t request, std::vector<uint32_t> places, double now);
  const Peer* owner_of(RingId place) const;
  void forget_route(const Peer& peer);
  static void take_values(Request& request, std::vector<ParamEntry>&& entries);
  void retry(uint32_t tag, double now, double wait);
  void forget_push(const Request& request);
  void end(uint32_t request);

  Overlay& overlay_;
  std::map<uint32_t, Request> requests_;
  std::unordered_map<ParamKey, std::set<Mark>> pushed_;  // unacknowledged pushes
  std::map<uint32_t, InFlight> in_flight_;
  std::deque<Waiting> waiting_;
  size_t bytes_in_flight_ = 0;  // bytes of all messages in flight and their replies, as far as known, in both windows
  struct Later {
    double time;
    uint32_t request;
    std::vector<uint32_t> places;
  };
  std::vector<Later> later_;      // to be routed again
  std::map<RingId, Route> arcs_;  // by the end of the arc
  double woken_ = kForever;       // the next tick time that the last tick returned
  Mark passed_ = 0;
  uint32_t last_request_ = 0;
  uint32_t last_tag_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
