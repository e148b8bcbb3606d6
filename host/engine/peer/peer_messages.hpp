#pragma once
// What peers say to each other about keys, kinds 0x08xx. They go from courier to courier; the tag is the sender's
// number of the question. Entries are packed as those of the parameter server (host/engine/param/param_messages.hpp)
// behind the head that is named here, in one or more frames; the last has kLast in its flags.
//
//   ask    Ask   then entries, or for a get keys     told   Told  then the values of a get
//   poke   Envelope: is the question under work?     answered by told: working, or unknown

#include <string>
#include <vector>

#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/update.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

namespace peer_kind {
inline constexpr auto ask = Kind{0x0800};
inline constexpr auto told = Kind{0x0801};
inline constexpr auto poke = Kind{0x0802};
}  // namespace peer_kind

/// Where a key lies on the ring.
inline RingId place_of(const ParamKey& key) noexcept { return key.hash(); }

/// A step of a run, ordered over all runs of a job.
using Mark = uint64_t;
inline constexpr int kStepBits = 40;
/// Of the update that completes `step` steps of its writer in that run.
constexpr Mark mark_of(RunId run, uint64_t step) noexcept { return (uint64_t{run} << kStepBits) | step; }
constexpr uint64_t step_of(Mark mark) noexcept { return mark & ((uint64_t{1} << kStepBits) - 1); }

/// What a push does to values: UpdateRule as it travels.
struct PushRule {
  UpdateRule rule;
  bool staged = false;  // merged when all have completed its step
  static void fields(auto& m, auto&& field) {
    auto& s = m.rule.spec;
    field(m.rule.kind, m.staged);
    if (m.rule.kind != UpdateRule::Kind::native) return;
    field(s.kind, s.lr, s.scale, s.momentum, s.weight_decay, s.beta1, s.beta2, s.epsilon, s.initial, s.alpha,
          s.nesterov, s.decay.kind, s.decay.rate, s.decay.every, s.decay.floor, s.decay.warm_steps, s.decay.warm_start);
  }
  bool sound() const { return rule.kind != UpdateRule::Kind::native || kernel::check(rule.spec).ok(); }
};

struct Ask {
  enum class What : uint8_t { get, set, push };
  friend constexpr What last_of(What) { return What::push; }
  Envelope envelope;
  What what = What::get;
  Mark mark = 0;  // push: of its step. Others: of the steps that the asker has completed
  PushRule rule = {};
  static void fields(auto& m, auto&& field) {
    field(m.envelope, m.what, m.mark);
    if (m.what == What::push) field(m.rule);
  }
};

struct Told {
  enum class How : uint8_t {
    done,
    moved,    // another peer answers for some of the keys; nothing has been done
    working,  // to a poke
    unknown   // to a poke: the question has not come, or has been answered
  };
  friend constexpr How last_of(How) { return How::unknown; }
  Envelope envelope;
  How how = How::done;
  Status status = {};
  static void fields(auto& m, auto&& field) { field(m.envelope, m.how, m.status); }
};

}  // namespace actorhost
