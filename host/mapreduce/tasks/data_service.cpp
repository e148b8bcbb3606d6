#include "host/mapreduce/tasks/data_service.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace actorhost {

DataService::DataService(Cluster& cluster, const Clock& clock, Log& log, const Options& options)
    : cluster_(cluster),
      clock_(clock),
      options_(options),
      budget_(options.memory, options.workers),
      store_(budget_, spill_),
      thread_(cluster, clock, log, data_address(cluster.process())) {
  // An error of spilling is returned when the next block is put.
  budget_.set_relief([this] { (void)store_.make_room(); });
  if (process() == 0) {
    tracker_ = std::make_unique<Tracker>(log, cluster.membership());
    cluster.state().section("stages", [this](nlohmann::json& out) { report_stages(out); });
  }
  thread_.add(kinds_of(Kind::mapreduce_first), *this);
  thread_.start();
}

DataService::~DataService() {
  if (tracker_) cluster_.state().drop("stages");
  thread_.stop();
}

/// For observers, on the cluster's thread. While the tracker is busy, observers receive the previous rows.
void DataService::report_stages(nlohmann::json& out) {
  if (const std::unique_lock lock(tracker_mutex_, std::try_to_lock); lock)
    shown_stages_ = tracker_->stages(clock_.now());
  for (const StageRow& row : shown_stages_) {
    out["stages"].push_back({{"action", row.action},
                             {"stage", row.stage},
                             {"name", row.name},
                             {"where", row.where},
                             {"tasks", row.tasks},
                             {"done", row.done},
                             {"running", row.running},
                             {"seconds", row.seconds},
                             {"rows", row.rows},
                             {"bytes", row.bytes}});
  }
}

void DataService::on_membership(const MembershipPtr& membership, double now) {
  std::lock_guard lock(tracker_mutex_);
  if (tracker_) tracker_->membership_changed(membership, now);
}

double DataService::tick(double now) {
  if (!tracker_) return kForever;
  std::lock_guard lock(tracker_mutex_);
  if (now >= tracker_->wake_at()) tracker_->tick(now);
  for (Frame& frame : tracker_->take_frames()) thread_.send(std::move(frame));
  return std::min(tracker_->wake_at(), options_.progress ? report_progress(now) : kForever);
}

/// Reports the tracker's progress to the progress bar; returns the time of the next report.
double DataService::report_progress(double now) {
  const auto progress = tracker_->progress();
  if (!progress && !shows_) return kForever;
  if (now >= shown_ + options_.progress_seconds) {
    shown_ = now;
    shows_ = progress.has_value();
    options_.progress(progress);
  }
  return progress || shows_ ? shown_ + options_.progress_seconds : kForever;
}

void DataService::on_frame(Frame&& frame, double now) {
  if (frame.kind == mapreduce_kind::fetch) return send_blocks(frame);
  if (frame.kind != mapreduce_kind::forget) {
    std::lock_guard lock(tracker_mutex_);
    if (tracker_) tracker_->handle(std::move(frame), now);
    return;
  }
  const auto message = read_message<ForgetOutputs>(frame);
  if (!message) return thread_.log().warn("data service", malformed(frame, message.error().message).message);
  for (const StageId stage : message->stages) store_.forget(stage);
  for (const ForgetOutputs::Task& task : message->tasks) store_.forget(task.stage, task.task);
}

void DataService::send_blocks(const Frame& request) {
  const auto wanted = read_message<FetchBlocks>(request);
  if (!wanted) return thread_.log().warn("data service", malformed(request, wanted.error().message).message);
  const auto missing = [&](std::string reason) {
    thread_.send(BlocksMissing{wanted->output, std::move(reason)}.frame(request.src, request.tag));
  };
  const auto count = store_.blocks(wanted->output);
  if (!count) return missing("there is no such output");
  const auto of = static_cast<uint32_t>(*count);
  if (wanted->first >= of)
    return thread_.send(FetchedBlock{wanted->output, of, of, {}}.frame(request.src, request.tag));
  for (uint32_t i = wanted->first; i < of && i - wanted->first < wanted->count; ++i) {
    auto block = store_.block(wanted->output, i);
    if (!block) return missing(block.error().message);
    thread_.send(FetchedBlock{wanted->output, i, of, std::move(*block)}.frame(request.src, request.tag));
  }
}

}  // namespace actorhost
