#pragma once
// Copies the keys of an arc from another node and transfers only the differences (anti-entropy as in Dynamo, DeCandia
// et al. 2007). Compares digest sums of ever smaller arcs, then single keys. Each point of the ring is copied from one
// node at a time: a new copy ends an overlapping older one. Passive; PeerKeys owns it.

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "host/engine/peer/key_table.hpp"
#include "host/engine/values/message_assembler.hpp"
#include "host/overlay/peer_calls.hpp"

namespace actorhost {

class KeySync {
 public:
  using OnDone = std::function<void(bool)>;

  KeySync(PeerCalls& calls, KeyTable& table) : calls_(calls), table_(table) {}

  /// Calls `done(false)` if the node does not reply or the copy was ended. The keys copied so far stay.
  void begin(const Arc& arc, const Peer& from, OnDone done);
  /// Ends all copying of keys of the arc.
  void end(const Arc& arc);
  bool copies(const Arc& arc) const;

  /// Requests of other nodes; Code::bad_data.
  Status on_sums(const Frame& frame);
  Status on_copy(const Frame& frame);
  /// A part of a reply to `copy`.
  Status on_copied(Frame&& frame);
  /// Drops the half messages of lost peers.
  void forget(const LostPeer& lost) { messages_.forget(lost); }

 private:
  struct Job {
    Arc arc;
    Peer from;
    OnDone done;
    std::deque<Arc> arcs;
    std::deque<ParamKey> keys;
    size_t open = 0;  // requests in flight
    bool failed = false;
  };
  using JobPtr = std::shared_ptr<Job>;  // shared by its requests in flight

  static constexpr size_t kAtOnce = 16;
  static constexpr size_t kListed = 64;  // arcs of at most this many keys are compared key by key
  static constexpr int kParts = 16;

  static std::vector<Arc> parts_of(const Arc& arc);
  void send_requests(const JobPtr& job);
  void finish(const JobPtr& job, bool done);
  void compare(const JobPtr& job, const Arc& arc, const Summed& theirs);
  void take(const JobPtr& job, const ParamKey& key, const Frame& frame);

  PeerCalls& calls_;
  KeyTable& table_;
  std::vector<JobPtr> jobs_;
  MessageAssembler<Peer> messages_;
  std::vector<ParamEntry> copied_;  // of the reply that on_copied passes to its requester
};

}  // namespace actorhost
