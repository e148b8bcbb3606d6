#pragma once
// A worker's side of the loop: ready, then task and push in turn, then stop. Passive; used by the worker's thread. It
// uses a ParamClient, which handles the frames of its own requests. A push is sent by reference: its memory must not be
// written to before the next task or the stop has been taken. By then all shards have finished with it.

#include <optional>
#include <variant>
#include <vector>

#include "host/engine/param/client.hpp"

namespace actorhost {

class ParamWorker {
 public:
  struct Config {
    RunId run = 0;
    NodeId id = 0;
    uint32_t shards = 1;
    bool whole = false;         // updates are sent whole to the keys' owners (Lua pull)
    bool check_finite = false;  // refuses a push with infinite values or NaN
    FilterSpec push = {};       // the filter of its pushes
    bool shared = false;        // tensors stay unmodified after they are passed, so they need no copies
  };
  struct Task {
    uint64_t step = 0;   // steps completed so far
    bool local = false;  // the worker chooses its keys
    bool timed = false;  // `push` needs the working time
    std::vector<ParamEntry> entries;
  };
  /// A task, the end of the run, or the reason why a push was not applied.
  using Event = std::variant<Task, ParamSummary, Error>;

  ParamWorker(const Config& config, ParamClient& client) : config_(config), client_(client), filter_(config.push) {}

  /// Notifies shard 0 that the worker is ready.
  void start(std::vector<Frame>& out);
  /// Handles task, stop and reject. Ignores frames of another run.
  void handle(Frame&& frame, std::vector<Frame>& out);
  static bool handles(const Frame& frame) noexcept {
    return frame.kind == param_kind::task || frame.kind == param_kind::stop || frame.kind == param_kind::reject;
  }
  /// Whether the next event has arrived; its values may be pending.
  bool has_passed() const noexcept { return event_.has_value(); }
  /// The next complete event; nothing if there is none. To be called after frames were handled, the client's included.
  std::optional<Event> next();

  /// Sends the task's results and completes its step. `seconds` is included if the task is timed. With check_finite a
  /// value that is not finite is Code::bad_argument, and nothing is sent.
  Status push(const std::vector<ParamEntry>& entries, std::vector<Frame>& out, double seconds = 0);

  /// Completed steps, as shard 0 counts them.
  uint64_t step() const noexcept { return step_; }
  /// Whether the task's values pass through filters.
  bool filtered() const noexcept { return head_.filtered; }

 private:
  // Part of a push, for one shard.
  struct Part {
    uint32_t shard;
    const ParamKey* key;
    ParamValue value;
    Blob filtered;  // replaces a tensor's elements
  };

  std::vector<Part> filtered(const std::vector<ParamEntry>& entries);
  void on_task(Frame&& frame, std::vector<Frame>& out);
  void fence(std::vector<Frame>& out);

  Config config_;
  ParamClient& client_;
  uint64_t step_ = 0;
  PushHead head_;
  std::vector<ParamAssembler::Partial> arriving_;
  std::optional<Event> event_;   // the next event, except for the pending requests below
  std::vector<size_t> fetched_;  // indices in the task of the values that `values_` requests
  std::optional<ParamClient::Request> values_;
  std::optional<ParamClient::Request> fence_;
  std::optional<Error> rejected_;
  ParamFilter filter_;
  ParamTraffic traffic_;           // since the last push
  std::vector<uint32_t> touched_;  // shards that frames were sent to since the last fence
};

}  // namespace actorhost
