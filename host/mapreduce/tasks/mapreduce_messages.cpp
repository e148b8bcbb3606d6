#include "host/mapreduce/tasks/mapreduce_messages.hpp"

namespace actorhost {

TaskFigures& TaskFigures::operator+=(const TaskFigures& other) noexcept {
  rows_in += other.rows_in;
  rows_out += other.rows_out;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  if (other.seconds >= 0 && other.seconds < 1e12) seconds += other.seconds;
  spilled_bytes += other.spilled_bytes;
  skipped += other.skipped;
  return *this;
}

Status PlaceCache::complete(uint32_t action, TaskOrder& order) {
  if (action != action_) places_.clear();
  action_ = action;
  for (TaskInput& input : order.inputs) {
    if (input.form == TaskInput::Form::wide) places_[input.stage] = input.places;
    if (input.form != TaskInput::Form::cached) continue;
    const auto found = places_.find(input.stage);
    if (found == places_.end()) {
      return Error{Code::bad_data,
                   "a task whose inputs of stage " + std::to_string(input.stage) + " have unknown places"};
    }
    input.places = found->second;
    input.form = TaskInput::Form::wide;
  }
  return {};
}

}  // namespace actorhost
