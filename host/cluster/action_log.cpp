#include "host/cluster/action_log.hpp"

namespace actorhost {

size_t ActionLog::Action::cost() const noexcept {
  return sizeof(Action) + action.kind.size() + action.where.size() + who.size() + value.size();
}

const ActionLog::Action* ActionLog::find(uint32_t index) const noexcept {
  return index >= dropped_ && index < size() ? &actions_[index - dropped_] : nullptr;
}

Result<ActionLog::Entered> ActionLog::enter(uint32_t index, const ActionEnter& action, const std::string& who) {
  const std::string number = std::to_string(uint64_t{index} + 1);
  if (index > size()) {
    return Error{Code::mismatch, who + " is at its action " + number + " (" + action.kind + " at " + action.where +
                                     ") but only " + std::to_string(size()) + " actions have begun"};
  }
  if (index == size()) {
    actions_.push_back(Action{action, who});
    bytes_ += actions_.back().cost();
    return Entered{false, true, {}};
  }
  const Action* known = find(index);
  if (known == nullptr) {
    return Error{Code::unsupported, "action " + number + " of the job is no longer kept (the first " +
                                        std::to_string(dropped_) + " were dropped, " + std::to_string(max_bytes_) +
                                        " bytes are the limit), so " + who + " cannot catch up"};
  }
  if (known->action.kind != action.kind || known->action.where != action.where) {
    return Error{Code::mismatch, "nodes disagree on action " + number + " of the job: " + known->who + " is in " +
                                     known->action.kind + " at " + known->action.where + ", " + who + " is in " +
                                     action.kind + " at " + action.where +
                                     "; every worker must take the same actions in the same order (the order of "
                                     "pairs() differs between nodes: use actor.pairs)"};
  }
  if (!known->finished) return Entered{};
  return Entered{true, false, known->value};
}

void ActionLog::finish(uint32_t index, Blob value) {
  if (find(index) == nullptr || finished(index)) return;
  Action& action = actions_[index - dropped_];
  bytes_ += value.size();
  action.finished = true;
  action.value = std::move(value);
}

void ActionLog::trim(uint32_t needed) {
  while (over_bound() && !actions_.empty() && dropped_ < needed) {
    bytes_ -= actions_.front().cost();
    actions_.pop_front();
    ++dropped_;
  }
}

bool ActionLog::finished(uint32_t index) const noexcept {
  const Action* action = find(index);
  return action != nullptr ? action->finished : index < dropped_;
}

const ActionEnter* ActionLog::at(uint32_t index) const noexcept {
  const Action* action = find(index);
  return action != nullptr ? &action->action : nullptr;
}

std::string ActionLog::opened_by(uint32_t index) const {
  const Action* action = find(index);
  return action != nullptr ? action->who : std::string();
}

}  // namespace actorhost
