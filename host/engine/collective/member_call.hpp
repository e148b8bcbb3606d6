#pragma once
// A member's part of a collective call, on any rank but the leader: announces the call to the leader, reports when all
// its data has arrived, and ends the call as the leader or an arbiter decides (call.hpp). Passive.

#include <optional>

#include "host/engine/collective/call.hpp"

namespace actorhost {

class MemberCall final : public CollectiveCall {
 public:
  MemberCall(CallSpec spec, CallGroup group, CallWiring wiring, const CallClock& clock)
      : CollectiveCall(std::move(spec), std::move(group), std::move(wiring), clock) {}

  Status query_missing() override;
  Missing missing() const override;

 private:
  Status announce(bool small, const Go& root_sends) override;
  Status on_message(uint32_t from, const Frame& frame) override;
  Status on_all_data() override { return send(0, collective_kind::done, {}); }
  Status on_lost(uint32_t member, const Error& error) override;
  Status abandon(const Error& error) override;

  Status on_result(const Frame& frame);
  Status on_failed(const Frame& frame);

  std::optional<Missing> missing_reply_;  // by the leader's last reply
};

}  // namespace actorhost
