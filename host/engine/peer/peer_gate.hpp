#pragma once
// The barrier of one worker among peers: its knowledge of the other workers, and the barrier rule over this knowledge.
// A rule without sampling uses the minimum clock; a sampling rule uses the states of peers sampled by the overlay. The
// gate requests samples and watches from its owner, which reports the results. The simulator's peers work the same way
// (host/sim/peer_sampling.hpp, peer_tree.hpp). Passive; used by the node's thread.

#include <optional>
#include <string>
#include <vector>

#include "host/barrier/peer_view.hpp"
#include "host/engine/peer/peer_pace.hpp"

namespace actorhost {

class PeerGate {
 public:
  /// The outermost sampling of a rule.
  struct Sampling {
    bool sampled = false;
    uint32_t beta = 0;
    Resample resample;
  };

  explicit PeerGate(NodeId self) { self_.id = self; }

  /// A run begins; this worker has completed `step` steps before.
  void begin(RunId run, uint64_t step);
  /// Sets the rule for further decisions. It must outlive its use.
  void set_rule(BarrierRule& rule, const Sampling& sampling);

  // ---- this worker; times in seconds since its run began ----

  void start(double now);
  void complete(double now);
  /// The worker requests to continue.
  void request_pass(double now);
  uint64_t step() const noexcept { return static_cast<uint64_t>(self_.step); }
  PeerPace pace(Mark mark) const { return {mark, self_.busy, self_.started, self_.duration, self_.average}; }

  // ---- reports of the owner ----

  /// The minimum clock and the number of workers.
  void learn(Mark least, uint32_t population);
  void drawn(uint32_t draw, const std::vector<Sampled>& sample, double now);
  /// The state of a watched peer; nullopt: it has failed or left.
  void update_peer(NodeId peer, const std::optional<std::string>& state);

  // ---- decisions ----

  /// Evaluates the rule if its result may have changed. An error is final.
  Status poll(double now);
  bool waiting() const noexcept { return waiting_; }
  /// When poll must be called again even without a report.
  double next_time() const noexcept;
  /// The peers of the sample that have completed too few steps for the rule; if there are none, the peers still in a
  /// step.
  std::vector<NodeId> sampled_behind() const;
  bool sampled() const noexcept { return sampling_.sampled; }

  /// A request to the overlay to sample `count` peers; `draw` is the number of the request.
  struct Draw {
    uint32_t draw;
    uint32_t count;
  };
  std::optional<Draw> take_draw() { return std::exchange(to_draw_, std::nullopt); }
  /// Peers to watch from now on.
  std::vector<Peer> take_watch() { return std::exchange(to_watch_, {}); }
  /// True if all watches end.
  bool take_unwatch() { return std::exchange(unwatch_, false); }

  struct Counts {
    uint64_t decisions = 0;
    uint64_t refusals = 0;  // decisions that delayed the worker
    uint64_t draws = 0;     // of samples
  };
  /// In this run.
  const Counts& counts() const noexcept { return counts_; }

 private:
  struct Member {
    NodeId node = 0;
    std::optional<PeerState> state;  // nullopt: the peer takes no part, or no longer
  };

  bool sticky() const noexcept { return sampling_.resample.kind == Resample::Kind::sticky; }
  std::optional<PeerState> read(NodeId node, const std::string& state) const;
  void draw();
  void pass();
  void restart();

  RunId run_ = 0;
  uint64_t first_ = 0;
  PeerState self_;
  BarrierRule* rule_ = nullptr;
  Sampling sampling_;
  PeerRuleEvaluator evaluator_;
  Mark least_ = 0;
  uint32_t population_ = 1;

  bool waiting_ = false;
  bool due_ = false;  // the inputs of the rule have changed
  double requested_ = 0;
  double recheck_ = kForever;
  double draws_again_ = kForever;
  std::optional<uint32_t> drawing_;  // the number of the pending draw
  std::vector<Member> sample_;
  uint32_t missing_ = 0;  // peers of a sticky sample that have failed or left

  std::optional<Draw> to_draw_;
  std::vector<Peer> to_watch_;
  bool unwatch_ = false;
  Counts counts_;
};

}  // namespace actorhost
