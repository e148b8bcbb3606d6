#pragma once
// Reports for which phase of a run a worker waits, and which other workers have not completed this phase. The state of
// the run shows these workers at once if the worker waits at the barrier, else after a quarter of a second. The log
// names them once in a long wait. Owned by PeerRun; used by the node's thread.

#include <string>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/cluster/look/barrier_board.hpp"
#include "host/engine/peer/peer_bridge.hpp"
#include "host/engine/peer/peer_gate.hpp"

namespace actorhost {

class PeerWait {
 public:
  enum class Phase : uint8_t { none, begin, ready, pass, fetch, push, stop, settle };

  /// Marks the node as waiting in the run for the lifetime of this object.
  class Scope : private NonCopyable {
   public:
    explicit Scope(PeerWait& wait);
    ~Scope();

   private:
    static const EngineCall& call_of(Phase phase) noexcept;
    PeerWait& wait_;
    const Activity activity_;
  };

  /// `gate` and `all` are the owner's knowledge of the other workers. All references must outlive this object.
  PeerWait(PeerBridge& bridge, const PeerGate& gate, const Aggregate& all) : bridge_(bridge), gate_(gate), all_(all) {}

  /// A run begins. The board shows the waits of this node.
  void begin(RunId run, BarrierBoard& board);
  void enter(Phase phase);
  Phase phase() const noexcept { return phase_; }
  /// Changes the row of this node on the board.
  template <typename Act>
  void on_board(const Act& act) {
    board_->update(run_, bridge_.node().index(), act);
  }
  /// "peer.run: the barrier"
  const char* name() const noexcept;
  /// When to look up the workers waited for. In `begin` this sends a request to the coordinator, at growing intervals.
  double next_check() const noexcept { return next_check_; }
  /// Whether the check is due. If so, the next one is due later.
  bool take_check();
  /// Shows the workers that hold this node at the barrier, as its rule has last seen them. Does not block.
  void show_barrier();
  /// Shows the workers that this node waits for, and logs them after a long wait. `pending`: its requests for keys
  /// without a reply. May request them from the coordinator: blocks shortly.
  Status show(const std::vector<KeyClient::Pending>& pending);

 private:
  std::string describe_slowest() const;
  /// Whether a worker has completed fewer steps than this node. If none has, the rule itself refuses the step.
  bool slowest_is_behind() const;
  void await_workers(std::vector<NodeId> ids);

  PeerBridge& bridge_;
  const PeerGate& gate_;
  const Aggregate& all_;
  RunId run_ = 0;
  BarrierBoard* board_ = nullptr;
  Phase phase_ = Phase::none;
  double since_ = 0;             // start of the phase, shifted by this node's own pulls
  double left_ = 0;              // end of the last wait
  double next_check_ = 0;        // of the workers that this node waits for
  bool logged_ = false;          // the log has named them
  std::vector<NodeId> awaited_;  // as shown
};

}  // namespace actorhost
