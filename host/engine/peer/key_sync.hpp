#pragma once
// Makes the keys of an arc what they are at another node, moving only what differs (anti-entropy as in Dynamo, DeCandia
// et al. 2007): sums of ever smaller parts are compared, then single keys. A point of the ring is copied from one node
// at a time: who begins anew there ends what was under way. Passive.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "host/engine/peer/key_table.hpp"
#include "host/engine/peer/peer_calls.hpp"

namespace actorhost {

class KeySync {
 public:
  using OnDone = std::function<void(bool)>;

  KeySync(PeerCalls& calls, KeyTable& table) : calls_(calls), table_(table) {}

  /// False: that node does not answer, or it was ended. What has come until then stays.
  void begin(const Arc& arc, const Peer& from, OnDone done);
  /// Ends what copies keys of the arc.
  void end(const Arc& arc);
  bool copies(const Arc& arc) const;

  /// What another node asks; Code::bad_data.
  Status on_sums(const Frame& frame);
  Status on_copy(const Frame& frame);
  /// A part of an answer to `copy`.
  Status on_copied(Frame&& frame);

 private:
  struct Job {
    Arc arc;
    Peer from;
    OnDone done;
    std::deque<Arc> arcs;
    std::deque<ParamKey> keys;
    size_t open = 0;  // questions under way
    bool failed = false;
  };
  using JobPtr = std::shared_ptr<Job>;  // shared by the questions that are under way

  static constexpr size_t kAtOnce = 16;
  static constexpr size_t kListed = 64;  // keys of an arc that are compared one by one
  static constexpr int kParts = 16;

  static std::vector<Arc> parts_of(const Arc& arc);
  void go_on(const JobPtr& job);
  void finish(const JobPtr& job, bool done);
  void compare(const JobPtr& job, const Arc& arc, const Frame& frame);
  void take(const JobPtr& job, const ParamKey& key, const Frame& frame);

  PeerCalls& calls_;
  KeyTable& table_;
  std::vector<JobPtr> jobs_;
  std::map<std::pair<NodeId, uint32_t>, std::vector<ParamEntry>> collecting_;
};

}  // namespace actorhost
