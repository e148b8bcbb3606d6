#pragma once
// The sampling primitive of PSP (Wang, Catterall, Mortier 2017): a worker sees the clocks of beta workers, drawn
// without replacement from all counted workers, possibly itself. The result depends on when a waiting worker draws
// again, so the policy is explicit. Each worker draws from its own stream of the seed, and the permutation behind a
// draw is restored, so an answer does not depend on the order of evaluation. One Sampler serves one sampling rule over
// one Progress, on its owner's thread.

#include <limits>
#include <unordered_map>
#include <vector>

#include "host/barrier/progress.hpp"
#include "host/base/random.hpp"

namespace actorhost {

struct Resample {
  enum class Kind : uint8_t {
    event,   // a fresh sample each time any worker completes a step (or joins or leaves)
    sticky,  // one sample until the worker is admitted; replaces members that leave
    poll     // a fresh sample every `seconds`, evaluated once
  };
  Kind kind = Kind::event;
  double seconds = 0;  // of poll, > 0
};

/// A worker's sample. The layout is shared with Lua (bindings/modules/engine/ffi_barrier.h).
struct Seen {
  const Slot* slots = nullptr;  // n of them, valid until the next sample or change of layout
  uint64_t version = 0;         // rises with each draw of this worker's sample
  double lowest = std::numeric_limits<double>::infinity();           // smallest completed step seen
  double highest = -std::numeric_limits<double>::infinity();         // greatest completed step seen
  double recheck_seconds = std::numeric_limits<double>::infinity();  // poll: until the next draw
  uint32_t n = 0;
  uint32_t held = 0;  // 1 between two polls: the sample has not changed
};

/// All counted workers, as an unsampled rule sees them.
Seen see_all(const Progress& progress) noexcept;

/// The salt of the first sampling rule in an evaluation, in C++ and in Lua.
inline constexpr uint64_t kFirstSalt = 1;

class Sampler {
 public:
  /// Draws samples of `beta` workers, or all workers if there are fewer. Samplers with the same seed and different
  /// salts are independent.
  Sampler(uint32_t beta, Resample resample, uint64_t seed, uint64_t salt);

  /// The sample of the worker in slot `requester`, drawn from `from`: all workers, or its sample of an enclosing rule.
  /// A new draw of the enclosing sample draws this sample again. `seen` is valid until the next call.
  void sample(const Progress& progress, Slot requester, double now, const Seen& from, Seen& seen);

 private:
  struct State {
    Rng rng;
    std::vector<Slot> slots;
    std::vector<NodeId> ids;  // of a sticky sample, since slots move
    uint64_t version = 0;
    uint64_t ticket = 0;
    uint64_t events = 0;
    uint64_t layout = 0;
    uint64_t from_version = 0;
    double drawn_at = 0;
  };

  bool stale(const State& state, const Progress& progress, Slot requester, double now, uint64_t from_version) const;
  void draw(State& state, const Progress& progress, const Seen& from, Seen& seen);
  void replace_lost(State& state, const Progress& progress, const Seen& from);
  State& state_of(NodeId id);

  uint32_t beta_;
  Resample resample_;
  uint64_t seed_;
  uint64_t salt_;
  std::unordered_map<NodeId, State> states_;
  std::vector<uint32_t> permutation_;  // the identity between draws
};

}  // namespace actorhost
