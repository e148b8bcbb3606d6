#pragma once
// Decides prepared updates of the parts that a node leads when their writer has not done so: it asks the leader of the
// value's description, whose group decides once whether an update counts, and logs the outcome for all parts of the
// value. An update is due for that when
//
//   * all live workers have completed its step (`pass`): a live writer's updates are decided before its clock rises
//   * its writer prepares a later update of the part
//   * it is older than all requests of a live writer
//
// To ask for a live writer's update costs the writer a second attempt, but never the update. Passive.

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "host/engine/peer/key_client.hpp"
#include "host/engine/peer/key_succession.hpp"

namespace actorhost {

class KeyOutcomes {
 public:
  KeyOutcomes(PeerCalls& calls, KeyTable& table, KeyLog& log, KeySuccession& succession, KeyClient& client)
      : calls_(calls), table_(table), log_(log), succession_(succession), client_(client) {}

  /// Called when all members of the group know an outcome.
  void on_decided(std::function<void()> told) { decided_ = std::move(told); }
  /// All live workers have completed that step.
  void pass(Mark mark);
  /// Whether a get of the key has to wait for an outcome.
  bool holds_up(const ParamKey& key) const;
  /// Begins to find the outcome.
  void ask(const KeyTable::Prepared& update);
  double tick();

 private:
  using Name = std::tuple<ParamKey, NodeId, Mark, uint64_t>;  // of an attempt: value, writer, mark, number

  static Name name_of(const KeyTable::Prepared& update);
  std::vector<KeyTable::Prepared> led() const;
  void decide(const Name& name, bool counts);

  PeerCalls& calls_;
  KeyTable& table_;
  KeyLog& log_;
  KeySuccession& succession_;
  KeyClient& client_;
  std::function<void()> decided_;
  Mark passed_ = 0;
  std::set<Name> asked_;              // and not answered
  std::map<Name, double> undecided_;  // since when, as far as this node has seen
  double next_look_ = 0;
};

}  // namespace actorhost
