#pragma once
// Who belongs to the run: an immutable table with a number, the epoch, that grows with every change. The rendezvous
// host makes them, every process holds the newest, nodes look at theirs between engine calls. Plain values, any thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

struct ProcessInfo {
  ProcessId process = kNoProcess;
  std::string host;  // machine name and process number, for messages: "alpha:4711"
  std::string url;   // where it takes connections of other processes; empty when it takes none
  static void fields(auto& m, auto&& field) { field(m.process, words(m.host), m.url); }
};

struct Member {
  NodeId id = 0;
  ProcessId process = kNoProcess;
  bool votes = true;  // counts for a majority of a run of peers (quorum.hpp); false before a late worker has
                      // become a peer, and once a worker has left the peers or ended
  static void fields(auto& m, auto&& field) { field(m.id, m.process, m.votes); }
};

class Membership {
 public:
  Membership() = default;
  /// Live workers and processes in any order; they are put in id order, which is rank order.
  Membership(uint64_t epoch, std::vector<Member> workers, std::vector<ProcessInfo> processes, NodeId founders = 0);

  uint64_t epoch() const noexcept { return epoch_; }
  /// Workers that the run began with have ids below this one; the others have joined late.
  NodeId founders() const noexcept { return founders_; }
  /// Live workers in id order; a worker's place here is its rank.
  const std::vector<Member>& workers() const noexcept { return workers_; }
  /// In order of their numbers.
  const std::vector<ProcessInfo>& processes() const noexcept { return processes_; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(workers_.size()); }
  /// The rank of a live worker; nothing when it is not alive.
  std::optional<uint32_t> rank_of(NodeId id) const noexcept;
  bool alive(NodeId id) const noexcept { return rank_of(id).has_value(); }
  const ProcessInfo* process(ProcessId process) const noexcept;
  /// The process of this table that hosts an address (a live worker, a server, a service of a process); kNoProcess
  /// when there is none.
  ProcessId home_of(Address address) const noexcept;
  /// The machine of an address, for errors of a run on several machines: "alpha". Empty where all processes are on one
  /// machine, and for an address that is gone.
  std::string machine_of(Address address) const;
  /// "rank 3 (worker 3 on alpha:4711)" for a live worker, "data 1 (alpha:4711)" for the data of a live process, its
  /// courier likewise; for others, gone or not, their plain name: "worker 3".
  std::string describe(Address address) const;

  /// Ids are in order and occur once, and each worker has a process.
  bool sound() const noexcept;
  static void fields(auto& m, auto&& field) { field(m.epoch_, m.founders_, m.workers_, m.processes_); }

 private:
  uint64_t epoch_ = 0;
  NodeId founders_ = 0;
  std::vector<Member> workers_;
  std::vector<ProcessInfo> processes_;
};

using MembershipPtr = std::shared_ptr<const Membership>;  // shared by the service thread and every node of a process

}  // namespace actorhost
