#pragma once
// What arbiters tell each other of calls, courier to courier.
//
//   appeal   AppealFrame; the rank needs an end of the call, which fails so where nobody has decided; epoch: of the
//            membership that its process knows
//   ask      CaseFrame, undecided: how has the call ended for the rank? It listens to nobody with a lower ballot now
//   answer   CaseFrame; body: what everybody gets alike, where the call has worked
//   verdict  CaseFrame, decided; body likewise

#include <string>
#include <string_view>
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
