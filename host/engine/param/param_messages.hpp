#pragma once
// The frames of the parameter server, kinds 0x03xx. Each has a head; messages with entries or keys have these behind it
// (host/engine/values/entries.hpp). Filtered values occur only in replies to a get with kFiltered, and in tasks and
// pushes with the flag `filtered`. A malformed frame is Code::bad_data. Heads by kind:
//
//   client to shard; the reply has the request's tag:
//     get     0300  count:u32 key*                                          -> values
//     values  0301  step:u64 of each entry's last writer, before its value
//     set     0302  entries as in values                                    -> done
//     keys    0303  - (no entries)                                          -> key_list
//     key_list 0304 count:u32 key*
//     done    0305  nothing: the request `tag`
//     failed  0306  ErrorMessage
//   worker and shard 0:
//     ready   0310  Ready
//     task    0311  TaskHead
//     push    0312  PushHead; to any shard; kLastFrame to shard 0: the step is done
//     stop    0313  Stop
//     reject  0314  Reject                             shard to worker: this push was not applied
//   shard 0 to shards, and back:
//     commit  0320  Commit
//     discard 0321  Discard
//     cut     0322  CheckpointCut                      save the stored values for a checkpoint; or a request to confirm
//                                                      that all commits are merged, answered with a cut to shard 0
//     report  0323  ShardReport                        a push held infinite values or NaN

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host/engine/param/param_filter.hpp"
#include "host/engine/values/entries.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace param_kind {
inline constexpr Kind get{0x0300};
inline constexpr Kind values{0x0301};
inline constexpr Kind set{0x0302};
inline constexpr Kind keys{0x0303};
inline constexpr Kind key_list{0x0304};
inline constexpr Kind done{0x0305};
inline constexpr Kind failed{0x0306};
inline constexpr Kind ready{0x0310};
inline constexpr Kind task{0x0311};
inline constexpr Kind push{0x0312};
inline constexpr Kind stop{0x0313};
inline constexpr Kind reject{0x0314};
inline constexpr Kind commit{0x0320};
inline constexpr Kind discard{0x0321};
inline constexpr Kind cut{0x0322};
inline constexpr Kind report{0x0323};

constexpr bool is_one(Kind kind) noexcept { return within(kind, kinds_of(Kind::param_first)); }
}  // namespace param_kind

namespace param {
// Frame.flags, beside kLastFrame
inline constexpr uint8_t kNow = 2;       // get, set: answered even during a Lua pull (sent from inside a pull)
inline constexpr uint8_t kFiltered = 4;  // get: the reply may be filtered
}  // namespace param

/// The result of a run; the same on every worker.
struct ParamSummary {
  uint64_t steps = 0;       // completed by the slowest live worker
  uint64_t updates = 0;     // pushes that were merged
  double seconds = 0;       // from the first worker's arrival to the stop
  std::string reason;       // "stop", "seconds", ...
  uint64_t dropped = 0;     // pushes that the merge rule dropped
  uint64_t lost = 0;        // workers that failed during the run
  uint64_t non_finite = 0;  // pushes with a value that is infinite or not a number
  uint64_t in_flight = 0;   // incomplete pushes when the run's seconds were over: not merged
  /// Bytes of all values with and without filtering since the run began or was resumed; empty in a run without filters.
  std::optional<ParamTraffic> traffic = {};
  static void fields(auto& m, auto&& field) {
    field(m.steps, m.updates, m.seconds, words(m.reason), m.dropped, m.lost, m.non_finite, m.in_flight, m.traffic);
  }
  friend bool operator==(const ParamSummary&, const ParamSummary&) = default;
};

struct TaskHead {
  RunId run = 0;
  uint64_t step = 0;      // completed steps of the worker: the clock that it works on
  bool staged = false;    // its push waits for a commit
  bool uncopied = false;  // the worker waits for the commit, so the shards do not copy the push
  bool local = false;     // schedule_local chooses the keys
  bool timed = false;     // the push must report the working time
  bool filtered = false;  // the run has filters
  static void fields(auto& m, auto&& field) {
    field(m.run, m.step, m.staged, m.uncopied, m.local, m.timed, m.filtered);
  }
};

struct PushHead {
  RunId run = 0;
  uint64_t step = 0;
  bool staged = false;    // stored until shard 0 commits it
  bool uncopied = false;  // the worker waits for the commit, so the shards do not copy the push
  bool timed = false;
  /// The working time, measured by the worker's own clock. Untrusted: may hold any bits. NaN if absent.
  double seconds = std::numeric_limits<double>::quiet_NaN();
  bool filtered = false;
  ParamTraffic traffic = {};  // untrusted as well
  static void fields(auto& m, auto&& field) {
    field(m.run, m.step, m.staged, m.uncopied, m.timed, m.filtered);
    if (m.timed) field(m.seconds);
    if (m.filtered) field(m.traffic);
  }
};

struct CommitItem {
  NodeId worker = 0;
  uint64_t step = 0;
  double scale = 1;
  static void fields(auto& m, auto&& field) { field(m.worker, m.step, m.scale); }
  friend bool operator==(const CommitItem&, const CommitItem&) = default;
};

/// How pushes become updates.
struct Combination {
  enum class Kind : uint8_t {
    each,         // an update each, in order
    sum,          // one update: the sum of scale * push
    trimmed_mean  // one update: for each element the mean without the `trim` smallest and greatest
  };
  friend constexpr Kind last_of(Kind) { return Kind::trimmed_mean; }
  Kind kind = Kind::each;
  uint32_t trim = 0;
  static void fields(auto& m, auto&& field) { field(m.kind, m.trim); }
  friend bool operator==(const Combination&, const Combination&) = default;
};

struct Commit {
  RunId run = 0;
  Combination combination;
  std::vector<CommitItem> items;
  static void fields(auto& m, auto&& field) { field(m.run, m.combination, m.items); }
};

struct Discard {
  enum class Extent : uint8_t {
    one,   // the push of `step`
    rest,  // its pushes from `step` on, also pushes that arrive later
    all    // as `rest`, and all other state of the worker: it has failed
  };
  RunId run = 0;
  NodeId worker = 0;
  Extent extent = Extent::one;
  uint64_t step = 0;
  friend constexpr Extent last_of(Extent) { return Extent::all; }
  static void fields(auto& m, auto&& field) { field(m.run, m.worker, m.extent, m.step); }
};

struct ShardReport {
  NodeId worker = 0;
  uint64_t step = 0;
  std::string message;
  static void fields(auto& m, auto&& field) { field(m.worker, m.step, lines(m.message)); }
};

struct Ready {
  RunId run = 0;
  static void fields(auto& m, auto&& field) { field(m.run); }
};

struct CheckpointCut {
  uint64_t number = 0;
  bool query = false;  // saves nothing: requests a reply when all commits are merged
  static void fields(auto& m, auto&& field) { field(m.number, m.query); }
};

struct Stop {
  RunId run = 0;
  ParamSummary summary;
  static void fields(auto& m, auto&& field) { field(m.run, m.summary); }
};

struct Reject {
  RunId run = 0;
  uint64_t step = 0;
  std::string message;
  static void fields(auto& m, auto&& field) { field(m.run, m.step, words(m.message)); }
};

}  // namespace actorhost
