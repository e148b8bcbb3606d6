#pragma once
// A worker's side of the loop: ready, then task and push in turn, then stop. A passive state machine of the worker's
// thread, over its ParamClient, which gets the frames of its own requests. A push goes by reference: its memory must
// not be written to before the next task or the stop has been taken; by then all shards are done with it.

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
    bool whole = false;         // updates go whole to the keys' owners (Lua pull)
    bool check_finite = false;  // a push with infinite values or NaN is refused here
    FilterSpec push = {};       // for what it pushes
    bool shared = false;        // tensors are not written to once they were given or got: they need no copies
  };
  struct Task {
    uint64_t step = 0;   // completed so far
    bool local = false;  // the worker chooses its keys
    bool timed = false;  // `push` is to be told how long the work took
    std::vector<ParamEntry> entries;
  };
  /// A task, the end of the run, or why a push was not applied.
  using Event = std::variant<Task, ParamSummary, Error>;

  ParamWorker(const Config& config, ParamClient& client) : config_(config), client_(client), filter_(config.push) {}

  /// Tells shard 0 that the worker is here.
  void start(std::vector<Frame>& out);
  /// task, stop and reject; frames of another run are ignored.
  void handle(Frame&& frame, std::vector<Frame>& out);
  static bool wants(const Frame& frame) noexcept {
    return frame.kind == param_kind::task || frame.kind == param_kind::stop || frame.kind == param_kind::reject;
  }
  /// What has come; nothing while it is incomplete. To be called after frames were handled, the client's included.
  std::optional<Event> next();

  /// Sends the task's results and completes its step; `seconds` is sent along when the task is timed.
  /// Code::bad_argument, and nothing is sent, when check_finite is set and a value is not finite.
  Status push(const std::vector<ParamEntry>& entries, std::vector<Frame>& out, double seconds = 0);

  /// Steps completed, as shard 0 counts them.
  uint64_t step() const noexcept { return step_; }
  /// Whether the task's values come through filters.
  bool filtered() const noexcept { return head_.filtered; }

 private:
  // Part of a push, for one shard.
  struct Part {
    uint32_t shard;
    const ParamKey* key;
    ParamValue value;
    Blob filtered;  // in place of a tensor's elements
  };

  std::vector<Part> filtered(const std::vector<ParamEntry>& entries);
  void on_task(Frame&& frame, std::vector<Frame>& out);
  void fence(std::vector<Frame>& out);

  Config config_;
  ParamClient& client_;
  uint64_t step_ = 0;
  PushHead head_;
  std::vector<ParamAssembler::Partial> arriving_;
  std::optional<Event> event_;   // complete but for what is still awaited:
  std::vector<size_t> fetched_;  // places in the task of the values that `values_` brings
  std::optional<ParamClient::Request> values_;
  std::optional<ParamClient::Request> fence_;
  std::optional<Error> rejected_;
  ParamFilter filter_;
  ParamTraffic traffic_;           // since the last push
  std::vector<uint32_t> touched_;  // shards that were sent something since the last fence
};

}  // namespace actorhost
