#pragma once
// The frames of asynchronous model averaging, between couriers; `tag` is the session, the number of the action that
// began it. The lead is the courier of process 0, every other word comes from a process with workers in the session.
//
//   report   process -> lead  Report
//   started  lead -> process  every live worker has joined
//   open     lead -> process  RoundOpen; copies of these models are wanted
//   ready    process -> lead  RoundReady
//   go       lead -> process  RoundGo
//   piece    process -> any   AveragePiece; body: elements, of what `source` sends
//   done     process -> lead  RoundDone; this process has all that the round owes its models
//   verdict  lead -> process  RoundVerdict

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/engine/filter/filter.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace average_kind {
inline constexpr auto report = Kind{0x0240};
inline constexpr auto started = Kind{0x0241};
inline constexpr auto open = Kind{0x0242};
inline constexpr auto ready = Kind{0x0243};
inline constexpr auto go = Kind{0x0244};
inline constexpr auto piece = Kind{0x0245};
inline constexpr auto done = Kind{0x0246};
inline constexpr auto verdict = Kind{0x0247};
}  // namespace average_kind

/// A part of those of collectives.
inline constexpr KindRange kAverageKinds{average_kind::report, average_kind::verdict, "collectives"};

/// Which workers average with each other in a round.
enum class AveragePattern : uint8_t {
  all,   // all workers
  ring,  // each with the one before and the one behind it
  pairs  // the first two, the next two, ...; an odd last one has no partner
};
constexpr AveragePattern last_of(AveragePattern) { return AveragePattern::pairs; }

/// What all workers of a session have said the same of.
struct AverageOptions {
  AveragePattern peers = AveragePattern::all;
  double interval = 0.5;  // seconds from the beginning of a round to that of the next
  double deadline = 5;    // seconds that a round waits for a worker that is in a step
  uint64_t seed = 0;      // of the pairs
  bool filtered = false;  // what travels goes through a filter where it can
  bool sound() const { return interval >= 0 && deadline >= 0; }
  static void fields(auto& m, auto&& field) { field(m.peers, m.interval, m.deadline, m.seed, m.filtered); }
};

/// What a worker does: joins, waits in a step of the warm-up, waits in abort, goes on, stays away without having
/// aborted here (a late starter), leaves.
struct Report {
  enum class What : uint8_t { join, sync, abort, resume, rest, leave };
  What what = What::join;
  NodeId node = 0;
  bool fresh = false;  // join: has come late and takes the others' model
  bool warm = false;   // join: begins with a warm-up; sync: more steps of it follow
  AverageOptions options{};
  friend constexpr What last_of(What) { return What::leave; }
  static void fields(auto& m, auto&& field) { field(m.what, m.node, m.fresh, m.warm, m.options); }
};

/// What a round is made for.
enum class RoundWhy : uint8_t { interval, warm_up, abort };
constexpr RoundWhy last_of(RoundWhy) { return RoundWhy::abort; }

struct RoundOpen {
  uint32_t round = 0;
  bool full = false;  // the models are replaced by the mean, not moved by the difference
  std::vector<NodeId> nodes;
  static void fields(auto& m, auto&& field) { field(m.round, m.full, m.nodes); }
};

struct RoundReady {
  struct Answer {
    NodeId node = 0;
    bool copied = false;
    std::string message;  // why it cannot be averaged at all; empty: not in this round
    static void fields(auto& m, auto&& field) { field(m.node, m.copied, words(m.message)); }
  };
  uint32_t round = 0;
  std::vector<Answer> answers;
  static void fields(auto& m, auto&& field) { field(m.round, m.answers); }
};

struct RoundGo {
  struct Participant {
    NodeId node = 0;
    ProcessId process = 0;
    bool weighted = true;  // its model is part of the mean
    static void fields(auto& m, auto&& field) { field(m.node, m.process, m.weighted); }
    friend bool operator==(const Participant&, const Participant&) = default;
  };
  uint32_t round = 0;
  AveragePattern pattern = AveragePattern::all;
  bool coded = false;  // through the filter; all: as differences to the mean that the last round has left
  std::vector<Participant> participants{};

  uint32_t weights() const noexcept;
  bool sound() const { return weights() > 0; }
  static void fields(auto& m, auto&& field) { field(m.round, m.pattern, m.coded, m.participants); }
};

struct AveragePiece {
  uint32_t round = 0;
  uint32_t source = 0;  // a place among the processes of a sum, or the node whose model it is
  uint8_t segment = 0;
  uint64_t begin = 0;  // the first element
  static void fields(auto& m, auto&& field) { field(m.round, m.source, m.segment, m.begin); }
};

struct RoundDone {
  uint32_t round = 0;
  bool ok = true;
  static void fields(auto& m, auto&& field) { field(m.round, m.ok); }
};

struct RoundVerdict {
  /// broken: a process was lost in it; empty: no model could be copied in time; failed: one is not finite.
  enum class Outcome : uint8_t { applied, broken, empty, failed };
  uint32_t round = 0;
  Outcome outcome = Outcome::applied;
  RoundWhy why = RoundWhy::interval;  // the end of a round for another reason lets waiting workers go on
  std::string message;                // failed
  friend constexpr Outcome last_of(Outcome) { return Outcome::failed; }
  static void fields(auto& m, auto&& field) { field(m.round, m.outcome, m.why, words(m.message)); }
};

}  // namespace actorhost
