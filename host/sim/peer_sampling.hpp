#pragma once
// Protocol of peers that query a sample. A node that has completed a step draws beta live nodes, sends a query to each,
// and decides when all have replied. The replied clocks may be old by then. A held node draws a new sample after an
// interval (`poll`), or the members send it each step that they complete until it passes (`sticky`).
// A node detects a lost query or reply after `retry` seconds. After two unanswered tries it draws another peer, since
// the queried peer may have failed. Without loss, the samples equal those of PollAdmission and StickyAdmission for the
// same seed.

#include <vector>

#include "host/sim/admission_sample.hpp"
#include "host/sim/peer_world.hpp"

namespace actorhost {

class PeerSampling final : public PeerProtocol {
 public:
  explicit PeerSampling(PeerWorld& world);

  void joined(NodeId id, double now, bool later) override;
  void completed(NodeId id, double now) override;
  void woken(NodeId id, double now) override;
  void arrived(const PeerMessage& message, double now) override;
  void left(NodeId id, double now) override;

 private:
  struct Requester {
    std::vector<PeerState> sample;  // a member's step is kUnknown until the member has replied
    uint32_t missing = 0;           // pending replies
    double complete = 0;            // arrival time of the latest reply so far
    double redraw_at = 0;           // poll: when it draws the next sample
    double wake_at = 0;             // the valid wake-up; earlier wake-ups are ignored
    uint32_t episode = 0;           // number of the sample
    int32_t queries = 0;            // sent so far
  };
  struct Subscriber {
    NodeId id;
    int32_t query;  // number of its latest query
  };

  bool sticky() const noexcept { return resample_.kind == Resample::Kind::sticky; }
  void draw(NodeId id, double now);
  void query(NodeId requester, uint32_t place, uint8_t tries, double now);
  void query_arrived(PeerMessage message, double now);
  void schedule_timeout(PeerMessage message, double now);
  void on_timeout(const PeerMessage& message, double now);
  void count_reply(NodeId requester, double time, double now);
  bool draw_replacement(NodeId requester, NodeId& out);
  void evaluate_sample(NodeId id, double now);
  void evaluate(NodeId id, double now);
  bool expects(const PeerMessage& reply) const;
  void subscribe(const PeerMessage& query);
  void notify_subscribers(NodeId id, double now);
  void update(const PeerMessage& message, double now);
  void unsubscribe(NodeId requester, NodeId member, double now);
  void unsubscribed(const PeerMessage& message);
  void replace(NodeId requester, NodeId departed, double now);

  SampleStreams streams_;
  Resample resample_;
  std::vector<Requester> requesters_;                 // by id
  std::vector<std::vector<Subscriber>> subscribers_;  // by id: the nodes that receive its steps
  std::vector<NodeId> drawn_;                         // scratch
  std::vector<Subscriber> recipients_;                // scratch
};

}  // namespace actorhost
