#pragma once
// The averaging sessions of a process, as a task of its courier: an agent for each session with workers of this
// process, and in process 0 the lead of every session. `report` and `waker` are thread-safe.

#include <map>
#include <memory>

#include "host/cluster/service_thread.hpp"
#include "host/engine/average/average_agent.hpp"
#include "host/engine/average/lead.hpp"

namespace actorhost {

class Averages final : public ServiceTask {
 public:
  /// Adds itself to the courier, which must not have started.
  explicit Averages(ServiceThread& courier);

  /// Reports an action of a worker; its replica delivers the result of a wait. `replica` is given with a join.
  void report(uint32_t session, const Report& report, const std::shared_ptr<AverageReplica>& replica = nullptr);
  /// Wakes the courier after an action of a replica's worker.
  std::function<void()> waker() const { return courier_.waker(); }

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;

 private:
  Status dispatch(Frame&& frame, double now);
  AverageAgent& agent_of(uint32_t session);
  AverageLead& lead_of(uint32_t session);

  ServiceThread& courier_;
  std::map<uint32_t, std::unique_ptr<AverageAgent>> agents_;
  std::map<uint32_t, std::unique_ptr<AverageLead>> leads_;
};

}  // namespace actorhost
