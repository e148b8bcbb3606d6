#include "host/mapreduce/tasks/task_client.hpp"

#include <array>

namespace actorhost {

namespace {

constexpr size_t kPrefetch = 8;               // outputs of other processes that are requested in advance
constexpr uint32_t kBlocksAtOnce = 16;        // of one output
constexpr size_t kMaxLost = size_t{1} << 16;  // in one message; omitted losses are found again later

}  // namespace

/// The rows of outputs in sequence. Requests several outputs of other processes in advance, to hide their latency.
class TaskClient::OutputSource final : public BlockSource {
 public:
  struct Place {
    OutputId output;
    ProcessId process;
    uint32_t request_number = 0;  // its replies are in flight; 0: not requested
  };
  OutputSource(TaskClient& client, std::vector<Place> places) : client_(client), places_(std::move(places)) {}

  Status next_block(RowBlock& block) override {
    block = {};
    while (block.rows == 0 && at_ != places_.size()) {
      AH_TRY(fetch(block));
    }
    return {};
  }
  uint64_t bytes_read() const noexcept override { return bytes_; }

 private:
  /// Fetches the next block, which may have no rows.
  Status fetch(RowBlock& into) {
    AH_TRY(prefetch());
    Place& place = places_[at_];
    uint32_t of = 0;
    auto block = place.request_number == 0
                     ? client_.local_block(place.output, index_, of)
                     : client_.remote_block(place.output, place.process, place.request_number, of);
    if (!block) return client_.record_loss(place.output, place.process, block.error());
    if (++index_ >= of) {
      ++at_;
      index_ = 0;
    } else if (place.request_number != 0 && index_ % kBlocksAtOnce == 0) {
      AH_TRY(request(place, index_));
    }
    into = std::move(*block);
    bytes_ += into.bytes.size();
    return {};
  }

  Status prefetch() {
    for (; requested_ < places_.size() && requested_ < at_ + kPrefetch; ++requested_) {
      Place& place = places_[requested_];
      if (place.process == client_.service_.process()) continue;
      AH_TRY(request(place, 0));
    }
    return {};
  }

  /// Requests an output; fails when its process has failed.
  Status request(Place& place, uint32_t first) {
    const Status sent = client_.send_fetch(place.output, place.process, first, kBlocksAtOnce, place.request_number);
    if (!sent) return client_.record_loss(place.output, place.process, sent.error());
    return {};
  }

  TaskClient& client_;
  std::vector<Place> places_;
  size_t at_ = 0;
  size_t requested_ = 0;  // all places before it are requested
  uint32_t index_ = 0;
  uint64_t bytes_ = 0;
};

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
  outcomes_ = 0;
  outcome_ = {};
  lost_.clear();
  return send(PlanBegin{where, plan_}.frame(action));
}

Result<std::optional<TaskOrder>> TaskClient::next() {
  if (last_request_ > 0) AH_TRY(drop_replies());
  AH_TRY(send(TaskRequest{outcomes_}.frame(action_)));
  const auto matches = [this](const Frame& frame) {
    return (frame.kind == mapreduce_kind::task || frame.kind == mapreduce_kind::outcome) && frame.tag == action_;
  };
  static constexpr EngineCall kCall{Cause::data, "map-reduce"};
  const Activity activity(node_.stats(), kCall);
  const Node::RequiresFirstCoordinator needs(node_, "a task of map-reduce");
  auto frame = node_.receive(matches, {}, "a task of map-reduce");
  if (!frame) return frame.error();
  if (frame->kind == mapreduce_kind::task) {
    auto order = read_message<TaskOrder>(*frame);
    if (!order) return malformed(*frame, order.error().message);
    AH_TRY(places_.complete(action_, *order));
    if (stage(order->task.stage) == nullptr) return Error{Code::bad_data, "a task of a stage outside the plan"};
    order_ = *order;
    assigned_at_ = node_.stats().span_begin();
    return std::optional(std::move(*order));
  }
  ++outcomes_;
  auto outcome = read_message<ActionOutcome>(*frame);
  if (!outcome) return malformed(*frame, outcome.error().message);
  outcome_ = std::move(*outcome);
  if (!outcome_.ok) return Error{outcome_.code, outcome_.message};
  return std::optional<TaskOrder>();
}

/// Records the end of the task as a span.
void TaskClient::record_span() {
  SpanSink* const spans = node_.stats().spans();
  const PlanStage* const own = stage(order_.task.stage);
  if (spans != nullptr && own != nullptr) {
    spans->put({own->name, "task", assigned_at_, spans->now(), uint64_t{order_.task.task} + 1});
  }
}

Status TaskClient::done(TaskReport report) {
  record_span();
  node_.stats().tasks.add(1);
  return send(TaskDone{order_.task, std::move(report)}.frame(action_));
}

Status TaskClient::failed(Error error) {
  record_span();
  TaskFailed failed{order_.task, std::move(error), std::exchange(lost_, {})};
  if (failed.lost.size() > kMaxLost) failed.lost.resize(kMaxLost);
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

Result<std::unique_ptr<RowSource>> TaskClient::results(std::optional<uint32_t> task) {
  const PlanStage& last = plan_.stages.back();
  const auto count = static_cast<uint32_t>(outcome_.places.size());
  if (task && *task >= count) return Error{Code::bad_argument, "the action has no such task"};
  std::vector<OutputSource::Place> places;
  for (uint32_t i = task.value_or(0); i < (task ? *task + 1 : count); ++i) {
    places.push_back({{last.id, i, 0}, outcome_.places[i]});
  }
  return std::unique_ptr<RowSource>(std::make_unique<OutputSource>(*this, std::move(places)));
}

Status TaskClient::send_fetch(const OutputId& output, ProcessId process, uint32_t first, uint32_t count,
                              uint32_t& request_number) {
  request_number = ++last_request_;
  const Status sent = send(FetchBlocks{output, first, count}.frame(process, request_number));
  return sent ? sent : Status(record_loss(output, process, sent.error()));  // a failed process receives no requests
}

/// Records an output that could not be fetched, for `failed`; the end of the run is not a loss.
Error TaskClient::record_loss(const OutputId& output, ProcessId process, Error error) {
  if (error.code != Code::interrupted && error.code != Code::aborted) {
    lost_.push_back({output.stage, output.task, process});
  }
  return error;
}

Result<RowBlock> TaskClient::local_block(const OutputId& output, uint32_t index, uint32_t& of) {
  const auto count = service_.store().blocks(output);
  if (!count) return Error{Code::peer_lost, "this process has no such rows any more"};
  of = static_cast<uint32_t>(*count);
  if (index >= *count) return RowBlock();
  return service_.store().block(output, index);
}

Result<RowBlock> TaskClient::remote_block(const OutputId& output, ProcessId process, uint32_t request_number,
                                          uint32_t& of) {
  const auto matches = [request_number](const Frame& frame) {
    return (frame.kind == mapreduce_kind::block || frame.kind == mapreduce_kind::missing) &&
           frame.tag == request_number;
  };
  const Node::NoChunks in_ffi(node_);  // Lua that calls C through the FFI cannot be called back
  const std::array<Address, 1> from = {data_address(process)};
  static constexpr EngineCall kCall{Cause::data, "map-reduce"};
  const Activity activity(node_.stats(), kCall);
  AH_LET(auto frame, node_.receive(matches, from, "rows of another process"));
  if (frame.kind == mapreduce_kind::missing) {
    auto missing = read_message<BlocksMissing>(frame);
    if (!missing) return malformed(frame, missing.error().message);
    return Error{Code::peer_lost, "rows of another process cannot be fetched: " + missing->reason};
  }
  auto fetched = read_message<FetchedBlock>(frame);
  if (!fetched) return malformed(frame, fetched.error().message);
  if (fetched->output != output) return Error{Code::bad_data, "received rows of another output than requested"};
  of = fetched->of;
  return std::move(fetched->block);
}

/// Drops replies that no task waits for any more: those of a failed task with rows in flight.
Status TaskClient::drop_replies() {
  std::vector<Frame> dropped;
  const auto matches = [](const Frame& frame) {
    return frame.kind == mapreduce_kind::block || frame.kind == mapreduce_kind::missing;
  };
  return node_.port().receive_all(matches, node_.clock().now(), dropped);
}

}  // namespace actorhost
