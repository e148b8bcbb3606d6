#pragma once
// The leader's part of a collective call: compares the announcements of all ranks, makes the results of small calls,
// and decides how the call ends (call.hpp). Passive.

#include <string_view>
#include <vector>

#include "host/engine/collective/call.hpp"

namespace actorhost {

class LeaderCall final : public CollectiveCall {
 public:
  LeaderCall(CallSpec spec, CallGroup group, CallWiring wiring, const CallClock& clock)
      : CollectiveCall(std::move(spec), std::move(group), std::move(wiring), clock), members_(group_.members) {}

  Status hold(bool held) override;
  Status query_missing() override;
  Missing missing() const override;
  std::string_view line(uint32_t member) const override { return members_[member].line; }

 private:
  struct Member {
    bool announced = false;
    bool finished = false;
    Blob input;        // of a small call
    std::string line;  // of its script
  };

  Status announce(bool small, const Go& root_sends) override;
  Status on_message(uint32_t from, const Frame& frame) override;
  Status on_all_data() override { return on_finished(0); }
  Status on_lost(uint32_t /*member*/, const Error& error) override { return fail(error); }
  Status abandon(const Error& error) override { return fail(error); }
  void release() noexcept override;

  Status on_announce(uint32_t from, const Frame& frame);
  Status on_give_up(uint32_t from, const Frame& frame);
  Status check(uint32_t from, const Announce& announce);
  Status all_announced();
  Status send_star_results();
  Status make_star_results(std::vector<Blob>& results, uint32_t& at) const;
  Status make_reduction_results(std::vector<Blob>& results, uint32_t& at) const;
  Status make_exchange_results(std::vector<Blob>& results, uint32_t& at) const;
  bool retains(const Blob& result) const noexcept;
  Status send_go();
  Status on_finished(uint32_t member);
  Status commit_if_done();
  Status fail(const Error& error);

  std::vector<Member> members_;
  size_t announcements_ = 0;
  size_t finishes_ = 0;
  bool all_inlined_ = true;
  bool held_ = false;
  bool all_announced_ = false;  // all ranks have announced the call while it was held
  Go root_sends_;               // the data that the root of a broadcast will send
};

}  // namespace actorhost
