#include "host/mapreduce/task_client.hpp"

#include <array>

namespace actorhost {

namespace {

/// The rows of outputs, one after the other.
class OutputSource final : public RowSource {
 public:
  struct Place {
    OutputId output;
    ProcessId process;
  };
  OutputSource(TaskClient& client, std::vector<Place> places) : client_(client), places_(std::move(places)) {}

  Status next(RowBatch& batch) override {
    batch.count = 0;
    RowReader::Row row;
    for (;;) {
      while (batch.count < kBatchRows && reader_.next(row)) batch.add(row);
      if (batch.count > 0) return {};  // views into one block only
      if (!reader_.ok()) return Error{Code::bad_data, "a block of rows is damaged"};
      if (at_ == places_.size()) return {};
      const Place& place = places_[at_];
      auto block = client_.fetch(place.output, place.process, index_, of_);
      if (!block) return block.error();
      if (++index_ >= of_) {
        ++at_;
        index_ = 0;
      }
      block_ = std::move(*block);
      bytes_ += block_.bytes.size();
      reader_ = RowReader(block_.bytes.view());
    }
  }
  uint64_t bytes_read() const noexcept override { return bytes_; }

 private:
  TaskClient& client_;
  std::vector<Place> places_;
  size_t at_ = 0;
  uint32_t index_ = 0;
  uint32_t of_ = 0;
  uint64_t bytes_ = 0;
  RowBlock block_;
  RowReader reader_;
};

}  // namespace

const PlanStage* TaskClient::stage(StageId id) const noexcept {
  for (const PlanStage& each : plan_.stages) {
    if (each.id == id) return &each;
  }
  return nullptr;
}

Status TaskClient::send(Frame&& frame) {
  frame.src = node_.address();
  return node_.port().send(std::move(frame));
}

Status TaskClient::begin(uint32_t action, Plan plan, const std::string& where) {
  AH_TRY(plan.check());
  plan_ = std::move(plan);
  action_ = action;
  overs_ = 0;
  lost_.clear();
  return send(PlanBegin{where, plan_}.frame(action));
}

Result<std::optional<TaskOrder>> TaskClient::next() {
  AH_TRY(send(want_frame(action_, overs_)));
  const auto answers = [this](const Frame& frame) {
    return (frame.kind == mapreduce_kind::task || frame.kind == mapreduce_kind::over) && frame.tag == action_;
  };
  auto frame = node_.receive(answers, {}, "a task of map-reduce");
  if (!frame) return frame.error();
  if (frame->kind == mapreduce_kind::task) {
    auto order = TaskOrder::read(*frame);
    if (!order) return order.error();
    AH_TRY(places_.complete(action_, *order));
    if (stage(order->task.stage) == nullptr) return Error{Code::bad_data, "a task of no stage of the plan"};
    order_ = *order;
    return std::optional(std::move(*order));
  }
  ++overs_;
  auto over = ActionOver::read(*frame);
  if (!over) return over.error();
  if (!over->ok) return Error{over->code, over->message};
  over_ = std::move(*over);
  return std::optional<TaskOrder>();
}

Status TaskClient::done(TaskReport report) { return send(TaskDone{order_.task, std::move(report)}.frame(action_)); }

Status TaskClient::failed(Error error) {
  TaskFailed failed{order_.task, std::move(error), std::exchange(lost_, {})};
  return send(failed.frame(action_));
}

Status TaskClient::results_failed(Error error) {
  order_ = {};
  return failed(std::move(error));
}

Status TaskClient::finished() { return send(finished_frame(action_)); }

Result<std::unique_ptr<RowSource>> TaskClient::needed(size_t k, std::optional<uint32_t> bucket) {
  const PlanStage* own = stage(order_.task.stage);
  if (own == nullptr || k >= own->needs.size() || k >= order_.inputs.size()) {
    return Error{Code::bad_argument, "the task has no such input"};
  }
  const TaskInput& input = order_.inputs[k];
  const uint32_t task = order_.task.task;
  std::vector<OutputSource::Place> places;
  if (own->needs[k].wide) {
    const uint32_t from = bucket.value_or(task);
    for (uint32_t i = 0; i < input.places.size(); ++i) places.push_back({{input.stage, i, from}, input.places[i]});
  } else if (!input.places.empty()) {
    places.push_back({{input.stage, task - own->needs[k].first, 0}, input.places[0]});
  }
  return std::unique_ptr<RowSource>(std::make_unique<OutputSource>(*this, std::move(places)));
}

Result<std::unique_ptr<RowSource>> TaskClient::results() {
  const PlanStage& last = plan_.stages.back();
  std::vector<OutputSource::Place> places;
  for (uint32_t i = 0; i < over_.places.size(); ++i) places.push_back({{last.id, i, 0}, over_.places[i]});
  return std::unique_ptr<RowSource>(std::make_unique<OutputSource>(*this, std::move(places)));
}

Result<RowBlock> TaskClient::fetch(const OutputId& output, ProcessId process, uint32_t index, uint32_t& of) {
  Result<RowBlock> block = RowBlock();
  if (process == service_.process()) {
    const auto count = service_.store().blocks(output);
    of = static_cast<uint32_t>(count.value_or(0));
    if (!count) {
      block = Error{Code::peer_lost, "an output is not where it was"};
    } else if (index < *count) {
      block = service_.store().block(output, index);
    }
  } else {
    block = fetch_far(output, process, index, of);
  }
  if (!block && block.error().code != Code::interrupted && block.error().code != Code::aborted) {
    lost_.push_back({output.stage, output.task, process});
  }
  return block;
}

Result<RowBlock> TaskClient::fetch_far(const OutputId& output, ProcessId process, uint32_t index, uint32_t& of) {
  const uint32_t question = ++questions_;
  AH_TRY(send(FetchBlocks{output, index, 1}.frame(process, question)));
  const auto answers = [question](const Frame& frame) {
    return (frame.kind == mapreduce_kind::block || frame.kind == mapreduce_kind::missing) && frame.tag == question;
  };
  const std::array<Address, 1> from = {data_address(process)};
  auto frame = node_.receive(answers, from, "rows of another process");
  if (!frame) return frame.error();
  if (frame->kind == mapreduce_kind::missing) {
    auto missing = BlocksMissing::read(*frame);
    if (!missing) return missing.error();
    return Error{Code::peer_lost, "rows of another process cannot be had: " + missing->why};
  }
  auto fetched = FetchedBlock::read(*frame);
  if (!fetched) return fetched.error();
  of = fetched->of;
  return std::move(fetched->block);
}

}  // namespace actorhost
