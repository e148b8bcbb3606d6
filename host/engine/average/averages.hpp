#pragma once
// The sessions of averaging of a process, a task of its courier: an agent for each that workers of this process are in,
// and on the rendezvous host the lead of every one. What workers call may come from any thread.

#include <map>
#include <memory>

#include "host/cluster/service_thread.hpp"
#include "host/engine/average/average_agent.hpp"
#include "host/engine/average/lead.hpp"

namespace actorhost {

class Averages final : public ServiceTask {
 public:
  /// Adds itself to the courier, which has not been started.
  explicit Averages(ServiceThread& courier);

  /// Says what a worker does; what it waits for comes by its replica. `replica` and `filter` with a join.
  void report(uint32_t session, const Report& report, const std::shared_ptr<AverageReplica>& replica = nullptr,
              const FilterSpec& filter = {});
  /// What wakes the courier after a replica's worker has done something.
  std::function<void()> waker() const { return courier_.waker(); }

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;

 private:
  Status hand_out(Frame&& frame, double now);
  AverageAgent& agent_of(uint32_t session);
  AverageLead& lead_of(uint32_t session);

  ServiceThread& courier_;
  std::map<uint32_t, std::unique_ptr<AverageAgent>> agents_;
  std::map<uint32_t, std::unique_ptr<AverageLead>> leads_;
};

}  // namespace actorhost
