#include "host/engine/average/averages.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

bool for_lead(Kind kind) {
  return kind == average_kind::report || kind == average_kind::ready || kind == average_kind::done;
}

}  // namespace

Averages::Averages(ServiceThread& courier) : courier_(courier) { courier.add(kAverageKinds, *this); }

void Averages::report(uint32_t session, const Report& report, const std::shared_ptr<AverageReplica>& replica) {
  courier_.post([this, session, report, replica] {
    AverageAgent& agent = agent_of(session);
    agent.report(report, replica);
    if (agent.empty()) agents_.erase(session);
  });
}

AverageAgent& Averages::agent_of(uint32_t session) {
  auto& agent = agents_[session];
  if (!agent) {
    agent = std::make_unique<AverageAgent>(
        courier_.process(), [this, session](ProcessId to, Kind kind, const std::string& meta, Blob body) {
          courier_.send(make_frame(kind, courier_.address(), courier_address(to), session, meta, std::move(body)));
        });
  }
  return *agent;
}

AverageLead& Averages::lead_of(uint32_t session) {
  auto& lead = leads_[session];
  if (!lead) {
    const auto send = [this, session](ProcessId to, Kind kind, const std::string& meta) {
      courier_.send(make_frame(kind, courier_.address(), courier_address(to), session, meta));
    };
    const auto write_log = [this](const std::string& line) { courier_.log().info("", line); };
    lead = std::make_unique<AverageLead>(session, send, write_log);
    lead->on_membership(courier_.newest_membership(), courier_.clock().now());
  }
  return *lead;
}

void Averages::on_frame(Frame&& frame, double now) {
  if (!is_courier(frame.src)) return;
  const Address sender = frame.src;
  const Kind kind = frame.kind;
  if (const Status read = dispatch(std::move(frame), now); !read.ok()) courier_.distrust(sender, kind, read.error());
}

Status Averages::dispatch(Frame&& frame, double now) {
  const ProcessId from = address_index(frame.src);
  if (for_lead(frame.kind)) {
    if (courier_.process() != 0) return {};
    if (frame.kind != average_kind::report && leads_.count(frame.tag) == 0) return {};
    AverageLead& lead = lead_of(frame.tag);
    Status read = lead.on_frame(from, frame.kind, frame.meta.view(), now);
    if (lead.over()) leads_.erase(frame.tag);
    return read;
  }
  const auto agent = agents_.find(frame.tag);
  if (agent == agents_.end()) return {};
  Status read = agent->second->on_frame(from, std::move(frame));
  if (agent->second->empty()) agents_.erase(agent);
  return read;
}

void Averages::on_membership(const MembershipPtr& membership, double now) {
  for (const auto& [session, lead] : leads_) lead->on_membership(membership, now);
  std::erase_if(leads_, [](const auto& entry) { return entry.second->over(); });
}

double Averages::tick(double now) {
  double next = kForever;
  for (const auto& [session, agent] : agents_) next = std::min(next, agent->tick(now));
  for (const auto& [session, lead] : leads_) next = std::min(next, lead->tick(now));
  return next;
}

}  // namespace actorhost
