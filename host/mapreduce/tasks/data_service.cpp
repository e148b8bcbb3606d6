#include "host/mapreduce/tasks/data_service.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kLookSeconds = 0.5;  // at the membership, when nothing else happens
constexpr double kProgressSeconds = 0.2;
constexpr double kFullSeconds = 0.002;  // until frames that found their way full are tried again

}  // namespace

DataService::DataService(Cluster& cluster, const Clock& clock, Log& log, const Options& options)
    : cluster_(cluster),
      clock_(clock),
      log_(log),
      process_(cluster.process()),
      options_(options),
      budget_(options.memory, options.workers),
      store_(budget_, spill_),
      inbox_(cluster.take_mailbox(data_address(process_))),
      outbox_([this](LinkId, Frame&& frame) { return cluster_.transport().try_send(std::move(frame)); }) {
  // An error of spilling comes up where the next block is put.
  budget_.set_relief([this] { (void)store_.make_room(); });
  membership_ = cluster_.membership();
  if (process_ == 0) tracker_ = std::make_unique<Tracker>(log_, membership_);
  thread_ = std::thread([this] { serve(); });
}

DataService::~DataService() {
  quit_ = true;
  inbox_->wake();
  thread_.join();
  cluster_.transport().detach(data_address(process_));
}

void DataService::send(Frame&& frame) {
  frame.src = data_address(process_);
  outbox_.put(0, std::move(frame));
}

void DataService::serve() {
  std::vector<Frame> frames;
  while (!quit_) {
    double seconds = outbox_.empty() ? kLookSeconds : kFullSeconds;
    if (options_.progress) seconds = std::min(seconds, kProgressSeconds);
    if (tracker_) seconds = std::clamp(tracker_->wake_at() - clock_.now(), 0.0, seconds);
    inbox_->pop_all(frames, seconds);
    for (Frame& frame : frames) handle(std::move(frame));
    frames.clear();
    if (tracker_) drive_tracker();
    outbox_.flush();
  }
}

void DataService::drive_tracker() {
  const double now = clock_.now();
  if (MembershipPtr newest = cluster_.membership(); newest->epoch() != membership_->epoch()) {
    membership_ = std::move(newest);
    tracker_->membership_changed(membership_, now);
  }
  if (now >= tracker_->wake_at()) tracker_->tick(now);
  for (Frame& frame : tracker_->take_frames()) send(std::move(frame));
  if (options_.progress) tell_progress(now);
}

void DataService::tell_progress(double now) {
  if (now < shown_ + kProgressSeconds) return;
  shown_ = now;
  options_.progress(tracker_->progress());
}

void DataService::handle(Frame&& frame) {
  if (frame.kind == mapreduce_kind::fetch) return hand_out(frame);
  if (frame.kind != mapreduce_kind::forget) {
    if (tracker_) tracker_->handle(std::move(frame), clock_.now());
    return;
  }
  const auto message = read_message<ForgetOutputs>(frame);
  if (!message) return log_.warn("data service", malformed(frame, message.error().message).message);
  for (const StageId stage : message->stages) store_.forget(stage);
  for (const ForgetOutputs::Task& task : message->tasks) store_.forget(task.stage, task.task);
}

void DataService::hand_out(const Frame& question) {
  const auto wanted = read_message<FetchBlocks>(question);
  if (!wanted) return log_.warn("data service", malformed(question, wanted.error().message).message);
  const auto missing = [&](std::string why) {
    send(BlocksMissing{wanted->output, std::move(why)}.frame(question.src, question.tag));
  };
  const auto count = store_.blocks(wanted->output);
  if (!count) return missing("it is not there");
  const auto of = static_cast<uint32_t>(*count);
  if (wanted->first >= of) return send(FetchedBlock{wanted->output, of, of, {}}.frame(question.src, question.tag));
  for (uint32_t i = wanted->first; i < of && i - wanted->first < wanted->count; ++i) {
    auto block = store_.block(wanted->output, i);
    if (!block) return missing(block.error().message);
    send(FetchedBlock{wanted->output, i, of, std::move(*block)}.frame(question.src, question.tag));
  }
}

}  // namespace actorhost
