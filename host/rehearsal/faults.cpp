#include "host/rehearsal/faults.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

namespace actorhost::rehearsal {

Faults::Faults(const FaultSettings& settings, Scheduler& scheduler, MemoryNetwork& network, Hosts& hosts)
    : scheduler_(scheduler), network_(network), hosts_(hosts), plan_(plan(settings, scheduler)), task_([this] {
        serve();
      }) {}

Faults::~Faults() {
  ending_ = true;
  scheduler_.wake(this, true);
  task_.join();
}

std::vector<Faults::Fault> Faults::plan(const FaultSettings& settings, Scheduler& scheduler) {
  constexpr uint64_t kFine = uint64_t{1} << 53;
  const auto uniform = [&] { return static_cast<double>(scheduler.random(kFine)) / static_cast<double>(kFine); };
  const Time begin = scheduler.time();
  std::vector<Fault> out;
  for (const FaultSettings::Each& each : settings.kinds) {
    for (uint32_t i = 0; i < each.count; ++i) {
      out.push_back({begin + scheduler.random(settings.within), each.kind, each.lasts});
    }
    if (each.per_second == 0) continue;
    const double end = seconds(settings.within);
    for (double at = 0;;) {
      at -= std::log1p(-uniform()) / each.per_second;
      if (at >= end) break;
      out.push_back({begin + static_cast<Time>(at * static_cast<double>(kSecond)), each.kind, each.lasts});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
  return out;
}

void Faults::serve() {
  for (const Fault& fault : plan_) {
    while (!ending_ && scheduler_.time() < fault.at) scheduler_.park_until(this, fault.at);
    if (ending_) return;
    make(fault);
  }
}

void Faults::make(const Fault& fault) {
  const std::vector<uint32_t> running = hosts_.running();
  const double now = seconds(scheduler_.time() - kStart);
  const auto number = running.empty() ? 0 : running[scheduler_.random(running.size())];
  const std::string lasts = std::to_string(seconds(fault.lasts)) + " s";
  std::string text;
  switch (fault.kind) {
    case FaultKind::kill:
      if (running.size() < 2) return;
      hosts_.kill(number);
      text = "killed host " + std::to_string(number);
      break;
    case FaultKind::stall:
      if (running.empty()) return;
      scheduler_.stall(number, scheduler_.time() + fault.lasts);
      text = "stalled host " + std::to_string(number) + " for " + lasts;
      break;
    case FaultKind::partition:
    case FaultKind::one_way: {
      if (running.size() < 2) return;
      // The host `number` and each other host with a probability of a half, but never all of them.
      std::set<uint32_t> part = {number}, rest;
      for (const uint32_t host : running) {
        if (host != number) (scheduler_.random(2) == 0 ? part : rest).insert(host);
      }
      if (rest.empty()) {
        rest = std::exchange(part, {number});
        rest.erase(number);
      }
      network_.cut(part, rest, fault.kind == FaultKind::partition, scheduler_.time() + fault.lasts);
      std::string names;
      for (const uint32_t host : part) names += (names.empty() ? "" : ", ") + std::to_string(host);
      text = (fault.kind == FaultKind::partition ? "no connection between hosts " : "no byte leaves hosts ") + names +
             (fault.kind == FaultKind::partition ? " and the others for " : " for the others for ") + lasts;
      break;
    }
    case FaultKind::broken:
      if (!network_.break_one()) return;
      text = "broke a connection";
      break;
  }
  std::fprintf(stderr, "actorhost: fault at %.6f s: %s\n", now, text.c_str());
}

}  // namespace actorhost::rehearsal
