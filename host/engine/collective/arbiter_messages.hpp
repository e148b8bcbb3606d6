#pragma once
// What arbiters tell each other of calls, courier to courier. Decoders check all bounds.
//
//   call     = group:u32 async:u8 number:u32
//   appeal   call rank:u32 epoch:u64 n:u32 member:u32*n code:u32 message:text; the rank needs an end of the call, which
//            fails so where nobody has decided; epoch: of the membership that its process knows
//   ask      case, undecided: how has the call ended for the rank? It listens to nobody with a lower ballot now
//   answer   case; body: what everybody gets alike, where the call has worked
//   verdict  case, decided; body likewise
//   case     = call ballot:u64 rank:u32 decided:u8 worked:u8 epoch:u64 code:u32 message:text

#include <string>
#include <string_view>
#include <vector>

#include "host/engine/collective/call_ledger.hpp"
#include "host/wire/frame.hpp"

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

  std::string encode() const;
  static Result<AppealFrame> decode(std::string_view meta);
};

struct CaseFrame {
  CallKey call{};
  uint64_t ballot = 0;
  NodeId rank = 0;
  std::optional<Verdict> decided{};  // without what is kept: that is the body

  std::string encode() const;
  static Result<CaseFrame> decode(std::string_view meta);
};

}  // namespace actorhost
