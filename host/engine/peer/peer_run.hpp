#pragma once
// A worker's calls to the peer-to-peer engine, waiting included: values from anywhere, and its part in runs. What it
// waits for comes by its own courier's thread; between, the node merges what its Lua pull has to merge of its keys. All
// nodes together go from `enter` over steps to `settle`, each phase told by the smallest of all clocks
// (peer_pace.hpp). Used by the node's thread.
//
//   begin                                  wait
//     [init], ready                        wait         all are there, and know their first step
//     loop: ask_pass, fetch, push          wait, each   pushes go on while the next steps begin
//     stop                                 wait         until all have stopped
//     settle                               wait         until no update is missing anywhere

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "host/engine/param/barrier_board.hpp"
#include "host/engine/peer/peer_bridge.hpp"
#include "host/engine/peer/peer_gate.hpp"
#include "host/engine/peer/peer_mail.hpp"

namespace actorhost {

/// What a run came to. `steps` and `updates` are the same on each node, the rest is this node's own.
struct PeerSummary {
  uint64_t steps = 0;    // completed by the slowest
  uint64_t updates = 0;  // pushes that were merged
  double seconds = 0;    // from the beginning of the first step to the end
  uint64_t non_finite = 0;
  uint64_t decisions = 0;
  uint64_t draws = 0;
  PeerTraffic sent;  // messages, during the run
};

class PeerRun {
 public:
  struct Config {
    RunId run = 0;
    UpdateRule update;
    bool check_finite = false;
    BarrierRule* rule = nullptr;
    std::string rule_name;
    BarrierBoard* board = nullptr;  // shows how this node waits
    PeerGate::Sampling sampling;
  };
  using Batch = std::vector<PullEntry>;

  explicit PeerRun(PeerBridge& bridge) : bridge_(bridge), gate_(bridge.node().index()) {}
  PeerRun(const PeerRun&) = delete;
  PeerRun& operator=(const PeerRun&) = delete;

  // Values, from anywhere.

  /// In the order of the keys; nil where there is nothing.
  Result<std::vector<ParamEntry>> get(std::vector<ParamKey> keys, const char* what);
  /// Numbers what the last `get` gave where this node leads all keys; otherwise 0.
  uint64_t led() const noexcept { return led_; }
  /// Whether a `get` that has had that number would give the same again.
  bool still(uint64_t led) const noexcept { return state_ && state_->still(led - 1); }
  Status set(std::vector<ParamEntry> entries, const char* what);

  // A run. Each of these begins something that `wait` then waits for.

  Status begin(const Config& config);
  /// This node has the smallest id of those that live: it gives the first values.
  bool first() const;
  void ready();
  void ask_pass();
  void fetch(std::vector<ParamKey> keys);
  std::vector<ParamEntry> take_entries() { return std::move(entries_); }
  /// Its step is completed when it is under way: what is fetched from then on has it, and the clock that others see
  /// rises when it is acknowledged. One that Lua merges, or of large tensors, is waited for.
  /// Code::bad_argument for a key that is there twice, and for a value that is not finite where that is refused.
  Status push(std::vector<ParamEntry> entries);
  void stop();
  void settle();

  /// Waits until what was begun is done, or there is something to pull, which is returned and to be answered.
  Result<std::optional<Batch>> wait();
  /// Code::bad_argument for a key that was not in the batch.
  Status answer_pull(std::vector<ParamEntry> values);

  /// The rule has become another one.
  void resample(const PeerGate::Sampling& sampling, const std::string& rule_name);

  uint64_t step() const noexcept { return gate_.step(); }
  /// Since the first step began.
  double seconds() const;
  uint64_t updates() const;
  uint64_t workers() const;
  /// After settling.
  Result<PeerSummary> end();

 private:
  enum class Phase : uint8_t { none, begin, ready, pass, fetch, push, stop, settle };

  /// For its lifetime the node is in a wait of the run.
  class InWait {
   public:
    explicit InWait(PeerRun& run);
    ~InWait();
    InWait(const InWait&) = delete;
    InWait& operator=(const InWait&) = delete;

   private:
    static constexpr EngineCall kCall{Cause::peer, "peer.run"};
    PeerRun& run_;
    const Activity activity_;
  };

  void enter(Phase phase);
  void look_otherwise() noexcept;
  std::optional<LedValues> read(const std::vector<ParamKey>& keys, Mark mark);
  void tell(bool soon = true);
  Status take_mail();
  void look_around();
  void look_at_all();
  bool all_are(Mark mark) const;
  bool leased() const;
  bool includes_all() const;
  uint32_t counted() const;
  void look_for_staged();
  bool settled();
  Result<bool> finished();
  bool may_go_on() const;
  bool is_look_due();
  void ask_for_awaited();
  Status show_awaited(const std::vector<KeyClient::Open>& open);
  void await_workers(std::vector<NodeId> ids);
  std::string describe_slowest() const;
  void look_at_posted();
  void show_gate();
  double now() const { return seconds(); }
  const char* what() const noexcept;

  PeerBridge& bridge_;
  Config config_;
  PeerGate gate_;
  std::shared_ptr<PeerMail> mail_;
  Phase phase_ = Phase::none;
  double since_ = 0;             // the phase goes on, without what this node has pulled meanwhile
  double left_ = 0;              // the last wait
  double look_again_ = 0;        // for whom this node waits
  bool told_ = false;            // the log names them
  std::vector<NodeId> awaited_;  // as they are shown
  Mark mark_ = 0;                // this node's clock, without pushes that are not acknowledged
  Aggregate all_;
  uint32_t expected_ = 1;  // workers that take part
  uint64_t pushes_ = 0;    // of this node, acknowledged, with something in them
  bool posted_ = false;    // something that the courier has not been woken for
  bool waits_for_push_ = false;
  uint64_t non_finite_ = 0;
  double began_ = 0;
  std::deque<Batch> batches_;
  std::vector<ParamKey> pulling_;
  std::shared_ptr<LedState> state_;
  uint64_t led_ = 0;
  std::vector<ParamEntry> entries_;
  bool swapped_ = false;  // the rule, within a wait
  PeerTraffic before_;    // this run, as the next two
  uint64_t decisions_before_ = 0;
  uint64_t refusals_before_ = 0;
  uint64_t draws_before_ = 0;
};

}  // namespace actorhost
