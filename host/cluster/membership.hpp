#pragma once
// The membership table: the live workers and processes of a run in one epoch. Immutable; the epoch rises with every
// change. The coordinator makes the tables, every process holds the newest, and nodes read theirs between engine calls.
// Plain values; thread-safe.

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
  std::string url;   // where it accepts connections of other processes; empty: nowhere
  static void fields(auto& m, auto&& field) { field(m.process, words(m.host), m.url); }
};

struct Member {
  NodeId id = 0;
  ProcessId process = kNoProcess;
  // counts for a majority of a run of peers (quorum.hpp); false before a late joiner has become a peer, and once a
  // worker has left the peers or ended
  bool votes = true;
  static void fields(auto& m, auto&& field) { field(m.id, m.process, m.votes); }
};

class Membership {
 public:
  Membership() = default;
  /// Takes live workers and processes in any order, and sorts them by id; the order of workers is rank order.
  Membership(uint64_t epoch, std::vector<Member> workers, std::vector<ProcessInfo> processes, NodeId founders = 0);

  uint64_t epoch() const noexcept { return epoch_; }
  /// Ids of the run's first workers are below this id; later workers are late joiners.
  NodeId founders() const noexcept { return founders_; }
  /// Live workers in id order; a worker's index is its rank.
  const std::vector<Member>& workers() const noexcept { return workers_; }
  /// In order of their numbers.
  const std::vector<ProcessInfo>& processes() const noexcept { return processes_; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(workers_.size()); }
  /// The rank of a live worker; nullopt for others.
  std::optional<uint32_t> rank_of(NodeId id) const noexcept;
  bool alive(NodeId id) const noexcept { return rank_of(id).has_value(); }
  const ProcessInfo* process(ProcessId process) const noexcept;
  /// The process of this table that hosts an address (a live worker, a server, a service of a process), or kNoProcess.
  ProcessId home_of(Address address) const noexcept;
  /// The machine of an address, for errors of a run on several machines: "alpha". Empty if all processes are on one
  /// machine, and for an unknown address.
  std::string machine_of(Address address) const;
  /// "rank 3 (worker 3 on alpha:4711)" for a live worker, "data 1 (alpha:4711)" for the data service of a live process,
  /// its courier likewise; "worker 3" for all others.
  std::string describe(Address address) const;

  /// Whether ids are in order and unique, and each worker has a process.
  bool is_valid() const noexcept;
  static void fields(auto& m, auto&& field) { field(m.epoch_, m.founders_, m.workers_, m.processes_); }

 private:
  uint64_t epoch_ = 0;
  NodeId founders_ = 0;
  std::vector<Member> workers_;
  std::vector<ProcessInfo> processes_;
};

using MembershipPtr = std::shared_ptr<const Membership>;  // shared by the service thread and every node of a process

}  // namespace actorhost
