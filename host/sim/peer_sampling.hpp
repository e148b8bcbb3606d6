#pragma once
// Peers that ask others. A node that has completed a step draws beta of the live nodes, sends each a query, and decides
// when all have answered, by clocks that may have moved on meanwhile. A node that is held draws again after a while
// (`poll`), or the members tell it of each step that they complete until it passes (`sticky`). A lost query or answer
// is noticed after `retry` seconds; after two silent tries another peer is drawn, since this one may be dead. Without
// loss the samples are those that PollAdmission and StickyAdmission draw for the same seed.

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
    std::vector<PeerState> sample;  // whose step is kUnknown until they have answered
    uint32_t missing = 0;           // answers
    double complete = 0;            // when the last of the others has come or comes
    double draws = 0;               // poll: when it draws again
    double wakes = 0;               // an earlier wake-up is out of date
    uint32_t episode = 0;           // of drawing
    int32_t queries = 0;            // sent so far
  };
  struct Subscriber {
    NodeId id;
    int32_t query;  // the number of its latest one
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
  std::vector<std::vector<Subscriber>> subscribers_;  // by id: the nodes that it tells of its steps
  std::vector<NodeId> drawn_;                         // scratch
  std::vector<Subscriber> told_;                      // scratch
};

}  // namespace actorhost
