#pragma once
// The blocking calls of a worker to the peer-to-peer engine: values of any key, and its part in runs. Results arrive
// through the courier thread of its process; while the node waits, it merges updates by its Lua pull. All nodes pass
// through the same phases from `begin` to `settle`, and the minimum clock shows when a phase has ended (peer_pace.hpp).
// Used by the node's thread.
//
//  begin                                  wait
//    [init], ready                        wait         until all are present and know their first step
//    loop: request_pass, fetch, push      wait, each   pushes stay in flight while the next steps begin
//    stop                                 wait         until all have stopped
//    settle                               wait         until no update is missing anywhere

#include <memory>
#include <string>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/engine/peer/peer_mail.hpp"
#include "host/engine/peer/peer_wait.hpp"

namespace actorhost {

/// The result of a run. `steps` and `updates` are equal on all nodes; the rest is this node's own.
struct PeerSummary {
  uint64_t steps = 0;    // completed by the slowest worker
  uint64_t updates = 0;  // merged pushes
  double seconds = 0;    // from the start of the first step to the end
  uint64_t non_finite = 0;
  uint64_t decisions = 0;
  uint64_t draws = 0;
  PeerTraffic sent;  // messages, during the run
};

class PeerRun : private NonCopyable {
 public:
  struct Config {
    RunId run = 0;
    UpdateRule update;
    bool check_finite = false;
    BarrierRule* rule = nullptr;
    std::string rule_name;
    BarrierBoard* board = nullptr;  // shows the waits of this node
    PeerGate::Sampling sampling;
  };
  using Batch = std::vector<PullEntry>;

  explicit PeerRun(PeerBridge& bridge) : bridge_(bridge), gate_(bridge.node().index()), wait_(bridge, gate_, all_) {}

  // Values, at any time.

  /// In the order of the keys; nil for keys without a value.
  Result<std::vector<ParamEntry>> get(std::vector<ParamKey> keys, const char* operation);
  /// A number for the result of the last `get`, if this node leads all its keys; otherwise 0.
  uint64_t led() const noexcept { return led_; }
  /// Whether the `get` of this number would still return the same values.
  bool is_current(uint64_t led) const noexcept { return state_ && state_->is_current(led - 1); }
  Status set(std::vector<ParamEntry> entries, const char* operation);

  // A run. Each of these calls begins an operation, and `wait` waits for it.

  Status begin(const Config& config);
  /// This node has the smallest id of the live nodes: it sets the initial values.
  bool first() const;
  /// Whether one of a few sampled workers has begun its first step.
  Result<bool> begun_elsewhere();
  void ready();
  void request_pass();
  void fetch(std::vector<ParamKey> keys);
  /// The values, after `fetch` has completed.
  std::vector<ParamEntry> take_entries();
  /// Completes the step once the push is in flight: later fetches include it, and the clock visible to others increases
  /// when it is acknowledged. For a Lua merge or large tensors, `wait` blocks until the acknowledgement.
  /// Code::bad_argument: a duplicate key, or a non-finite value under check_finite.
  Status push(std::vector<ParamEntry> entries);
  void stop();
  void settle();

  /// Waits for the current operation, or for updates to pull. Returns the updates; answer_pull must follow.
  Result<std::optional<Batch>> wait();
  /// Code::bad_argument for a key outside the batch.
  Status answer_pull(std::vector<ParamEntry> values);

  /// The rule has been replaced.
  void resample(const PeerGate::Sampling& sampling, const std::string& rule_name);

  uint64_t step() const noexcept { return gate_.step(); }
  /// Since the start of the first step.
  double seconds() const;
  uint64_t updates() const;
  uint64_t workers() const;
  /// Call after `settle` has completed.
  Result<PeerSummary> end();

 private:
  using Phase = PeerWait::Phase;

  void invalidate_reads() noexcept;
  std::optional<LedValues> read(const std::vector<ParamKey>& keys, Mark mark);
  void publish_clock(bool soon = true);
  Status take_mail();
  void send_gate_requests();
  void poll(bool pending);
  bool all_are(Mark mark) const;
  void check_staged();
  /// Takes the next action of the phase, if it is time. True: the phase has ended.
  Result<bool> advance();
  bool advance_begin();
  bool advance_pass();
  Result<bool> advance_fetch();
  bool advance_push();
  bool publish_until(Mark mark, Mark least);
  bool may_continue() const;
  void flush_posted();
  void show_gate();
  double now() const { return seconds(); }

  PeerBridge& bridge_;
  Config config_;
  PeerGate gate_;
  std::shared_ptr<PeerMail> mail_;
  Mark mark_ = 0;  // this node's clock, without unacknowledged pushes
  Aggregate all_;
  PeerWait wait_;
  uint32_t expected_ = 1;  // participating workers
  uint64_t pushes_ = 0;    // of this node, acknowledged and not empty
  bool posted_ = false;    // posted calls for which the courier has not been woken
  bool waits_for_push_ = false;
  uint64_t non_finite_ = 0;
  double began_ = 0;
  std::vector<ParamKey> pulling_;
  std::shared_ptr<LedState> state_;
  uint64_t led_ = 0;
  bool swapped_ = false;  // the rule was replaced during a wait
  PeerTraffic before_;    // sent before this run
};

}  // namespace actorhost
