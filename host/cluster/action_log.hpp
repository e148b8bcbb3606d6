#pragma once
// The numbered actions of a run and the values that they returned, kept by the rendezvous host. It answers a node that
// enters an action: go on live, or take the recorded value (a node that started late), or: you are somewhere else than
// the others. Pure state, one thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/cluster/cluster_messages.hpp"

namespace actorhost {

class ActionLog {
 public:
  /// Values are kept up to this many bytes in all; past it the oldest go and nobody can start late any more.
  explicit ActionLog(size_t max_bytes = size_t{64} << 20) : max_bytes_(max_bytes) {}

  struct Entered {
    bool replayed = false;
    bool first = false;  // nobody had entered it before
    Blob value;          // when replayed
  };
  /// `who` speaks in messages ("rank 1"). Code::mismatch when this action is another one for `who` than for the first
  /// that entered it; Code::unsupported when its value is no longer kept.
  Result<Entered> enter(uint32_t index, const ActionEnter& action, const std::string& who);
  /// Records the value; the first one counts.
  void finish(uint32_t index, Blob value);

  uint32_t size() const noexcept { return static_cast<uint32_t>(actions_.size()); }
  bool finished(uint32_t index) const { return index < actions_.size() && actions_[index].finished; }
  const ActionEnter* at(uint32_t index) const { return index < actions_.size() ? &actions_[index].action : nullptr; }
  /// The rank that entered it first.
  const std::string& opened_by(uint32_t index) const { return actions_[index].who; }
  /// False once a value had to be dropped: a late start could not catch up.
  bool can_catch_up() const noexcept { return !dropped_; }

 private:
  struct Action {
    ActionEnter action;
    std::string who;
    bool finished = false;
    bool kept = true;
    Blob value;
  };
  size_t max_bytes_;
  size_t bytes_ = 0;
  bool dropped_ = false;
  std::vector<Action> actions_;
};

}  // namespace actorhost
