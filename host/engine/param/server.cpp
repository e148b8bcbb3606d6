#include "host/engine/param/server.hpp"

#include <utility>

namespace actorhost {

ParamServer::ParamServer(const Config& config, ParamStore& store, BarrierRule* rule, Log& log,
                         CheckpointSink* checkpoints)
    : run_(config.run.run),
      checkpoints_(checkpoints),
      shard_(store, config.run.run, config.update, log, out_, checkpoints) {
  shard_.set_pull_filter(config.pull);
  if (store.shard() != 0) return;
  ControllerConfig run = config.run;
  run.saves = checkpoints != nullptr;
  run.lua_pull = config.update.is_lua();
  controller_ = std::make_unique<ParamController>(run, *rule, shard_, log, out_);
}

void ParamServer::handle(Frame&& frame, double now) {
  if (controller_) controller_->check_time_limit(now);
  if (frame.kind == param_kind::ready && controller_) {
    const auto ready = read_message<Ready>(frame);
    if (!ready || !is_worker(frame.src)) return;
    if (ready->run == run_) controller_->on_ready(address_index(frame.src), now);
    if (ready->run > run_) early_.push_back(std::move(frame));
  } else if (frame.kind == param_kind::report && controller_) {
    const auto report = read_message<ShardReport>(frame);
    if (report && is_server(frame.src)) controller_->on_report(*report);
  } else if (frame.kind == param_kind::cut && controller_) {
    const auto settled = read_message<CheckpointCut>(frame);
    if (settled && is_server(frame.src)) controller_->on_settled(settled->number);
  } else {
    shard_.handle(std::move(frame));
    settle(now);
  }
}

// Passes the shard's reports on to the controller.
void ParamServer::settle(double now) {
  const std::vector<ParamShard::Done> done = shard_.take_done();
  std::vector<ShardReport> reports = shard_.take_reports();
  if (!controller_) {
    for (const ShardReport& report : reports)
      out_.push_back(message_frame(param_kind::report, server_address(0), 0, report));
    return;
  }
  for (const ShardReport& report : reports) controller_->on_report(report);
  for (const ParamShard::Done& push : done) {
    controller_->on_done(push.worker, push.step, push.seconds, now, push.traffic);
  }
}

void ParamServer::lost(NodeId id, double now) {
  if (controller_) controller_->lost(id, now);
}

void ParamServer::joined(NodeId id) {
  if (controller_) controller_->joined(id);
}

void ParamServer::suspect(NodeId id, bool suspected) {
  if (controller_) controller_->suspect(id, suspected);
}

void ParamServer::set_rule(BarrierRule& rule) {
  if (controller_) controller_->set_rule(rule);
}

void ParamServer::stop(const std::string& reason) {
  if (controller_) controller_->stop(reason);
}

bool ParamServer::checkpoint_now() {
  if (!controller_ || checkpoints_ == nullptr) return false;
  controller_->checkpoint_now();
  return true;
}

bool ParamServer::last_checkpoint() { return controller_ && checkpoints_ != nullptr && controller_->last_checkpoint(); }

std::optional<ServerRequest> ParamServer::next(double now) {
  for (;;) {
    settle(now);
    if (shard_.in_pull()) return PullRequest{shard_.pull()};
    if (!controller_) return std::nullopt;
    auto request = controller_->next(now);
    if (request && std::holds_alternative<CutRequest>(*request)) {
      const RunState& state = std::get<CutRequest>(*request).state;
      if (checkpoints_ != nullptr) checkpoints_->begin(state);
      shard_.cut(state.number);
      continue;
    }
    if (request && checkpoints_ != nullptr) {
      if (const auto* end = std::get_if<FinishedNotice>(&*request)) checkpoints_->finished(run_, end->summary);
    }
    if (request || !shard_.in_pull()) return request;
  }
}

Status ParamServer::answer_pull(const std::vector<ParamEntry>& values) { return shard_.answer_pull(values); }

void ParamServer::answer_stop(bool stop) {
  if (controller_) controller_->answer_stop(stop);
}

void ParamServer::answer_state(CarriedValue state) {
  if (controller_) controller_->answer_state(std::move(state));
}

Status ParamServer::answer_schedule(std::map<NodeId, std::vector<ParamEntry>> tasks, double now,
                                    const std::map<NodeId, uint64_t>& numbers) {
  return controller_ ? controller_->answer_schedule(std::move(tasks), now, numbers) : Status();
}

std::vector<TaskOutcome> ParamServer::take_outcomes() {
  return controller_ ? controller_->take_outcomes() : std::vector<TaskOutcome>();
}

std::vector<Frame> ParamServer::take_frames() { return std::exchange(out_, {}); }

}  // namespace actorhost
