#pragma once
// A cluster fixture: overlay nodes on virtual time, each in a process of its own, with the true ring to compare their
// beliefs with.

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "host/overlay/overlay.hpp"
#include "tests/host/net/sim_transport.hpp"

namespace actorhost::test {

class OverlayWorld {
 public:
  explicit OverlayWorld(uint64_t seed, SimLink link = {uniform_latency(0.5e-3, 1.5e-3)});
  ~OverlayWorld();

  /// Each contact is a node that may be live.
  Overlay& add(NodeId node, const std::vector<NodeId>& contacts);
  /// Adds nodes 0 .. count-1 over `seconds`, each with a random earlier node as its contact, then runs until they
  /// settle.
  void grow(NodeId count, double seconds);
  void leave(NodeId node);
  /// Kills without notice; connections stay open.
  void kill(NodeId node);
  /// Suspends the node's process, like SIGSTOP; messages to it wait.
  void suspend(NodeId node) { members_.at(node)->stopped = true; }
  void resume(NodeId node);

  void set_clock(NodeId node, std::optional<uint64_t> steps, uint64_t sum);

  void run(double seconds) { net.run_until(clock.now() + seconds); }
  double now() const noexcept { return clock.now(); }
  Overlay& at(NodeId node) { return *members_.at(node)->overlay; }
  const Overlay& at(NodeId node) const { return *members_.at(node)->overlay; }
  size_t size() const noexcept { return members_.size(); }
  std::vector<NodeId> nodes() const;
  NodeId some_node();
  void each(const std::function<void(const Overlay&)>& call) const {
    for (const auto& [node, member] : members_) call(*member->overlay);
  }

  /// Waits for the result.
  Result<Located> find(NodeId requester, RingId key);
  std::vector<Sampled> sample(NodeId requester, uint32_t count);
  /// Without waiting.
  void find(NodeId requester, RingId key, Finder::OnLocated done);
  void sample(NodeId requester, uint32_t count, UniformSampler::OnSampled done);

  /// Live peers in the order of the ring.
  std::vector<Peer> ring() const;
  NodeId owner_of(RingId key) const;
  /// Number of nodes with a wrong first successor or predecessor.
  size_t wrong_neighbours() const;
  /// Number of nodes with lists other than the kNeighbourListLength nearest peers on each side.
  size_t wrong_lists() const;
  uint64_t sent() const noexcept { return net.counters().sent; }
  /// By kind of message.
  const std::map<Kind, uint64_t>& sent_by_kind() const noexcept { return sent_by_kind_; }
  const std::map<Kind, uint64_t>& bytes_by_kind() const noexcept { return bytes_by_kind_; }

  ManualClock clock;
  SimTransport net;

 private:
  struct Member {
    std::unique_ptr<Overlay> overlay;
    Mailbox inbox;
    double planned = kForever;
    bool stopped = false;
  };
  void serve(NodeId node);

  uint64_t seed_;
  std::unordered_map<NodeId, std::unique_ptr<Member>> members_;
  std::vector<NodeId> order_;  // of the members, for some_node
  std::vector<Frame> frames_;  // scratch
  std::map<Kind, uint64_t> sent_by_kind_;
  std::map<Kind, uint64_t> bytes_by_kind_;
};

}  // namespace actorhost::test
