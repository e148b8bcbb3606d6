#include "host/rehearsal/faults.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace actorhost::rehearsal {

namespace {

constexpr double kMostOfARate = 1e6;  // expected number of faults

}  // namespace

Faults::Faults(const FaultSettings& settings, Time end, Scheduler& scheduler, MemoryNetwork& network,
               SimulatedDisk& disk, Hosts& hosts)
    : scheduler_(scheduler),
      network_(network),
      disk_(disk),
      hosts_(hosts),
      random_(scheduler.random(UINT64_MAX)),
      plan_(plan(settings, end)),
      task_([this] { serve(); }) {}

Faults::~Faults() {
  ending_ = true;
  scheduler_.wake(this, true);
  task_.join();
}

std::vector<Fault> Faults::plan(const FaultSettings& settings, Time end) {
  std::vector<Fault> out = settings.at_times;
  for (const FaultSettings::Each& each : settings.kinds) {
    for (uint32_t i = 0; i < each.count; ++i) {
      const Time at = settings.after + random_.below(settings.within.value_or(10 * kSecond));
      out.push_back({at, each.kind, each.lasts});
    }
    if (each.per_second == 0) continue;
    const double latest = std::min(seconds(settings.within.value_or(end)), kMostOfARate / each.per_second);
    const double after = seconds(settings.after);
    double at = random_.exponential(1 / each.per_second);
    while (at < latest) {
      out.push_back({time_of(after + at), each.kind, each.lasts});
      at += random_.exponential(1 / each.per_second);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
  return out;
}

void Faults::serve() {
  for (Fault& fault : plan_) {
    while (!ending_ && scheduler_.time() < kStart + fault.at) scheduler_.park_until(this, kStart + fault.at);
    if (ending_) return;
    if (fault.hosts.empty()) choose_hosts(fault);
    if (make(fault)) made_.push_back(fault);
  }
}

/// Chooses the hosts of a random fault among the running hosts; leaves `hosts` empty if there are too few.
void Faults::choose_hosts(Fault& fault) {
  if (fault.kind == FaultKind::join) return;
  const std::vector<uint32_t> running = hosts_.running();
  if (fault.kind == FaultKind::broken) {
    if (const auto ends = network_.random_connection(random_)) fault.hosts = {ends->first, ends->second};
    return;
  }
  const bool stays =
      fault.kind == FaultKind::stall || fault.kind == FaultKind::disk_full || fault.kind == FaultKind::disk_error;
  if (running.size() < (stays ? 1U : 2U)) return;
  fault.hosts = {running[random_.below(running.size())]};
  if (fault.kind != FaultKind::partition && fault.kind != FaultKind::one_way) return;
  // Each other host with a probability of a half, but never all of them.
  for (const uint32_t host : running) {
    if (host != fault.hosts.front() && random_.below(2) == 0) fault.hosts.push_back(host);
  }
  if (fault.hosts.size() == running.size()) fault.hosts.resize(1);
}

/// Returns false if the fault is not possible now.
bool Faults::make(const Fault& fault) {
  if (fault.hosts.empty() && fault.kind != FaultKind::join) return false;
  const std::vector<uint32_t> running = hosts_.running();
  const uint32_t host = fault.hosts.empty() ? 0 : fault.hosts.front();
  const bool runs = std::find(running.begin(), running.end(), host) != running.end();
  const std::string lasts = std::to_string(seconds(fault.lasts)) + " s";
  std::string names;
  for (const uint32_t each : fault.hosts) names += (names.empty() ? "" : ", ") + std::to_string(each);
  std::string text;
  switch (fault.kind) {
    case FaultKind::kill:
    case FaultKind::crash:
      if (!runs || running.size() < 2) return false;
      hosts_.kill(host, fault.kind == FaultKind::crash);
      if (fault.kind == FaultKind::crash) {
        disk_.crash(host, random_);
      } else {
        disk_.kill(host);
      }
      text = (fault.kind == FaultKind::crash ? "crashed host " : "killed host ") + names;
      break;
    case FaultKind::join:
      if (running.empty()) return false;
      text = "started host " + std::to_string(hosts_.add());
      break;
    case FaultKind::stall:
      if (!runs) return false;
      scheduler_.stall(host, scheduler_.time() + fault.lasts);
      text = "stalled host " + names + " for " + lasts;
      break;
    case FaultKind::partition:
    case FaultKind::one_way: {
      const std::set<uint32_t> part(fault.hosts.begin(), fault.hosts.end());
      network_.cut(part, fault.kind == FaultKind::partition, scheduler_.time() + fault.lasts);
      text = (fault.kind == FaultKind::partition ? "no connection between hosts " : "no byte leaves hosts ") + names +
             (fault.kind == FaultKind::partition ? " and the others for " : " for the others for ") + lasts;
      break;
    }
    case FaultKind::broken:
      if (!network_.break_between(host, fault.hosts.back())) return false;
      text = "broke a connection between hosts " + std::to_string(host) + " and " + std::to_string(fault.hosts.back());
      break;
    case FaultKind::disk_full:
      if (!runs) return false;
      disk_.fill(host, scheduler_.time() + fault.lasts);
      text = "the disk of host " + names + " is full for " + lasts;
      break;
    case FaultKind::disk_error:
      if (!runs) return false;
      disk_.fail_next(host);
      text = "the next write of host " + names + " fails";
      break;
  }
  std::fprintf(stderr, "actorhost: fault at %.6f s: %s\n", seconds(scheduler_.time() - kStart), text.c_str());
  return true;
}

}  // namespace actorhost::rehearsal
