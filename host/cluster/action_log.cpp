#include "host/cluster/action_log.hpp"

namespace actorhost {

Result<ActionLog::Entered> ActionLog::enter(uint32_t index, const ActionEnter& action, const std::string& who) {
  if (index > actions_.size()) {
    return Error{Code::mismatch, who + " is at its action " + std::to_string(index + 1) + " (" + action.kind + " at " +
                                     action.where + ") but only " + std::to_string(actions_.size()) +
                                     " actions have begun"};
  }
  if (index == actions_.size()) {
    actions_.push_back(Action{action, who, false, true, {}});
    return Entered{false, true, {}};
  }
  const Action& known = actions_[index];
  if (known.action.kind != action.kind || known.action.where != action.where) {
    return Error{Code::mismatch,
                 "nodes disagree on action " + std::to_string(index + 1) + " of the job: " + known.who + " is in " +
                     known.action.kind + " at " + known.action.where + ", " + who + " is in " + action.kind + " at " +
                     action.where +
                     "; every worker must take the same actions in the same order (the order of pairs() "
                     "differs between nodes: use actor.pairs)"};
  }
  if (!known.finished) return Entered{};
  if (!known.kept) {
    return Error{Code::unsupported, "the value of action " + std::to_string(index + 1) + " (" + known.action.kind +
                                        " at " + known.action.where + ") is no longer kept, so " + who +
                                        " cannot catch up"};
  }
  return Entered{true, false, known.value};
}

void ActionLog::finish(uint32_t index, Blob value) {
  if (index >= actions_.size() || actions_[index].finished) return;
  Action& action = actions_[index];
  action.finished = true;
  bytes_ += value.size();
  action.value = std::move(value);
  for (size_t i = 0; bytes_ > max_bytes_ && i <= index; ++i) {
    if (!actions_[i].finished || !actions_[i].kept) continue;
    bytes_ -= actions_[i].value.size();
    actions_[i].value = {};
    actions_[i].kept = false;
    dropped_ = true;
  }
}

}  // namespace actorhost
