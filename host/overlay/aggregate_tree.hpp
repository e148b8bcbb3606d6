#pragma once
// One node's part in the aggregation tree, by which every node learns the least of all clocks. The README draws the
// tree and tells why no node ever believes in more than the true least. Passive, as the overlay that owns it.
//
// A node is inside while somebody it reports to promises to keep its report, and has all on the way to the root promise
// the same (the lease). A parent keeps a report for kTreeKeep from when it came, the child counts on it for kTreeLease
// from when it was sent, and less when the parent itself counts on less; so nobody's clock is given up before its node
// knows. What lies between the two is for a beat that has not come (0.5 s) and for messages under way. A new root waits
// for kTreeKeep, too, since the old one was heard: then nobody counts on that any more.

#include <algorithm>
#include <functional>
#include <optional>

#include "host/overlay/finder.hpp"
#include "host/overlay/tree_parents.hpp"

namespace actorhost {

/// What a node knows of all.
struct Aggregate {
  uint64_t least = 0;        // no clock of a node that is included is below this
  uint64_t count = 0;        // nodes that take part, some beats ago
  uint64_t sum = 0;          // of what each has given, likewise
  NodeId slowest = kNoNode;  // a node that had the least clock some beats ago
  bool included = false;     // all others wait for this node's clock; `least` holds only then
};

/// Messages sent.
struct TreeTraffic {
  uint64_t reports = 0, results = 0;
};

class AggregateTree {
 public:
  AggregateTree(Requests& requests, const Neighbourhood& near, Finder& finder, double now)
      : requests_(requests), near_(near), finder_(finder), number_(first_number(now)) {}

  /// What the overlay's documentation of the same names says.
  void set_clock(std::optional<uint64_t> clock, uint64_t sum);
  Aggregate aggregate(double now) const;
  void on_aggregate(std::function<void(const Aggregate&)> told) { told_ = std::move(told); }
  const TreeTraffic& traffic() const noexcept { return traffic_; }

  /// Told of parents and children that should have said something.
  void on_silence(std::function<void(const Peer&)> told) { silent_ = std::move(told); }
  /// There are others, who may have a root already.
  void expect_others() { founder_ = false; }
  /// Others have been told this least: should this node come to be the root, it begins there.
  void expect_least(uint64_t least) noexcept {
    if (in_tree_ == -kForever) known_.least = std::max(known_.least, least);
  }
  /// There are others, none of which has been a root.
  void found() { founder_ = true; }

  void on_report(const TreeReport& report);
  /// False: it answers what was never asked.
  bool on_result(const TreeResult& result);
  void on_part(const Peer& from) { children_.erase(from.node); }
  void lose_process(ProcessId process);
  /// Hands those below over to its parent, or to its successor. Nothing may follow but `restart`.
  void leave();
  /// The node has another id.
  void restart();
  /// `joined`: the node has its place on the ring.
  double tick(bool joined);

 private:
  // A node that has left may come again: what it then reports is later.
  static uint64_t first_number(double now) noexcept { return static_cast<uint64_t>(std::max(0.0, now) * 1e6); }
  double turn(bool joined);
  void resume();
  void take_role(bool joined);
  void activate(uint64_t least);
  void yield();
  RingId parent_key() const noexcept;
  void seek();
  void adopt(const Peer& owner);
  void attach(const Peer& peer);
  void part(NodeId node);
  void mind_parents();
  void fall_back();
  void mind_children();
  void refresh();
  void learn(const TreeParents::Parent* best, bool was_inside);
  TreeTotal total() const;
  uint64_t handed_over(NodeId parent);
  std::vector<Peer> others() const;
  void send_reports();
  void send_results();
  double next_time(bool joined) const;

  Requests& requests_;
  const Neighbourhood& near_;
  Finder& finder_;
  std::function<void(const Aggregate&)> told_;
  std::function<void(const Peer&)> silent_;
  TreeTraffic traffic_;

  std::optional<uint64_t> own_;
  uint64_t own_sum_ = 0;
  uint64_t part_since_ = 0;  // the first report with which the node takes part
  bool dirty_ = false;       // set_clock was called

  TreeChildren children_;
  TreeParents parents_;
  uint64_t number_;               // of the last report
  uint64_t settled_ = 0;          // the last one that children count on
  uint64_t reported_ = kNoClock;  // the least in the last report
  uint64_t reported_count_ = 0;   // and how many
  std::optional<NodeId> target_;  // the right parent, as far as is known
  RingId key_ = 0;                // which that owns
  double next_seek_ = 0;
  double next_fall_back_ = 0;
  uint32_t seeking_ = 0;  // the lookup under way, 0: none
  uint32_t sought_ = 0;

  bool founder_ = true;
  bool active_ = false;  // the root
  bool head_ = false;    // owner of key 0
  double head_since_ = 0;
  double in_tree_ = -kForever;  // when there was a root last, as far as is known
  double ticked_ = 0;
  double token_until_ = 0;  // a root has resigned, and has told this least
  uint64_t token_known_ = 0;
  NodeId token_from_ = 0;
  uint64_t token_term_ = 0;
  std::optional<NodeId> token_to_;  // whom that was passed on to
  uint64_t term_ = 0;               // of the last root heard of
  uint64_t own_term_ = 0;           // of the last time that it was this node
  double resigned_until_ = 0;       // this node has

  bool inside_ = false;
  double inside_until_ = 0;
  bool included_ = false;
  TreeTotal known_{0, 0, 0, kNoNode};  // of all
  uint64_t known_term_ = 0;            // of the root that has told so
  bool push_ = false;                  // children are to hear of it at once
  bool beat_ = false;
  double beaten_ = -kForever;
  Aggregate last_told_;
};

}  // namespace actorhost
