#pragma once
// The messages between arbiters, from courier to courier.
//
//   appeal   AppealFrame: the rank needs an end of the call; if no rank has decided, the call fails with this error.
//            epoch: of the membership that the rank's process knows
//   ask      CaseFrame, undecided: how has the call ended for the rank? It accepts no lower ballot from now on
//   answer   CaseFrame; body: the result that all ranks get alike, where the call has worked
//   verdict  CaseFrame, decided; body likewise

#include <vector>

#include "host/engine/collective/call_ledger.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace arbiter_kind {
inline constexpr auto appeal = Kind{0x0210};
inline constexpr auto ask = Kind{0x0211};
inline constexpr auto answer = Kind{0x0212};
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
  std::optional<Verdict> decided{};  // without what is kept: that is the body
  static void fields(auto& m, auto&& field) { field(m.call, m.ballot, m.rank, m.decided); }
};

}  // namespace actorhost
