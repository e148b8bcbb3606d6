// Every order of events of three processes and two faults: two coordinators never hold the lease of a majority at one
// time, and no two committed tables contradict each other. Models the use of Quorum by Election and Coordinator
// (coordinator/majority.hpp). It has no time: a process that has lost its coordinator by silence no longer confirms its
// lease, since the lease is shorter than the silence (coordinator_lease.hpp).

#include <unordered_set>

#include "host/cluster/quorum.hpp"
#include "tests/test.hpp"

namespace {

constexpr ProcessId kCount = 3;
constexpr int kFaults = 2;

Membership table_of(uint64_t epoch, const std::set<ProcessId>& processes) {
  std::vector<Member> workers;
  std::vector<ProcessInfo> infos;
  for (const ProcessId process : processes) {
    workers.push_back({process, process});
    infos.push_back({process, "h", "u"});
  }
  return Membership(epoch, workers, infos);
}

struct QuorumProcess {
  bool alive = true;
  ProcessId coordinator = 0;              // it follows this one; kNoProcess: an election is in progress
  std::set<ProcessId> given_up = {};      // earlier coordinators; it does not return to them
  ProcessId bound = kNoProcess;           // the candidate that it has attached to
  std::set<ProcessId> candidates = {};    // all candidates since it last followed a coordinator
  std::map<ProcessId, Quorum> held = {};  // tables of attached processes, before it is a coordinator
  std::set<ProcessId> attached = {};      // as a coordinator: processes of its majority, which may not know it
  bool timed_out = false;                 // it has lost a coordinator by silence since it last followed one
  Quorum quorum;                          // as a member
  std::optional<Quorum> deciding;         // as a coordinator
  MembershipPtr proposed;                 // as a coordinator
  std::set<ProcessId> accepted;           // the proposal
};

struct ModelState {
  std::array<QuorumProcess, kCount> processes;
  std::set<std::pair<ProcessId, ProcessId>> cuts;
  int faults = 0;
  std::set<std::string> committed;  // all tables ever committed

  ModelState() {
    const auto first = std::make_shared<const Membership>(table_of(1, {0, 1, 2}));
    for (QuorumProcess& process : processes) process.quorum.commit(first);
    processes[0].deciding = processes[0].quorum;
    committed.insert(pack(*first));
  }

  bool linked(ProcessId a, ProcessId b) const { return a == b || !cuts.contains(std::minmax(a, b)); }
  bool follows(ProcessId process, ProcessId coordinator) const {
    return processes[process].alive && processes[process].coordinator == coordinator &&
           processes[process].bound == kNoProcess;
  }
  bool is_coordinator(ProcessId p) const {
    return processes[p].alive && processes[p].deciding && processes[p].coordinator == p;
  }
  bool in_charge(ProcessId coordinator) const {
    return is_coordinator(coordinator) &&
           processes[coordinator].deciding->majority([&](ProcessId p) { return follows(p, coordinator); });
  }

  std::string key() const {
    std::string text;
    const auto add = [&](const Quorum& quorum) {
      for (const Membership& table : quorum.tables()) text += pack(table);
      for (ProcessId p = 0; p < kCount; ++p) text += quorum.excludes(p) ? 'x' : '.';
    };
    for (const QuorumProcess& p : processes) {
      text += p.alive ? 'a' : 'd';
      text += std::to_string(p.coordinator) + "," + std::to_string(p.bound) + (p.timed_out ? "t" : "");
      add(p.quorum);
      text += '|';
      if (p.deciding) add(*p.deciding);
      if (p.proposed) text += pack(*p.proposed);
      for (const ProcessId other : p.accepted) text += std::to_string(other);
      for (const ProcessId other : p.given_up) text += "g" + std::to_string(other);
      for (const ProcessId other : p.candidates) text += "q" + std::to_string(other);
      for (const ProcessId other : p.attached) text += "t" + std::to_string(other);
      for (const auto& [other, quorum] : p.held) text += "h" + std::to_string(other), add(quorum);
    }
    for (const auto& [a, b] : cuts) text += std::to_string(a) + "-" + std::to_string(b);
    return text + std::to_string(faults);
  }
};

/// Explores all orders from a world on, depth first; each world once.
class Orders {
 public:
  size_t explore(const ModelState& world) {
    if (!seen_.insert(world.key()).second) return 0;
    check(world);
    size_t count = 1;
    if (seen_.size() > kMost) return count;
    for_each_next(world, [&](ModelState&& next) { count += explore(next); });
    return count;
  }

 private:
  static constexpr size_t kMost = 400'000;

  static void check(const ModelState& world) {
    int in_charge = 0;
    for (ProcessId p = 0; p < kCount; ++p) in_charge += world.in_charge(p) ? 1 : 0;
    if (in_charge > 1) FAIL("two coordinators have a majority");
    std::vector<Membership> tables;
    for (const std::string& bytes : world.committed) tables.push_back(*unpack<Membership>(bytes));
    for (const Membership& one : tables) {
      for (const Membership& other : tables) {
        if (one.epoch() == other.epoch() && pack(one) != pack(other)) {
          FAIL("two tables of one epoch are committed");
        }
      }
    }
  }

  template <typename Visit>
  void for_each_next(const ModelState& world, const Visit& visit) {
    const auto step = [&](const auto& change) {
      ModelState next = world;
      change(next);
      visit(std::move(next));
    };
    if (world.faults < kFaults) {
      for (ProcessId a = 0; a < kCount; ++a) {
        if (world.processes[a].alive) step([&](ModelState& w) { ++w.faults, w.processes[a].alive = false; });
        for (ProcessId b = a + 1; b < kCount; ++b) {
          if (world.linked(a, b)) step([&](ModelState& w) { ++w.faults, w.cuts.insert({a, b}); });
        }
        step([&](ModelState& w) {  // cut off from both
          ++w.faults;
          for (ProcessId b = 0; b < kCount; ++b) {
            if (b != a) w.cuts.insert(std::minmax(a, b));
          }
        });
      }
    }
    if (!world.cuts.empty()) step([](ModelState& w) { w.cuts.clear(); });
    for (ProcessId p = 0; p < kCount; ++p) {
      if (!world.processes[p].alive) continue;
      member_steps(world, p, step);
      if (world.is_coordinator(p)) coordinator_steps(world, p, step);
    }
  }

  template <typename Step>
  static void member_steps(const ModelState& world, ProcessId p, const Step& step) {
    const QuorumProcess& self = world.processes[p];
    const ProcessId coordinator = self.coordinator;
    if (coordinator != kNoProcess && coordinator != p &&
        (!world.linked(p, coordinator) || !world.processes[coordinator].alive)) {
      step([&](ModelState& w) {
        QuorumProcess& me = w.processes[p];
        me.coordinator = kNoProcess;
        // A dead coordinator's port refuses connections if its machine can be reached.
        const bool proved =
            !w.processes[coordinator].alive && w.linked(p, coordinator) && (!me.timed_out || me.quorum.needs(p));
        if (proved) me.quorum.exclude(coordinator);
        if (!proved) me.timed_out = true;
      });
    }
    if (coordinator != kNoProcess) return;
    for (ProcessId c = 0; c < kCount; ++c) {
      const QuorumProcess& other = world.processes[c];
      if (c == p || !other.alive || !world.linked(p, c)) continue;
      if (self.bound == kNoProcess && other.coordinator == kNoProcess && other.bound == kNoProcess) {
        step([&](ModelState& w) {
          w.processes[p].bound = c;
          w.processes[p].candidates.insert(c);
          w.processes[c].held[p] = w.processes[p].quorum;
        });
      }
      // The silent coordinator sends again, and has not dropped this process.
      const bool member = other.deciding && other.deciding->newest()->process(p) != nullptr;
      if (self.bound == kNoProcess && world.is_coordinator(c) && member && !self.given_up.contains(c)) {
        step([&](ModelState& w) { follow(w, p, c); });
      }
      // A skipped candidate became the coordinator with this process's request.
      if (world.is_coordinator(c) && other.attached.contains(p) && self.candidates.contains(c)) {
        step([&](ModelState& w) {
          follow(w, p, c);
          w.processes[c].attached.erase(p);
          give_up_others(w, p, c);
        });
      }
    }
    if (self.bound != kNoProcess && (!world.linked(p, self.bound) || !world.processes[self.bound].alive)) {
      step([&](ModelState& w) { w.processes[p].bound = kNoProcess, w.processes[p].timed_out = true; });
    }
    for (ProcessId dead = 0; dead < kCount; ++dead) {
      const bool holds = !self.timed_out || merged(self).needs(p);
      const bool provable = !world.processes[dead].alive && world.linked(p, dead) && holds;
      if (provable && !self.quorum.excludes(dead)) step([&](ModelState& w) { w.processes[p].quorum.exclude(dead); });
    }
    if (self.bound == kNoProcess) take_over(world, p, step);
  }

  /// The tables of a process and of the processes attached to it.
  static Quorum merged(const QuorumProcess& process) {
    Quorum all = process.quorum;
    for (const auto& [other, held] : process.held) all.merge(held.tables());
    return all;
  }

  static void follow(ModelState& w, ProcessId p, ProcessId coordinator) {
    QuorumProcess& me = w.processes[p];
    me.coordinator = coordinator;
    me.bound = kNoProcess;
    me.timed_out = false;
    me.candidates.clear();
    me.held.clear();
  }
  static void give_up_others(ModelState& w, ProcessId p, ProcessId coordinator) {
    for (ProcessId before = 0; before < kCount; ++before) {
      if (before != coordinator) w.processes[p].given_up.insert(before);
    }
  }

  template <typename Step>
  static void take_over(const ModelState& world, ProcessId p, const Step& step) {
    const Quorum quorum = merged(world.processes[p]);
    std::set<ProcessId> here = {p};
    for (const auto& [other, held] : world.processes[p].held) here.insert(other);
    if (!quorum.majority([&](ProcessId process) { return here.contains(process); })) return;
    step([&](ModelState& w) {
      follow(w, p, p);
      QuorumProcess& me = w.processes[p];
      me.deciding = quorum;
      me.proposed = nullptr;
      me.accepted.clear();
      me.attached = here;
      me.attached.erase(p);
      for (const ProcessId other : here) {
        if (other == p || w.processes[other].bound != p) continue;
        follow(w, other, p);
        give_up_others(w, other, p);
        me.attached.erase(other);
      }
    });
  }

  template <typename Step>
  static void coordinator_steps(const ModelState& world, ProcessId p, const Step& step) {
    const QuorumProcess& self = world.processes[p];
    const MembershipPtr newest = self.deciding->newest();
    if (!self.proposed && newest->epoch() < 5) {
      for (const ProcessInfo& info : newest->processes()) {
        const ProcessId lost = info.process;
        const bool has_left = !world.processes[lost].alive || !world.linked(p, lost) || !world.follows(lost, p);
        if (lost == p || !has_left || !world.in_charge(p)) continue;
        step([&](ModelState& w) {
          std::set<ProcessId> left;
          for (const ProcessInfo& one : newest->processes()) {
            if (one.process != lost) left.insert(one.process);
          }
          w.processes[p].proposed = std::make_shared<const Membership>(table_of(newest->epoch() + 1, left));
          w.processes[p].accepted = {p};
        });
      }
    }
    for (ProcessId dead = 0; dead < kCount; ++dead) {
      const bool provable = !world.processes[dead].alive && world.linked(p, dead) && !self.deciding->excludes(dead);
      // Shortly after the lease at the latest: no process can have left this coordinator by silence before that.
      bool left_by_silence = false;
      for (const QuorumProcess& other : world.processes)
        left_by_silence = left_by_silence || (other.alive && other.timed_out);
      const bool holds = !left_by_silence || self.deciding->needs(p);
      if (provable && holds) step([&](ModelState& w) { w.processes[p].deciding->exclude(dead); });
    }
    if (!self.proposed) return;
    for (ProcessId member = 0; member < kCount; ++member) {
      if (member == p || !world.follows(member, p) || !world.linked(p, member) || self.accepted.contains(member))
        continue;
      step([&](ModelState& w) {
        w.processes[member].quorum.accept(self.proposed);
        w.processes[p].accepted.insert(member);
      });
    }
    if (self.deciding->majority([&](ProcessId process) { return self.accepted.contains(process); })) {
      step([&](ModelState& w) {
        QuorumProcess& me = w.processes[p];
        w.committed.insert(pack(*me.proposed));
        me.deciding->commit(me.proposed);
        me.quorum.commit(me.proposed);
        for (ProcessId member = 0; member < kCount; ++member) {
          if (member != p && w.follows(member, p) && w.linked(p, member) && me.proposed->process(member) != nullptr) {
            w.processes[member].quorum.commit(me.proposed);
          }
        }
        me.proposed = nullptr;
        me.accepted.clear();
      });
      step([&](ModelState& w) {  // the same, but no member receives it
        QuorumProcess& me = w.processes[p];
        w.committed.insert(pack(*me.proposed));
        me.deciding->commit(me.proposed);
        me.quorum.commit(me.proposed);
        me.proposed = nullptr;
        me.accepted.clear();
      });
    }
  }

  std::unordered_set<std::string> seen_;
};

}  // namespace

TEST_CASE("in every order of three processes and two faults at most one coordinator has a majority") {
  Orders orders;
  const size_t worlds = orders.explore(ModelState());
  INFO(worlds << " worlds");
  CHECK(worlds > 1000);
  CHECK(worlds < 400'000);  // all of them
}
