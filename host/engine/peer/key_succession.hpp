#pragma once
// How a node comes to lead the keys that it owns by its place on the ring, and how a group gets other members: there is
// one way for joining, leaving, deaths and repairs. The node that the ring makes the owner of an arc
//
//   looks     asks its neighbours who leads there so far, and with whom (`who`)
//   claims    a term above all that it has heard of, first from who leads so far, then from the rest of its group; a
//             majority has to promise that it takes part in no lesser term (as in Paxos)
//   syncs     takes over the keys of a node that has them all
//   adopts    tells the new group, whose members take over the keys as well, and the old one
//   settles   all of the new group and a majority of the old one have answered: it leads, others drop their copies
//
// Writes are acknowledged when all members have them, so any of them has all that was. A node that cannot tell death
// from a cut line waits kGraveyard before it takes a silent majority for dead: a part of a network that is cut off for
// less does not go on with keys whose group is mostly elsewhere. A leader answers only while a majority of its group
// has lately said that it still is one (a lease), and no member follows another before that has run out. Passive.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_set>
#include <vector>

#include "host/base/log.hpp"
#include "host/engine/peer/key_log.hpp"
#include "host/engine/peer/key_sync.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

class KeySuccession {
 public:
  struct Parts {
    Overlay& overlay;
    PeerCalls& calls;
    KeyTable& table;
    RangeMap& ranges;
    KeyLog& log;
    KeySync& sync;
  };
  KeySuccession(const Parts& parts, uint32_t copies) : parts_(parts), copies_(copies), rng_(parts.overlay.self().id) {}

  /// The nodes that a job began with, in any order: so that all agree on who leads where before anyone has spoken.
  void found(std::vector<Peer> founders);
  /// The processes that live, in the order of their numbers; of later deaths it is told by lose_process.
  void set_live(std::vector<ProcessId> processes) { live_ = std::move(processes); }
  /// Gives all workers of the run that may be peers, where the run has a membership table: once all of them have
  /// answered, no copy of a key is anywhere else.
  void set_everyone(std::function<std::vector<Peer>()> everyone) { everyone_ = std::move(everyone); }
  /// Told when the node may answer for keys for which it could not before.
  void on_progress(std::function<void()> told) { progress_ = std::move(told); }
  /// Gives up all that it holds. To be called before the overlay leaves the ring.
  void leave();
  bool holds_nothing() const;

  /// The node leads the place's group and may write; nullptr otherwise.
  const KeyRange* leads(RingId place) const;
  /// ... and may answer with what it has until then.
  double leased_until() const;
  bool leased() const { return leased_until() > now(); }
  /// Until when this process is on the side of a majority of the run (Cluster::leased_until): outside of that the node
  /// neither answers a get nor acknowledges a write.
  void set_run_lease(double until) { run_lease_ = until; }
  bool run_leased() const { return run_lease_ > now(); }
  /// By the ring the node owns the place, so that it will lead there.
  bool awaits(RingId place) const { return !leaving_ && parts_.overlay.near().owns(place); }

  Status on_who(const Frame& frame);
  Status on_claim(const Frame& frame);
  Status on_adopt(const Frame& frame);
  Status on_settle(const Frame& frame);
  Status on_renew(const Frame& frame);
  void lose_process(ProcessId process);
  /// The node has replied, in the attempt under way, that it is no peer: it has no copies.
  void lose_node(NodeId node) { departed_.insert(node); }
  double tick();

 private:
  struct Contact {
    Peer peer;
    enum class Said { nothing, silent, refused, yes } said = Said::nothing;
    std::vector<KeyRange> ranges;
    bool asked_consent = false;
    bool consents = false;
  };
  struct Attempt {
    Arc arc;
    std::vector<Peer> members;
    GroupTerm term;
    RangeMap known;
    std::map<NodeId, Contact> contacts;
    size_t open = 0;
    bool claiming = false;
    bool everyone_asked = false;
    bool everyone_answered = false;  // all workers of the run that may be peers
  };
  using AttemptPtr = std::shared_ptr<Attempt>;  // shared by the questions under way, which are void for another one

  double now() const { return parts_.calls.now(); }
  const Peer& self() const { return parts_.overlay.self(); }
  std::pair<Arc, std::vector<Peer>> wanted() const;
  bool satisfied(const Arc& arc, const std::vector<Peer>& members) const;
  bool too_early(const Arc& arc) const;
  bool gone(const Peer& peer) const;
  bool lost(ProcessId process) const;
  bool leader_lives(const KeyRange& range) const;

  // The node's own way.
  void begin(const Arc& arc, const std::vector<Peer>& members);
  void learn(Attempt& attempt, const std::vector<KeyRange>& ranges);
  void look(const AttemptPtr& attempt, size_t reach);
  void looked(const AttemptPtr& attempt);
  void claim(const AttemptPtr& attempt);
  void ask_promises(const AttemptPtr& attempt);
  void ask_claim(const AttemptPtr& attempt, const std::map<NodeId, Peer>& peers, bool consent);
  void on_promise(const AttemptPtr& attempt, NodeId node, bool consent, const Frame* frame);
  void promised(const AttemptPtr& attempt);
  bool enough(const Attempt& attempt, const KeyGroup& group, Contact::Said said) const;
  std::optional<Peer> source(const Attempt& attempt, const KeyRange& piece) const;
  bool overtaken(const Attempt& attempt);
  bool died_out(const Attempt& attempt, const KeyRange& piece) const;
  void adopt(const AttemptPtr& attempt);
  void ask_to_adopt(const AttemptPtr& attempt, const Peer& peer, const Adopt& message);
  void adopted(const AttemptPtr& attempt, const Adopt& message);
  void settle(const AttemptPtr& attempt, const Adopt& message);
  void retry(const AttemptPtr& attempt, double seconds);
  void finish_adopting(const Frame& frame, const Adopt& message, bool synced);
  void renew();
  void notify_watcher(const KeyRange& range);
  void stop_draining();
  void tidy();
  void drop_strays();
  void drop_if_later(const Arc& arc, const KeyGroup& group);

  Parts parts_;
  uint32_t copies_;
  Rng rng_;
  std::function<void()> progress_;
  bool leaving_ = false;
  AttemptPtr attempt_;
  std::optional<std::pair<Arc, std::vector<Peer>>> wish_;
  double wished_ = 0;      // since when
  double arc_wished_ = 0;  // since when that arc
  double next_try_ = 0;
  bool failed_ = false;  // the last try: others may know more
  double begun_ = -1;    // when it was told of founders
  struct Silence {
    double since = 0;
    double last = 0;
  };
  std::map<NodeId, Silence> silent_;  // of those that do not answer claims
  std::map<NodeId, double> bad_;      // not to be members until then
  std::unordered_set<ProcessId> lost_;
  std::unordered_set<NodeId> departed_;
  std::function<std::vector<Peer>()> everyone_;
  double run_lease_ = kForever;
  std::vector<ProcessId> live_;          // when it began
  std::map<GroupTerm, double> granted_;  // when its leader has last said that it is
  std::map<NodeId, double> renewed_;     // members: up to when they were still ours
  double next_renewal_ = 0;
  std::pair<GroupTerm, NodeId> watcher_;  // the next node on the ring that knows this group (watched_by_next)
  double next_tidy_ = 0;
  bool strays_ = false;             // there may be keys in the table that no range holds
  std::optional<double> draining_;  // since when; a claimer waits
  std::set<std::pair<GroupTerm, NodeId>> adopting_;
  bool deposed_ = false;
};

}  // namespace actorhost
