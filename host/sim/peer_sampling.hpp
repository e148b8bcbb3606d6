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
  struct Asker {
    std::vector<PeerState> sample;  // a member's step is kUnknown until the member has replied
    uint32_t missing = 0;           // pending replies
    double complete = 0;            // arrival time of the latest reply so far
    double draws = 0;               // poll: when it draws the next sample
    double wakes = 0;               // the valid wake-up; earlier wake-ups are ignored
    uint32_t episode = 0;           // number of the sample
    int32_t queries = 0;            // sent so far
  };
  struct Subscriber {
    NodeId id;
    int32_t query;  // number of its latest query
  };

  bool sticky() const noexcept { return resample_.kind == Resample::Kind::sticky; }
  void draw(NodeId id, double now);
  void query(NodeId asker, uint32_t place, uint8_t tries, double now);
  void query_arrived(PeerMessage message, double now);
  void not_answered(PeerMessage message, double now);
  void silence(const PeerMessage& message, double now);
  void count_answer(NodeId asker, double time, double now);
  bool another(NodeId asker, NodeId& out);
  void judge(NodeId id, double now);
  void look(NodeId id, double now);
  bool expects(const PeerMessage& answer) const;
  void subscribe(const PeerMessage& query);
  void tell_subscribers(NodeId id, double now);
  void update(const PeerMessage& message, double now);
  void unsubscribe(NodeId asker, NodeId member, double now);
  void unsubscribed(const PeerMessage& message);
  void replace(NodeId asker, NodeId gone, double now);

  SampleStreams streams_;
  Resample resample_;
  std::vector<Asker> askers_;                         // by id
  std::vector<std::vector<Subscriber>> subscribers_;  // by id: the nodes that receive its steps
  std::vector<NodeId> drawn_;                         // scratch
  std::vector<Subscriber> told_;                      // scratch
};

}  // namespace actorhost
