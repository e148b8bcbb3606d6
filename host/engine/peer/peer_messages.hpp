#pragma once
// Messages between peers about keys, kinds 0x08xx. They are sent from courier to courier; the tag is the sender's
// number of the request or message. Entries are packed behind the head (host/engine/values/entries.hpp), in one or more
// frames.
//
//  a node to the leader of a key's group (key_client.hpp, key_holder.hpp):
//    request KeyRequest, entries, or keys for a get  reply   KeyReply, for a get with entries
//            `count` and `outcome` carry the keys as entries without values
//    probe   Envelope: is request `tag` pending?     reply   KeyReply: working, or unknown
//  reconfiguration (reconfiguration_attempt.hpp):
//    query   ArcQuery: which groups hold the arc?  ranges    KnownRanges
//    claim   Claim: I propose to lead there        promise   KnownRanges
//    adopt   Adopt: this is the group now          adopted   Adopted
//    settle  Adopt: the group serves               settled   Settled
//    renew   Renew: I still lead                   renewed   Renew
//  a leader to its group (key_log.hpp), a large write along a chain of its members:
//    write   Write, entries                        written   Written, to the leader
//  replication (key_sync.hpp):
//    sums    ArcQuery                              summed    Summed
//    copy    CopyRequest                           copied    Copied, entries
//  any request of these to a node that has left its process's peers:
//                                                  departed  Envelope

#include <string>
#include <vector>

#include "host/engine/peer/key_groups.hpp"
#include "host/engine/values/entries.hpp"
#include "host/engine/values/update.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

namespace peer_kind {
inline constexpr auto request = Kind{0x0800};
inline constexpr auto reply = Kind{0x0801};
inline constexpr auto probe = Kind{0x0802};
inline constexpr auto query = Kind{0x0810};
inline constexpr auto ranges = Kind{0x0811};
inline constexpr auto claim = Kind{0x0812};
inline constexpr auto promise = Kind{0x0813};
inline constexpr auto adopt = Kind{0x0814};
inline constexpr auto adopted = Kind{0x0815};
inline constexpr auto settle = Kind{0x0816};
inline constexpr auto settled = Kind{0x0817};
inline constexpr auto renew = Kind{0x0818};
inline constexpr auto renewed = Kind{0x0819};
inline constexpr auto write = Kind{0x0820};
inline constexpr auto written = Kind{0x0821};
inline constexpr auto sums = Kind{0x0830};
inline constexpr auto summed = Kind{0x0831};
inline constexpr auto copy = Kind{0x0832};
inline constexpr auto copied = Kind{0x0833};
inline constexpr auto departed = Kind{0x0840};
}  // namespace peer_kind

/// The place of a key on the ring.
inline RingId place_of(const ParamKey& key) noexcept { return key.hash(); }

/// The assumed minimum bandwidth of a live peer in bytes per second; the timeouts of large messages follow from it.
inline constexpr double kSlowestPeer = 20e6;

/// A step of a run, ordered over all runs of a job.
using Mark = uint64_t;
inline constexpr int kStepBits = 40;
/// The mark of the update that completes `step` steps of its writer in this run.
constexpr Mark mark_of(RunId run, uint64_t step) noexcept { return (uint64_t{run} << kStepBits) | step; }
constexpr RunId run_of(Mark mark) noexcept { return static_cast<RunId>(mark >> kStepBits); }
constexpr uint64_t step_of(Mark mark) noexcept { return mark & ((uint64_t{1} << kStepBits) - 1); }

/// Sets have their own sequence numbers: a node's sets and its updates count as two writers.
constexpr NodeId writer_of_sets(NodeId node) noexcept { return node | NodeId{1} << 31; }

/// The operation of a push on values: UpdateRule in its message form.
struct PushRule {
  UpdateRule rule;
  bool staged = false;  // merged when all workers have completed its step
  static void fields(auto& m, auto&& field) {
    auto& s = m.rule.spec;
    field(m.rule.kind, m.staged);
    if (m.rule.kind != UpdateRule::Kind::native) return;
    field(s.kind, s.lr, s.scale, s.momentum, s.weight_decay, s.beta1, s.beta2, s.epsilon, s.initial, s.alpha,
          s.nesterov, s.decay.kind, s.decay.rate, s.decay.every, s.decay.floor, s.decay.warm_steps, s.decay.warm_start);
  }
  bool is_valid() const { return rule.kind != UpdateRule::Kind::native || kernel::check(rule.spec).ok(); }
};

struct KeyRequest {
  enum class Type : uint8_t {
    get,
    set,
    push,
    count,   // parts: the requester's prepared update of this mark counts
    outcome  // split tensor: does this prepared update of `writer` count? An undecided update is refused
  };
  friend constexpr Type last_of(Type) { return Type::outcome; }
  Envelope envelope;
  Type type = Type::get;
  Mark mark = 0;  // push: of its step. Others: the last step that the requester has completed
  PushRule rule = {};
  uint64_t number = 0;  // set: greater than the numbers of the requester's earlier sets. Native update of a split
                        // tensor: greater than the numbers of the writer's earlier attempts
  Mark own = 0;         // the requester's push that must precede this request; 0: none
  NodeId writer = 0;    // outcome: the writer of the update
  Mark passed = 0;      // get: all live workers have completed its step, as far as the requester knows
  static void fields(auto& m, auto&& field) {
    field(m.envelope, m.type, m.mark, m.own);
    if (m.type == Type::push) field(m.rule);
    m.type == Type::get ? field(m.passed) : field(m.number);
    if (m.type == Type::outcome) field(m.writer);
  }
  bool is_valid() const noexcept { return type == Type::get || type == Type::set || step_of(mark) > 0; }
};

struct KeyReply {
  enum class State : uint8_t {
    done,
    moved,    // another peer leads some of the keys; nothing has been done
    working,  // reply to a probe
    unknown   // reply to a probe: the request has not arrived, or has its reply
  };
  friend constexpr State last_of(State) { return State::unknown; }
  Envelope envelope;
  State state = State::done;
  Status status = {};
  std::vector<NodeId> awaited = {};  // working: members of the group that have not acknowledged a write
  static void fields(auto& m, auto&& field) { field(m.envelope, m.state, m.status, m.awaited); }
};

// ---- reconfiguration ----

struct ArcQuery {
  Envelope envelope;
  Arc arc;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.arc); }
};

/// The sender's knowledge of the arc. As a promise: the sender joins no group of a lower term, unless `refused`.
struct KnownRanges {
  Envelope envelope;
  bool refused = false;
  std::vector<KeyRange> ranges;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.refused, m.ranges); }
};

struct Claim {
  Envelope envelope;
  Arc arc;
  GroupTerm term;
  bool consent = false;                // requests consent only for ranges that the receiver leads
  std::vector<NodeId> consented = {};  // leaders that have consented
  static void fields(auto& m, auto&& field) { field(m.envelope, m.arc, m.term, m.consent, m.consented); }
};

struct Adopt {
  Envelope envelope;
  Arc arc;
  KeyGroup group;
  std::vector<KeyGroup> before;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.arc, m.group, m.before); }
};

struct Adopted {
  enum class State : uint8_t {
    done,     // the sender has the keys of the arc, if it is a member
    refused,  // the sender has joined a later group
    working   // the sender is copying the keys
  };
  friend constexpr State last_of(State) { return State::working; }
  Envelope envelope;
  State state = State::done;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.state); }
};

/// The sender leads a group of this term. The reply reports whether the receiver still follows it everywhere in the
/// arc.
struct Renew {
  Envelope envelope;
  Arc arc;
  GroupTerm term;
  bool refused = false;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.arc, m.term, m.refused); }
};

struct Settled {
  Envelope envelope;
  static void fields(auto& m, auto&& field) { field(m.envelope); }
};

// ---- writes ----

/// An update contained in the value of a key.
struct TakenUpdate {
  std::string key;  // canonical
  NodeId writer = 0;
  Mark mark = 0;
  static void fields(auto& m, auto&& field) { field(m.key, m.writer, m.mark); }
};

/// An operation on the keys of a node, without its entries.
struct KeyWrite {
  enum class Type : uint8_t {
    set,     // entries are the new values
    push,    // entries are updates, merged or staged according to the rule
    commit,  // merges staged updates of the arc of marks below `mark`
    pulled,  // entries are the results of a Lua pull for the covered updates
    count,   // the writer's prepared update of the entries' parts counts: it is merged or staged
    refuse   // the writer's attempts up to `number` for the entries' keys are refused; parts drop them
  };
  friend constexpr Type last_of(Type) { return Type::refuse; }
  Type type = Type::set;
  NodeId writer = 0;
  Mark mark = 0;
  PushRule rule = {};
  Arc arc = {};
  std::vector<TakenUpdate> covered = {};
  uint64_t number = 0;  // of an attempt, as in KeyRequest; commit: all live workers have completed this mark's step
  bool is_valid() const noexcept { return type != Type::push || step_of(mark) > 0; }
  static void fields(auto& m, auto&& field) { field(m.type, m.writer, m.mark, m.rule, m.arc, m.covered, m.number); }
};

struct Write {
  Envelope envelope;
  Peer leader;              // gets the reply
  std::vector<Peer> chain;  // the receiver sends the write on to the first of them, with the others
  GroupTerm term;
  uint64_t index = 0;  // 1, 2, ... within the term
  KeyWrite write;
  bool is_valid() const noexcept { return chain.size() < kMostReplicas; }
  static void fields(auto& m, auto&& field) { field(m.envelope, m.leader, m.chain, m.term, m.index, m.write); }
};

struct Written {
  Envelope envelope;
  GroupTerm term;
  uint64_t index = 0;
  bool refused = false;  // the sender has joined a later group for some of the keys
  static void fields(auto& m, auto&& field) { field(m.envelope, m.term, m.index, m.refused); }
};

// ---- replication ----

/// Summary of the keys of an arc. Equal sums mean equal keys.
struct KeySum {
  uint64_t count = 0;
  uint64_t digests = 0;
  friend bool operator==(const KeySum&, const KeySum&) = default;
  static void fields(auto& m, auto&& field) { field(m.count, m.digests); }
};

struct KeyDigest {
  std::string key;  // canonical
  uint64_t digest = 0;
  static void fields(auto& m, auto&& field) { field(m.key, m.digest); }
};

/// The sum of an arc with details: the digests of few keys, or for many keys the sums of parts_of(arc).
struct Summed {
  Envelope envelope;
  KeySum sum;
  std::vector<KeyDigest> keys = {};
  std::vector<KeySum> parts = {};
  static void fields(auto& m, auto&& field) { field(m.envelope, m.sum, m.keys, m.parts); }
};

struct CopyRequest {
  Envelope envelope;
  std::string key;  // canonical
  static void fields(auto& m, auto&& field) { field(m.envelope, m.key); }
};

struct StagedCopy {
  Mark mark = 0;
  NodeId writer = 0;
  PushRule rule = {};
  uint32_t count = 0;     // number of values
  bool prepared = false;  // undecided; `number` is its attempt
  uint64_t number = 0;
  static void fields(auto& m, auto&& field) { field(m.mark, m.writer, m.rule, m.count, m.prepared, m.number); }
};

/// All data of a key except values. The values follow as entries: the key's own, its optimiser's `parts`, then those of
/// the staged updates.
struct KeyCopy {
  bool exists = false;
  bool stored = false;
  uint64_t step = 0;
  uint64_t version = 0;
  uint64_t made = 0;
  std::optional<kernel::OptimiserKind> optimiser = {};
  uint8_t parts = 0;
  std::map<NodeId, Mark> taken = {};
  std::map<NodeId, uint64_t> refused = {};
  std::vector<StagedCopy> staged = {};
  static void fields(auto& m, auto&& field) {
    field(m.exists, m.stored, m.step, m.version, m.made, m.optimiser, m.parts, m.taken, m.refused, m.staged);
  }
};

struct Copied {
  Envelope envelope;
  KeyCopy copy = {};
  static void fields(auto& m, auto&& field) { field(m.envelope, m.copy); }
};

}  // namespace actorhost
