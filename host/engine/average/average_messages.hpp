#pragma once
// The frames of asynchronous model averaging, between couriers. `tag` is the session: the number of the action that
// began it. The lead is the courier of process 0, the run's first coordinator. All other senders are processes with
// workers in the session.
//
//   report   process -> lead  Report
//   started  lead -> process  every live worker has joined
//   open     lead -> process  RoundOpen; requests copies of these models
//   ready    process -> lead  RoundReady
//   go       lead -> process  RoundGo
//   piece    process -> any   AveragePiece; body: elements that `source` sends
//   done     process -> lead  RoundDone; this process has received all data for its models
//   verdict  lead -> process  RoundVerdict

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "host/base/result.hpp"
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

/// A part of the kinds of collectives.
inline constexpr KindRange kAverageKinds{average_kind::report, average_kind::verdict, "collectives"};

/// Which workers average with each other in a round.
enum class AveragePattern : uint8_t {
  all,   // all workers
  graph  // the partners of a MixingTable
};
constexpr AveragePattern last_of(AveragePattern) { return AveragePattern::graph; }

/// The rounds of a graph for a number of workers, which are numbered by their order. The first round follows the last.
/// A worker keeps the rest of its shares. Made in Lua (actor.graph).
struct MixingTable {
  struct Share {
    uint32_t from = 0;
    uint32_t to = 0;
    double share = 0;  // of the model of `from`, which `to` gets
    static void fields(auto& m, auto&& field) { field(m.from, m.to, m.share); }
  };
  struct Round {
    std::vector<Share> shares;
    static void fields(auto& m, auto&& field) { field(m.shares); }
  };
  uint32_t workers = 0;
  std::vector<Round> rounds{};
  bool is_valid() const {
    return std::all_of(rounds.begin(), rounds.end(), [this](const Round& round) {
      return std::all_of(round.shares.begin(), round.shares.end(), [this](const Share& s) {
        return s.from < workers && s.to < workers && s.from != s.to && s.share >= 0 && s.share <= 1;
      });
    });
  }
  static void fields(auto& m, auto&& field) { field(m.workers, m.rounds); }
};

/// Options that all workers of a session have given alike.
struct AverageOptions {
  AveragePattern peers = AveragePattern::all;
  double interval = 0.5;  // seconds from the start of a round to the start of the next
  double deadline = 5;    // seconds that a round waits for a worker in a step
  bool is_valid() const { return interval >= 0 && deadline >= 0; }
  static void fields(auto& m, auto&& field) { field(m.peers, m.interval, m.deadline); }
};

/// A worker's action: joins, waits in a step of the warm-up, waits in abort, resumes, rests without an abort here (a
/// late starter), leaves, or gives the graph for the present number of workers.
struct Report {
  enum class Kind : uint8_t { join, sync, abort, resume, rest, leave, graph };
  Kind kind = Kind::join;
  NodeId node = 0;
  bool fresh = false;  // join: a late joiner, which takes over the others' mean
  bool warm = false;   // join: begins with a warm-up; sync: more warm-up steps follow
  AverageOptions options{};
  MixingTable table{};
  friend constexpr Kind last_of(Kind) { return Kind::graph; }
  static void fields(auto& m, auto&& field) { field(m.kind, m.node, m.fresh, m.warm, m.options, m.table); }
};

/// The reason for a round.
enum class RoundReason : uint8_t { interval, warm_up, abort };
constexpr RoundReason last_of(RoundReason) { return RoundReason::abort; }

struct RoundOpen {
  uint32_t round = 0;
  bool full = false;  // the mean replaces the models; else the difference is added
  std::vector<NodeId> nodes;
  static void fields(auto& m, auto&& field) { field(m.round, m.full, m.nodes); }
};

struct RoundReady {
  struct Reply {
    NodeId node = 0;
    bool copied = false;
    std::string message;  // why the model cannot be averaged at all; empty: only this round goes without it
    static void fields(auto& m, auto&& field) { field(m.node, m.copied, words(m.message)); }
  };
  uint32_t round = 0;
  std::vector<Reply> replies;
  static void fields(auto& m, auto&& field) { field(m.round, m.replies); }
};

struct RoundGo {
  struct Participant {
    NodeId node = 0;
    ProcessId process = 0;
    bool weighted = true;  // its model counts in the mean
    static void fields(auto& m, auto&& field) { field(m.node, m.process, m.weighted); }
  };
  /// A participant's new model has `weight` times the copy of `source`; both are indices of participants.
  struct Term {
    uint32_t target = 0;
    uint32_t source = 0;
    double weight = 0;
    static void fields(auto& m, auto&& field) { field(m.target, m.source, m.weight); }
  };
  uint32_t round = 0;
  AveragePattern pattern = AveragePattern::all;
  std::vector<Participant> participants{};
  std::vector<Term> terms{};  // pattern graph

  uint32_t weights() const noexcept {
    return static_cast<uint32_t>(
        std::count_if(participants.begin(), participants.end(), [](const Participant& p) { return p.weighted; }));
  }
  bool is_valid() const {
    return weights() > 0 && std::all_of(terms.begin(), terms.end(), [this](const Term& term) {
             return term.target < participants.size() && term.source < participants.size();
           });
  }
  static void fields(auto& m, auto&& field) { field(m.round, m.pattern, m.participants, m.terms); }
};

struct AveragePiece {
  uint32_t round = 0;
  uint32_t source = 0;  // the index of a process in a sum, or the node of the model
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
  /// broken: a process failed during the round; empty: no model could be copied in time; failed: a model is not finite.
  enum class Outcome : uint8_t { applied, broken, empty, failed };
  uint32_t round = 0;
  Outcome outcome = Outcome::applied;
  RoundReason reason = RoundReason::interval;  // the end of a round with another reason releases waiting workers
  std::string message;                         // failed
  friend constexpr Outcome last_of(Outcome) { return Outcome::failed; }
  static void fields(auto& m, auto&& field) { field(m.round, m.outcome, m.reason, words(m.message)); }
};

}  // namespace actorhost
