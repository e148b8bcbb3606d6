#include "host/sim/admission_rule.hpp"

#include <cassert>

namespace actorhost {

void RuleAdmission::joined(NodeId id) {
  [[maybe_unused]] const Status added = progress_.add(id, clocks_.step(id));
  assert(added.ok());  // ids of Clocks are new and within Progress::kMaxId (Scenario::check)
}

void RuleAdmission::left(NodeId id) {
  progress_.remove(id);
  waiting_ = progress_.waiting();
}

void RuleAdmission::started(NodeId id, double now, uint64_t version) {
  progress_.start(id, now);
  progress_.pulled(id, static_cast<double>(version));
}

void RuleAdmission::requested(NodeId id, double now) {
  gate_.request(id, now);
  waiting_ = progress_.waiting();
}

void RuleAdmission::completed(NodeId id, double now) {
  progress_.complete(id, now);
  requested(id, now);
}

Status RuleAdmission::decide(double now, std::vector<NodeId>& passed) {
  Status status = gate_.poll(now, passed);
  checks_ = counted_.checks;
  waiting_ = progress_.waiting();
  return status;
}

}  // namespace actorhost
