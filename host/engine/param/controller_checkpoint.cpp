// How shard 0 makes a checkpoint, and how it reports numbered tasks to the policy.

#include <algorithm>

#include "host/engine/param/controller.hpp"

namespace actorhost {

std::optional<uint64_t> ParamController::take_number(NodeId worker, uint64_t step) {
  const auto number = numbers_.extract({worker, step});
  return number.empty() ? std::nullopt : std::optional(number.mapped());
}

void ParamController::settle(NodeId worker, uint64_t step, bool merged) {
  if (const auto number = take_number(worker, step)) outcomes_.push_back({worker, *number, merged});
}

bool ParamController::checkpoint_due(double now) const {
  const CheckpointPlan& plan = config_.checkpoint;
  return checkpoint_requested_ || (plan.steps != 0 && slowest_ >= checkpoint_step_ + plan.steps) ||
         (plan.seconds > 0 && now - checkpoint_time_ >= plan.seconds);
}

// Advances the checkpoint by one step; returns nothing while it waits. Later pushes are not in the checkpoint.
std::optional<ServerRequest> ParamController::cut(double now) {
  if (cut_ == Cut::none) {
    cut_ = Cut::shards;
    cut_state_ = state(now);
    unsettled_ = config_.lua_pull ? config_.shards - 1 : 0;
    if (unsettled_ != 0) send_cut(true);
  }
  if (cut_ == Cut::shards && unsettled_ == 0) {
    cut_ = config_.keeps_tasks ? Cut::state : Cut::ready;
    if (cut_ == Cut::state) return StateRequest{};
  }
  if (cut_ != Cut::ready) return std::nullopt;
  cut_ = Cut::none;
  send_cut(false);
  return CutRequest{std::move(cut_state_)};
}

void ParamController::send_cut(bool query) {
  for (uint32_t shard = 1; shard < config_.shards; ++shard) {
    out_.push_back(message_frame(param_kind::cut, server_address(shard), 0, CheckpointCut{checkpoints_, query}));
  }
}

void ParamController::on_settled(uint64_t checkpoint) {
  if (cut_ == Cut::shards && checkpoint == checkpoints_ && unsettled_ != 0) --unsettled_;
}

void ParamController::answer_state(CarriedValue state) {
  if (cut_ != Cut::state) return;
  cut_state_.tasks = std::move(state);
  cut_ = Cut::ready;
}

RunState ParamController::state(double now) {
  RunState state{++checkpoints_, config_.run, {}, updates_, elapsed(now), {}, config_.seed};
  for (Slot slot = 0; slot < progress_.size(); ++slot) {
    const auto step = static_cast<uint64_t>(progress_.steps()[slot]);
    state.clocks[progress_.ids()[slot]] = was_bsp_ ? std::min(step, slowest_) : step;  // the rest is staged
  }
  checkpoint_step_ = slowest_;
  checkpoint_updates_ = updates_;
  checkpoint_time_ = now;
  checkpoint_requested_ = checkpoint_urgent_ = false;
  return state;
}

}  // namespace actorhost
