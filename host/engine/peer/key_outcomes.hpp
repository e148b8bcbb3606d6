#pragma once
// Decides prepared updates of split tensors that their writer has left undecided. The leader of a part queries the
// leader of the value's description. That leader's group decides once whether an update counts, and the outcome is
// logged for all parts of the value. An update is decided this way when
//
//  * all live workers have completed its step (`pass`): a live writer decides its updates before its clock increases
//  * its writer prepares a later update of the part
//  * it is older than all requests of a live writer
//
// If the writer is live, the decision costs it a second attempt, but never the update. Passive; KeyHolder owns it.

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "host/engine/peer/group_reconfiguration.hpp"
#include "host/engine/peer/key_client.hpp"

namespace actorhost {

class KeyOutcomes {
 public:
  KeyOutcomes(PeerCalls& calls, KeyTable& table, KeyLog& log, GroupReconfiguration& reconfiguration, KeyClient& client)
      : calls_(calls), table_(table), log_(log), reconfiguration_(reconfiguration), client_(client) {}

  /// Called when all members of the group have stored an outcome.
  void on_decided(std::function<void()> callback) { decided_ = std::move(callback); }
  /// All live workers have completed this step.
  void pass(Mark mark);
  /// Whether a get of the key must wait for an outcome.
  bool blocks_reads(const ParamKey& key) const;
  /// Requests the outcome.
  void request_outcome(const KeyTable::Prepared& update);
  double tick();

 private:
  using Name = std::tuple<ParamKey, NodeId, Mark, uint64_t>;  // identifies an attempt: value, writer, mark, number

  static Name name_of(const KeyTable::Prepared& update);
  std::vector<KeyTable::Prepared> led() const;
  void decide(const Name& name, bool counts);

  PeerCalls& calls_;
  KeyTable& table_;
  KeyLog& log_;
  GroupReconfiguration& reconfiguration_;
  KeyClient& client_;
  std::function<void()> decided_;
  Mark passed_ = 0;
  std::set<Name> in_flight_;          // requested outcomes
  std::map<Name, double> undecided_;  // since when this node has seen each of them undecided
  double next_check_ = 0;
};

}  // namespace actorhost
