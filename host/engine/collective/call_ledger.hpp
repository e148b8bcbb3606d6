#pragma once
// Records how each call has ended for the ranks of this process. A rank decides only here, whether by a leader's
// message or by an arbiter's verdict. A rank has decided once `decide` has returned true or `take_settled` has returned
// a verdict; the decision never changes. One object per process; thread-safe; does not block. README.md ("How a call
// ends") describes the protocol; NOTES.md argues why all ranks agree.
//
// Each decision has a ballot: a leader's is `leader_ballot` of its id, an arbiter's is `arbiter_ballot` of the lowest
// living id. Once an arbiter has queried a rank, the rank accepts no lower ballot.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

/// A call of a group. Asynchronous and blocking calls are numbered separately.
struct CallKey {
  uint32_t group = 0;
  bool async = false;
  uint32_t number = 0;

  static void fields(auto& m, auto&& field) { field(m.group, m.async, m.number); }
  auto operator<=>(const CallKey&) const = default;
};

struct Verdict {
  Status outcome{};
  uint64_t epoch = 0;  // of a failure: the membership that informs all ranks of the loss
  Blob result{};       // result that all ranks share, where only the leader has sent it

  static void fields(auto& m, auto&& field) { field(m.outcome, m.epoch); }  // a frame carries `result` as its body
};

constexpr uint64_t leader_ballot(NodeId leader) noexcept { return 2 * uint64_t{leader}; }
/// Of a query without a promise: every ballot is as high or higher.
inline constexpr uint64_t kNoBallot = 0;
constexpr uint64_t arbiter_ballot(NodeId lowest) noexcept { return 2 * uint64_t{lowest} + 1; }

class CallLedger {
 public:
  /// The rank begins the call; repeated calls have no effect. Calls are numbered from 1.
  void enter(const CallKey& call, NodeId rank);
  /// Calls `wake`, on any thread and with the ledger's mutex held, when a verdict for the rank arrives.
  void set_wake(NodeId rank, std::function<void()> wake);
  /// The rank decides by the message of a leader (possibly itself). False: the ballot is too low, and an arbiter's
  /// verdict will follow. Copies the bytes of `verdict.result`.
  bool decide(const CallKey& call, NodeId rank, uint64_t ballot, const Verdict& verdict);
  /// The arbiter's verdict, if it has arrived: the rank has decided by it when this returns.
  std::optional<Verdict> take_settled(const CallKey& call, NodeId rank);
  /// The rank has not decided, and no verdict is ready for it.
  bool open(const CallKey& call, NodeId rank) const;

  /// For an arbiter: how the call has ended for the rank. Nothing: the rank has not decided (or not begun) the call,
  /// and accepts no lower ballot from now on.
  std::optional<Verdict> query(const CallKey& call, NodeId rank, uint64_t ballot);
  /// An arbiter's verdict. Ignored where the rank has decided or has promised a higher ballot.
  void settle(const CallKey& call, NodeId rank, uint64_t ballot, const Verdict& verdict);

 private:
  struct Open {
    uint64_t promised = 0;
    std::optional<Verdict> settled{};
  };
  /// One rank's calls of one group, blocking or asynchronous. Calls up to `entered` that are not in `open` are decided.
  struct Series {
    uint32_t entered = 0;
    std::map<uint32_t, Open> open;
    std::map<uint32_t, uint32_t> failed;  // ranges of numbers, first -> last; all other decided calls succeeded
    Verdict failure;                      // newest failure
    uint32_t retained_number = 0;         // newest successful call
    Blob retained;                        // the result of call `retained_number`, where all ranks share it
  };
  using Key = std::tuple<uint32_t, bool, NodeId>;

  const Series* find(const CallKey& call, NodeId rank) const;
  Series& series(const CallKey& call, NodeId rank) { return series_[{call.group, call.async, rank}]; }
  static bool decided(const Series& series, uint32_t number);
  static void note(Series& series, uint32_t number, const Verdict& verdict);

  mutable std::mutex mutex_;
  std::map<Key, Series> series_;
  std::map<NodeId, std::function<void()>> wakes_;
};

}  // namespace actorhost
