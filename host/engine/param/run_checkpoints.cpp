#include "host/engine/param/run_checkpoints.hpp"

namespace actorhost {

bool RunCheckpoints::due(uint64_t step, double now) const noexcept {
  const CheckpointPlan& plan = config_.plan;
  return requested_ || (plan.steps != 0 && step >= step_ + plan.steps) ||
         (plan.seconds > 0 && now - time_ >= plan.seconds);
}

bool RunCheckpoints::take_last() noexcept {
  const bool wanted = config_.plan.steps != 0 || config_.plan.seconds > 0 || requested_;
  return wanted && !std::exchange(last_made_, true);
}

void RunCheckpoints::start(RunState state, uint64_t step, double now) {
  stage_ = Stage::shards;
  state_ = std::move(state);
  state_.number = ++number_;
  step_ = step;
  updates_ = state_.updates;
  time_ = now;
  requested_ = urgent_ = false;
  unsettled_ = config_.lua_pull ? config_.shards - 1 : 0;
  if (unsettled_ != 0) send_cut(true);
}

std::optional<ServerRequest> RunCheckpoints::advance() {
  if (stage_ == Stage::shards && unsettled_ == 0) {
    stage_ = config_.keeps_tasks ? Stage::state : Stage::ready;
    if (stage_ == Stage::state) return StateRequest{};
  }
  if (stage_ != Stage::ready) return std::nullopt;
  stage_ = Stage::none;
  send_cut(false);
  return CutRequest{std::move(state_)};
}

void RunCheckpoints::send_cut(bool query) {
  for (uint32_t shard = 1; shard < config_.shards; ++shard) {
    out_.push_back(message_frame(param_kind::cut, server_address(shard), 0, CheckpointCut{number_, query}));
  }
}

void RunCheckpoints::on_settled(uint64_t checkpoint) {
  if (stage_ == Stage::shards && checkpoint == number_ && unsettled_ != 0) --unsettled_;
}

void RunCheckpoints::answer_state(CarriedValue state) {
  if (stage_ != Stage::state) return;
  state_.tasks = std::move(state);
  stage_ = Stage::ready;
}

}  // namespace actorhost
