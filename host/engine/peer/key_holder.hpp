#pragma once
// The server side of the replicated keys: replies to requests for the keys that this node leads. A request waits while
// the node is about to take over, a write of the key is in flight, a Lua pull is running, or the lease must be renewed.
// Passive; PeerKeys owns it.

#include <functional>
#include <list>
#include <set>
#include <unordered_set>
#include <vector>

#include "host/engine/peer/key_outcomes.hpp"
#include "host/engine/values/message_assembler.hpp"

namespace actorhost {

class KeyHolder {
 public:
  /// Receives updates for a Lua pull. The next call follows only after answer_pull.
  using OnPull = std::function<void(std::vector<PullEntry>)>;

  KeyHolder(Overlay& overlay, PeerCalls& calls, KeyTable& table, KeyLog& log, GroupReconfiguration& reconfiguration,
            KeyClient& client);

  /// Sets the callback that merges updates by Lua pulls (nullptr: none; such pushes wait).
  void on_pull(OnPull pull);
  /// New values of keys of the current batch. Code::bad_argument for any other key.
  Status answer_pull(std::vector<ParamEntry> values);
  /// All live nodes have completed the step: merges the staged updates up to it.
  void pass(Mark mark);
  /// Repeats `pass` for keys that the node leads since then.
  void pass_again() { pass(passed_); }

  /// The value of the key, if the node leads the key and can reply alone at this time. Does not assemble split tensors.
  std::optional<ParamEntry> read(const ParamKey& key, Mark mark, double now) const;
  void on_request(Frame&& frame, const KeyRequest& head, Unpacker& in);
  void on_probe(const Frame& frame, const Envelope& probe);
  /// Drops the half messages of lost peers.
  void forget(const LostPeer& lost) { messages_.forget(lost); }
  /// Retries the waiting requests.
  void retry_waiting();
  double tick();

 private:
  struct RequestId {
    Peer from;
    uint32_t tag = 0;
    friend bool operator<(const RequestId& a, const RequestId& b) {
      return std::pair(a.from.node, a.tag) < std::pair(b.from.node, b.tag);
    }
  };
  struct Request {
    RequestId id;
    KeyRequest head;
    std::vector<ParamKey> keys;
    std::vector<ParamEntry> entries;
    double arrived = 0;
  };
  struct Batch {
    std::vector<PullEntry> entries;
    std::unordered_set<ParamKey> keys;
    std::vector<TakenUpdate> covered;
    std::vector<RequestId> requesters;
    uint64_t step = 0;
    bool staged = false;
  };

  bool try_handle(Request& request);
  bool get(Request& request);
  bool write(Request& request);
  std::optional<KeyOperation> operation_of(Request& request);
  bool count(Request& request);
  bool outcome(Request& request);
  bool all_have(const Request& request) const;
  std::optional<Error> too_late(const Request& request) const;
  void send_reply(const RequestId& id, KeyReply::State state, Status status = {});
  void acknowledge(const RequestId& id);
  void commit(const Arc& arc, Mark below);
  void commit_passed();
  void enqueue_pull(std::vector<PullEntry> entries, std::vector<TakenUpdate> covered, std::vector<RequestId> requesters,
                    bool staged);
  bool in_pull(const ParamKey& key) const;
  void next_pull();

  Overlay& overlay_;
  PeerCalls& calls_;
  KeyTable& table_;
  KeyLog& log_;
  GroupReconfiguration& reconfiguration_;
  KeyOutcomes outcomes_;
  MessageAssembler<Peer> messages_;
  std::list<Request> waiting_;
  std::set<RequestId> pending_;            // received requests without a reply
  std::vector<RequestId> unacknowledged_;  // completed writes that wait for the run's lease
  bool retrying_ = false;
  bool retry_again_ = false;
  Mark passed_ = 0;
  OnPull pull_;
  std::list<Batch> batches_;  // the first batch is with the pull
  bool pulling_ = false;
};

}  // namespace actorhost
