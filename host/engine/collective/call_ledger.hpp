#pragma once
// How each call of this process's ranks has ended: the one place where a rank decides that, whether a leader or an
// arbiter has told it. A rank has decided once `decide` has returned true or `take_settled` has given it a verdict;
// nothing changes that afterwards. One object a process; any thread; nothing here blocks. README.md ("How a call ends")
// has the protocol, NOTES.md says why all ranks agree.
//
// Each decision that a rank is told has a ballot: a leader's is `leader_ballot` of its id, an arbiter's is
// `arbiter_ballot` of the lowest living id. A rank that an arbiter has asked accepts no lower ballot.

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

/// A call of a group; asynchronous ones are numbered apart from blocking ones.
struct CallKey {
  uint32_t group = 0;
  bool async = false;
  uint32_t number = 0;

  static void fields(auto& m, auto&& field) { field(m.group, m.async, m.number); }
  auto operator<=>(const CallKey&) const = default;
};

struct Verdict {
  Status outcome{};
  uint64_t epoch = 0;  // of a failure: the membership in which all ranks know of the loss
  Blob kept{};         // what the call gives every rank alike, where the leader alone has sent it

  static void fields(auto& m, auto&& field) { field(m.outcome, m.epoch); }  // `kept` is a frame's body
};

constexpr uint64_t leader_ballot(NodeId leader) noexcept { return 2 * uint64_t{leader}; }
constexpr uint64_t arbiter_ballot(NodeId lowest) noexcept { return 2 * uint64_t{lowest} + 1; }

class CallLedger {
 public:
  /// The rank begins the call, unless it has before. Calls are numbered from 1.
  void enter(const CallKey& call, NodeId rank);
  /// `wake` is called, on any thread and with the ledger's mutex held, when a verdict for the rank is there.
  void attend(NodeId rank, std::function<void()> wake);
  /// The rank decides by a leader's word, its own where it leads. False: it may not, an arbiter's verdict will come.
  /// The bytes of `verdict.kept` are copied.
  bool decide(const CallKey& call, NodeId rank, uint64_t ballot, const Verdict& verdict);
  /// The arbiter's verdict, by which the rank has decided then; nothing while there is none.
  std::optional<Verdict> take_settled(const CallKey& call, NodeId rank);
  /// The rank has not decided, and no verdict waits for it.
  bool open(const CallKey& call, NodeId rank) const;

  /// For an arbiter: how the call has ended for the rank. Nothing: it has not, and it promises to accept no word with a
  /// lower ballot; also where it has not begun it.
  std::optional<Verdict> ask(const CallKey& call, NodeId rank, uint64_t ballot);
  /// An arbiter's verdict. Ignored where the rank has decided, or has promised a higher ballot to be heard.
  void settle(const CallKey& call, NodeId rank, uint64_t ballot, const Verdict& verdict);

 private:
  struct Open {
    uint64_t promised = 0;
    std::optional<Verdict> settled{};
  };
  /// One rank's calls of one group, blocking or asynchronous. What is neither open nor to come has been decided.
  struct Series {
    uint32_t entered = 0;
    std::map<uint32_t, Open> open;
    std::map<uint32_t, uint32_t> failed;  // ranges of numbers, first -> last; the others worked
    Verdict failure;                      // the newest one
    uint32_t kept_number = 0;             // the newest call whose result is the same for all ranks, and
    Blob kept;                            // what that is
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
