#pragma once
// The messages between arbiters, from courier to courier.
//
//   appeal   AppealFrame: a rank requests a verdict; if no rank has decided, the call fails with the given error.
//            epoch: of the membership that the rank's process knows
//   query    CaseFrame, undecided: asks how the call has ended for the rank, which then accepts no lower ballot;
//            kNoBallot: without this promise
//   reply    CaseFrame; body: the result of a successful call, where all ranks receive the same
//   verdict  CaseFrame, decided; body as in `reply`

#include <vector>

#include "host/engine/collective/call_ledger.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace arbiter_kind {
inline constexpr auto appeal = Kind{0x0210};
inline constexpr auto query = Kind{0x0211};
inline constexpr auto reply = Kind{0x0212};
inline constexpr auto verdict = Kind{0x0213};
}  // namespace arbiter_kind

struct AppealFrame {
  CallKey call{};
  NodeId rank = 0;
  uint64_t epoch = 0;
  std::vector<NodeId> members{};
  Error error{};
  static void fields(auto& m, auto&& field) { field(m.call, m.rank, m.epoch, m.members, m.error); }
};

struct CaseFrame {
  CallKey call{};
  uint64_t ballot = 0;
  NodeId rank = 0;
  std::optional<Verdict> decided{};  // without `result`, which is the frame's body
  static void fields(auto& m, auto&& field) { field(m.call, m.ballot, m.rank, m.decided); }
};

}  // namespace actorhost
