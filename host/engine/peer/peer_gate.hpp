#pragma once
// One worker at its barrier, among peers: what it knows of the others, and the rule that is asked over that. An
// unsampled rule goes by the smallest of all clocks, a sampling one by the states of peers that the overlay has drawn.
// Whom to draw and whom to watch it says; the owner does it and tells it what came of that. As the peers of the
// simulator (host/sim/peer_sampling.hpp, peer_tree.hpp). Passive; the node's thread.

#include <optional>
#include <string>
#include <vector>

#include "host/engine/peer/peer_pace.hpp"

namespace actorhost {

class PeerGate {
 public:
  /// Of a rule's outermost sampling.
  struct Sampling {
    bool sampled = false;
    uint32_t beta = 0;
    Resample resample;
  };

  explicit PeerGate(NodeId self) { self_.id = self; }

  /// A run begins, here with so many completed steps.
  void begin(RunId run, uint64_t step);
  /// The rule that is asked from now on, which must outlive its use.
  void set_rule(BarrierRule& rule, const Sampling& sampling);

  // ---- this worker; times in seconds since its run began ----

  void start(double now);
  void complete(double now);
  /// It wants to go on.
  void ask(double now);
  uint64_t step() const noexcept { return static_cast<uint64_t>(self_.step); }
  PeerPace pace(Mark mark) const { return {mark, self_.busy, self_.started, self_.duration, self_.average}; }

  // ---- what it is told ----

  /// The smallest of all clocks, and how many there are.
  void learn(Mark least, uint32_t population);
  void drawn(uint32_t draw, const std::vector<Sampled>& sample, double now);
  /// A watched peer's state; nothing: it is gone.
  void heard(NodeId peer, const std::optional<std::string>& state);

  // ---- what it decides ----

  /// Asks the rule if its answer may have changed. An error is final.
  Status poll(double now);
  bool asking() const noexcept { return asking_; }
  /// When poll has to be called again even if nothing is told.
  double next_time() const noexcept;
  /// Of its sample the peers that have completed too few steps for the rule; where there are none, those at work.
  std::vector<NodeId> sampled_behind() const;
  bool sampled() const noexcept { return sampling_.sampled; }

  /// Peers that the overlay is to draw now, as draw number `draw`.
  struct Draw {
    uint32_t draw;
    uint32_t count;
  };
  std::optional<Draw> take_draw() { return std::exchange(to_draw_, std::nullopt); }
  /// Peers that are to be watched from now on.
  std::vector<Peer> take_watch() { return std::exchange(to_watch_, {}); }
  /// Nobody has to be watched any longer.
  bool take_unwatch() { return std::exchange(unwatch_, false); }

  uint64_t decisions() const noexcept { return decisions_; }
  /// Of these the ones that did not let it go on.
  uint64_t refusals() const noexcept { return refusals_; }
  uint64_t draws() const noexcept { return draws_; }

 private:
  struct Member {
    NodeId node = 0;
    std::optional<PeerState> state;  // none of a peer that does not take part (any longer)
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
  PeerQuestion question_;
  Mark least_ = 0;
  uint32_t population_ = 1;

  bool asking_ = false;
  bool due_ = false;  // what the rule goes by has changed
  double asked_ = 0;
  double recheck_ = kForever;
  double draws_again_ = kForever;
  std::optional<uint32_t> drawing_;  // the number of the draw that has not been answered
  std::vector<Member> sample_;
  uint32_t missing_ = 0;  // of a sticky sample: peers that are gone

  std::optional<Draw> to_draw_;
  std::vector<Peer> to_watch_;
  bool unwatch_ = false;
  uint64_t decisions_ = 0;
  uint64_t refusals_ = 0;
  uint64_t draws_ = 0;
};

}  // namespace actorhost
