#include "host/cluster/coordinator/action_log.hpp"

namespace actorhost {

const ActionLog::Action* ActionLog::find(uint32_t index) const noexcept {
  return index >= dropped_ && index < size() ? &actions_[index - dropped_] : nullptr;
}

Result<ActionLog::Entered> ActionLog::enter(uint32_t index, const ActionEnter& action, const std::string& node) {
  const std::string number = std::to_string(uint64_t{index} + 1);
  if (index > size()) {
    return Error{Code::mismatch, node + " is at its action " + number + " (" + action.kind + " at " + action.where +
                                     ") but only " + std::to_string(size()) + " actions have begun"};
  }
  if (index == size()) {
    add({action, node});
    return Entered{false, true, {}};
  }
  if (index + 1 < resumed_ && !finished(index)) {
    return Error{Code::unsupported, "the value of action " + number + " of the job was lost with the coordinator, so " +
                                        node + " cannot catch up"};
  }
  const Action* known = find(index);
  if (known == nullptr) {
    return Error{Code::unsupported, "action " + number + " of the job is no longer stored (the first " +
                                        std::to_string(dropped_) + " were dropped, " + std::to_string(max_bytes_) +
                                        " bytes are the limit), so " + node + " cannot catch up"};
  }
  const auto& [first, first_node] = known->place->first;
  const bool same = first.kind == action.kind && first.where == action.where;
  if (!same && index >= resumed_) {
    return Error{Code::mismatch, "nodes disagree on action " + number + " of the job: " + first_node + " is in " +
                                     first.kind + " at " + first.where + ", " + node + " is in " + action.kind +
                                     " at " + action.where +
                                     "; every worker must take the same actions in the same order (the order of "
                                     "pairs() differs between nodes: use actor.pairs)"};
  }
  if (!known->finished) return Entered{};
  return Entered{true, false, Blob::copy_of(known->value)};
}

void ActionLog::resume(uint32_t entered) {
  static constexpr uint32_t kMaxCached = 1000;  // most actions whose values some process may have cached
  if (entered <= resumed_) return;
  resumed_ = entered;
  if (entered > kMaxCached && size() < entered) {
    while (!actions_.empty()) drop_oldest();
    dropped_ = entered - 1;
  }
  while (size() < entered) add({{"an action", "a line that the lost coordinator knew"}, "another worker"});
}

bool ActionLog::can_catch_up() const noexcept {
  if (dropped_ > 0) return false;
  for (uint32_t index = 0; index + 1 < resumed_; ++index) {
    if (!finished(index)) return false;
  }
  return true;
}

void ActionLog::add(Place place) {
  const auto known = places_.emplace(std::move(place), 0).first;
  if (known->second++ == 0) bytes_ += known->first.cost();
  actions_.push_back({known});
  bytes_ += actions_.back().cost();
}

void ActionLog::drop_oldest() {
  const Places::iterator place = actions_.front().place;
  bytes_ -= actions_.front().cost();
  actions_.pop_front();
  ++dropped_;
  if (--place->second > 0) return;
  bytes_ -= place->first.cost();
  places_.erase(place);
}

void ActionLog::finish(uint32_t index, std::string_view value) {
  if (find(index) == nullptr || finished(index)) return;
  Action& action = actions_[index - dropped_];
  bytes_ -= action.cost();
  action.finished = true;
  action.value = value;
  bytes_ += action.cost();
}

void ActionLog::trim(uint32_t needed) {
  while (over_bound() && !actions_.empty() && dropped_ < needed) drop_oldest();
}

bool ActionLog::finished(uint32_t index) const noexcept {
  const Action* action = find(index);
  return action != nullptr ? action->finished : index < dropped_;
}

const std::string* ActionLog::value(uint32_t index) const noexcept {
  const Action* action = find(index);
  return action != nullptr && action->finished ? &action->value : nullptr;
}

const ActionEnter* ActionLog::at(uint32_t index) const noexcept {
  const Action* action = find(index);
  return action != nullptr ? &action->place->first.action : nullptr;
}

std::string ActionLog::opened_by(uint32_t index) const {
  const Action* action = find(index);
  return action != nullptr ? action->place->first.node : std::string();
}

}  // namespace actorhost
