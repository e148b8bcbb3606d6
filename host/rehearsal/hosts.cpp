#include "host/rehearsal/hosts.hpp"

#include <algorithm>
#include <utility>

namespace actorhost::rehearsal {

namespace {

constexpr int kCutOff = 3;  // exit code of a host that has lost the cluster

}  // namespace

Hosts::Hosts(Scheduler& scheduler, MemoryNetwork& network, uint32_t count, std::function<int(uint32_t host)> run,
             std::optional<Time> restart)
    : scheduler_(scheduler), network_(network), run_(std::move(run)), restart_(restart) {
  for (uint32_t i = 0; i < count; ++i) (void)add();
}

uint32_t Hosts::add() {
  const auto number = static_cast<uint32_t>(hosts_.size());
  hosts_.emplace_back().supervisor = Task([this, number] { supervise(number); });
  return number;
}

void Hosts::supervise(uint32_t number) {
  Host& host = hosts_[number];
  for (;;) {
    bool ended = false;
    host.running = true;
    scheduler_.join(scheduler_.spawn_on(number, [&] {
      host.code = run_(number);
      ended = true;
    }));
    host.running = false;
    if (ended || !restart_) return;
    Task::sleep(seconds(*restart_));
    network_.revive(number);
  }
}

void Hosts::wait() {
  for (size_t i = 0; i < hosts_.size(); ++i) hosts_[i].supervisor.join();  // hosts may be added meanwhile
}

void Hosts::kill(uint32_t host, bool crash) {
  hosts_[host].running = false;
  hosts_[host].killed = true;
  scheduler_.kill(host);
  network_.kill(host, crash);
}

std::vector<uint32_t> Hosts::running() const {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].running) out.push_back(i);
  }
  return out;
}

int Hosts::code() const {
  int largest = 0;
  bool cut_off = false;
  for (const Host& host : hosts_) {
    if (host.killed) continue;
    if (host.code == kCutOff) {
      cut_off = true;  // which must not hide the failure of another host
    } else {
      largest = std::max(largest, host.code);
    }
  }
  return largest == 0 && cut_off ? kCutOff : largest;
}

}  // namespace actorhost::rehearsal
