#pragma once
// The interface of a merge rule: decides when the pushes of workers become updates of the model, and their weights. The
// rule keeps the held pushes. Passive; called by the PushMerger's thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/engine/param/param_messages.hpp"

namespace actorhost {

/// A complete push, and the state of the run.
struct MergeRequest {
  NodeId worker = 0;
  uint64_t step = 0;      // steps that the worker had completed before
  uint64_t version = 0;   // of the model when the worker began the step
  uint32_t peers = 1;     // under BSP the pushes of this step that the barrier releases together
  uint32_t left = 0;      // how many of these follow
  bool uncopied = false;  // the worker may write to the push after the barrier
  // The state:
  uint64_t model_version = 0;  // updates of the model; the pushes of one decision are one update
  uint64_t newest = 0;         // highest step of a push so far
  uint32_t workers = 0;        // live workers of the run
  uint64_t slowest = 0;        // steps that every live worker has completed, this push included
  double now = 0;              // seconds
};

/// A step whose push has not arrived.
struct PendingStep {
  NodeId worker = 0;
  uint64_t step = 0;
  uint64_t version = 0;  // of the model when the worker began the step
};

struct MergeDecision {
  std::vector<CommitItem> merged;  // become one update
  Combination combination{Combination::Kind::sum, 0};
  std::vector<std::pair<NodeId, uint64_t>> dropped{};  // worker, step
};

class MergeRule : public Interface {
 public:
  /// Decides about a push and the held pushes. A push that `out` does not name is held. An error (the rule raised, or
  /// returned nonsense) is final: the run cannot continue.
  virtual Status decide(const MergeRequest& request, MergeDecision& out) = 0;
  /// No push will follow: decides about the held pushes.
  virtual Status finish(MergeDecision& out) = 0;
  // These may change during a run:
  /// The rule's name for messages: "merge rule 'newest' (merge.lua:3)".
  virtual std::string label() const = 0;
  /// Every push is merged at once, unchanged, so the pushes need not be stored.
  virtual bool merges_all() const = 0;
  /// The rule may hold a push after the barrier, or where there is no barrier after its decision.
  virtual bool keeps_pushes() const = 0;
};

/// Merges every push at once, unchanged.
class MergeAll final : public MergeRule {
 public:
  Status decide(const MergeRequest& request, MergeDecision& out) override {
    out.merged.push_back({request.worker, request.step, 1});
    return {};
  }
  Status finish(MergeDecision& /*out*/) override { return {}; }
  std::string label() const override { return "merge rule 'all'"; }
  bool merges_all() const override { return true; }
  bool keeps_pushes() const override { return false; }
};

}  // namespace actorhost
