#pragma once
// A fixture with a Coordinator and a manual environment: the clock, the log's lines, and a CoordinatorOutput that
// records the Coordinator's outputs and checks that it never sends to a dropped process.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/coordinator/coordinator.hpp"

namespace actorhost::test {

constexpr RendezvousConfig fixed(uint32_t hosts) { return {hosts, hosts, 60, 0.5}; }
constexpr RendezvousConfig elastic(uint32_t low, uint32_t high) { return {low, high, 60, 0.5}; }

inline const ActionEnter kRun{"param.run", "job.lua:12"};
inline const ActionEnter kCollect{"collect", "job.lua:20"};

/// The frames to one process, in order.
struct SentFrames {
  std::vector<Frame> frames;
  bool finished = false;

  const Frame* last(Kind kind) const;
  size_t count(Kind kind) const;
};

class CoordinatorWorld : public CoordinatorOutput {
 public:
  explicit CoordinatorWorld(RendezvousConfig rendezvous, const std::string& script = "return 1");

  /// A host with `nodes` workers joins over a new link.
  LinkId join(uint32_t nodes = 1, const std::string& name = "");
  LinkId join(const JoinMessage& message);
  JoinMessage message(uint32_t nodes, const std::string& name = "");
  /// Joins with an invalid message; returns the reason of the refusal.
  std::string refusal(const JoinMessage& message, Code code = Code::refused);

  /// Sends a frame of a node or service of the process behind `link` (0: the coordinator's own).
  void deliver(LinkId link, Kind kind, Address src, uint32_t tag, std::string_view meta = {}, Blob body = {});
  void enter(LinkId link, NodeId worker, uint32_t index, const ActionEnter& action);
  ActionReply last_reply_to(Address node) const;
  void ended(LinkId link, NodeId worker, uint32_t actions);
  void pass(double seconds);
  /// All processes but `silent` have sent frames until now.
  void record_heartbeats(const std::set<ProcessId>& silent = {});
  /// Repeats `times` times: all processes but `silent` send frames, and `seconds` pass.
  void beat(double seconds, int times = 1, const std::set<ProcessId>& silent = {});

  /// Each process except `mute` replies to the renewals and accepts the proposals that it has received.
  void reply_to_renewals();

  ProcessId process(LinkId link) const;
  const SentFrames& link(LinkId id) const { return links.at(id); }
  bool logged(const std::string& text) const;

  // CoordinatorOutput
  void send(Frame&& frame) override;
  void send_on(LinkId link, Frame&& frame) override;
  void assign(LinkId link, ProcessId process) override;
  void finish_link(LinkId link) override;
  std::string peer_of(LinkId link) const override;
  void drop(ProcessId process) override;
  void prepare(const Membership& membership) override;
  void publish(MembershipPtr membership) override;
  Result<bool> start_servers(uint32_t action) override;
  void leased(double until) override { leased_until = until; }
  void prove_dead(ProcessId process, const std::string&) override { to_prove.push_back(process); }
  void ended(const EndMessage& end) override;

  double now = 0;
  std::map<LinkId, SentFrames> links;
  std::map<Address, std::vector<Frame>> to_nodes;
  std::map<ProcessId, LinkId> processes;
  std::set<ProcessId> dropped;
  uint64_t prepared = 0;              // the epoch of the last `prepare`
  std::vector<MembershipPtr> tables;  // as the coordinator's own nodes see them
  std::vector<EndMessage> ends;
  std::vector<uint32_t> servers_started;
  Result<bool> servers_result = true;
  double leased_until = 0;
  std::vector<ProcessId> to_prove;
  std::set<ProcessId> mute;
  std::string peer = "10.0.0.7:40112";
  std::vector<std::string> lines;
  Log log;
  JobSource job;
  std::unique_ptr<Coordinator> coordinator;

 private:
  LinkId last_link_ = 0;
  uint64_t last_group_ = 100;
  struct Peer {
    uint64_t number = 0;
    uint64_t acknowledged = 0;
    uint64_t epoch = 0;
    bool owes_reply = false;
  };
  std::map<LinkId, Peer> peers_;
};

}  // namespace actorhost::test
