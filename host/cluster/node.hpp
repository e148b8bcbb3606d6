#pragma once
// The cluster as the thread of one VM uses it: its identity, its port, the membership as of its last look, and the
// calls to the rendezvous host. Owned and used by that thread; `request_stop` and `wake` may come from any other.
//
// Every wait goes through here. It ends with Code::interrupted when the run is asked to stop, Code::aborted (or the
// run's own error) when it has failed elsewhere, and Code::peer_lost when one of the awaited addresses is gone.

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/cluster.hpp"
#include "host/net/port.hpp"

namespace actorhost {

enum class Role { worker, server };

/// What a node does for those outside who ask something of it (QuestionDesk), on its own thread.
class NodeGuest {
 public:
  NodeGuest() = default;
  NodeGuest(const NodeGuest&) = delete;
  NodeGuest& operator=(const NodeGuest&) = delete;
  virtual ~NodeGuest() = default;
  /// Whether this is a time for questions: not while a callback runs whose time is limited.
  virtual bool may_answer() = 0;
  /// Answers the questions that are there. It may use the node, but for collectives and actions.
  virtual void answer() = 0;
  /// Bytes of the node's Lua state; asked where the script enters an engine call, and before each wait.
  virtual uint64_t lua_bytes() = 0;
};

class Node {
 public:
  /// Seconds after which a wait logs for which nodes it waits.
  static constexpr double kLongWait = 10;

  Node(Cluster& cluster, JobSource& job, const Clock& clock, Log& log, Address self);
  ~Node();

  Role role() const noexcept { return is_server(self_) ? Role::server : Role::worker; }
  Address address() const noexcept { return self_; }
  /// A worker's id or a server's shard.
  uint32_t index() const noexcept { return address_index(self_); }
  /// A worker's rank at the last look; nothing for servers.
  std::optional<uint32_t> rank() const;
  /// "rank 2", "server 0": for messages and log lines.
  std::string name() const;

  Cluster& cluster() noexcept { return cluster_; }
  Port& port() noexcept { return port_; }
  NodeStats& stats() noexcept { return *stats_; }
  std::shared_ptr<NodeStats> shared_stats() const noexcept { return stats_; }
  const Clock& clock() const noexcept { return clock_; }
  Log& log() noexcept { return log_; }

  /// The membership as of the last `refresh`, which actions and collectives call at their start: ranks hold still
  /// between.
  const Membership& membership() const noexcept { return *membership_; }
  /// Looks again; true when the epoch is a new one.
  bool refresh();
  /// The newest membership, whatever this node has looked at: for protocols that follow it themselves.
  MembershipPtr newest_membership() const { return cluster_.membership(); }

  /// The error when the run is over or this node is to stop; called before and in every wait.
  Status check();
  void request_stop() noexcept {
    stop_.store(true, std::memory_order_release);
    port_.wake();
  }
  bool stop_requested() const noexcept { return stop_.load(std::memory_order_acquire); }
  /// Looks at the cluster's state when the current wait goes on. Any thread.
  void wake() { port_.wake(); }

  /// Who answers questions from now on (nullptr: nobody), in each of the waits below and in `answer`.
  void set_guest(NodeGuest* guest) { guest_ = guest; }
  QuestionDesk::Seat& seat() noexcept { return *seat_; }
  /// Where a script enters an engine call: answers what is asked, and stays here while the run is paused.
  Status answer() {
    tell_memory();
    return seat_->called() ? answer_now() : Status();
  }
  /// A question is being answered within a wait: the node is in the middle of another call.
  bool answering() const noexcept { return answering_; }
  /// While it lives, no wait answers questions: for code into which Lua must not be called.
  class Undisturbed {
   public:
    explicit Undisturbed(Node& node) : node_(node), before_(std::exchange(node.undisturbed_, true)) {}
    ~Undisturbed() { node_.undisturbed_ = before_; }
    Undisturbed(const Undisturbed&) = delete;
    Undisturbed& operator=(const Undisturbed&) = delete;

   private:
    Node& node_;
    const bool before_;
  };

  /// Waits for a frame; ends with peer_lost when one of `awaited` is gone and no frame that matches is left in the
  /// mailbox. A server that is awaited lives as long as the run: losing it is the run's end. May be nested.
  /// `what` names the wait in messages, and in the line that is logged when it takes more than 10 s; `who` names there
  /// for whom it is, if not for `awaited`.
  Result<Frame> receive(const Port::Match& match, std::span<const Address> awaited, const std::string& what,
                        double deadline = kForever, const std::function<std::string()>& who = {});

  /// Takes every frame that matches, waiting until `deadline` for the first. Comes back without one at the deadline,
  /// when a question has been answered, and when Cluster::news is not (or no longer) `news`, if that is given.
  Status receive_all(const Port::Match& match, double deadline, std::vector<Frame>& out,
                     std::optional<uint64_t> news = std::nullopt);

  /// Waits until `done` holds: asked whenever a frame has come or the cluster has changed. Otherwise as `receive`.
  Status wait_until(const std::function<bool()>& done, std::span<const Address> awaited, const std::string& what,
                    double deadline = kForever, const std::function<std::string()>& who = {});

  /// As receive_all, but one wait at most, that also ends when this node is woken: for conditions that other threads
  /// bring about. Comes back also when a question has been answered.
  Status receive_some(const Port::Match& match, double deadline, std::vector<Frame>& out);

  /// Code::peer_lost for `what` once the run's first rendezvous host is lost.
  Status first_head_is_there(const std::string& what) const;
  /// While it lives, waits end with Code::peer_lost once the run's first rendezvous host is lost: for engines that need
  /// what is there alone.
  class OnFirstHead {
   public:
    OnFirstHead(Node& node, const char* what) : node_(node), before_(std::exchange(node.needs_first_head_, what)) {}
    ~OnFirstHead() { node_.needs_first_head_ = before_; }
    OnFirstHead(const OnFirstHead&) = delete;
    OnFirstHead& operator=(const OnFirstHead&) = delete;

   private:
    Node& node_;
    const char* const before_;
  };

  struct Action {
    uint32_t index = 0;
    bool replayed = false;
    Blob value;  // when replayed
  };
  /// Enters the next numbered action.
  Result<Action> enter_action(const std::string& kind, const std::string& where);
  /// Records an action's value for nodes that start late.
  void finish_action(uint32_t index, Blob value);
  /// As finish_action, and returns the value that was recorded first: the same one on every node.
  Result<Blob> agree_on_action(uint32_t index, const Blob& value);
  uint32_t actions() const noexcept { return actions_; }
  /// This worker has joined late and goes on where the others are: it skips the actions that they have left behind.
  void skip_actions(uint32_t entered) { set_actions(std::max(actions_, entered)); }
  /// The next action has this number, on every node: a chunk for all nodes begins.
  void set_actions(uint32_t entered);

  /// This worker has joined too late to take part: its script may end where it is, as if it had come to its end.
  void leave_out() noexcept { left_out_ = true; }
  bool left_out() const noexcept { return left_out_; }

  /// Makes sure that shards run which serve action `action`, or any (kAnyAction). Waits until all live workers have
  /// entered that action.
  Status start_servers(uint32_t action);

  /// A module or file of the job: this machine's copy if the rendezvous host's is the same, else the text from there.
  Result<SourceText> find_source(const std::string& name);

  /// The live workers of a membership, in id order, without those that have joined late and have not been let into the
  /// others' collectives yet: these take no action before that.
  Result<std::vector<NodeId>> at_work(const Membership& membership);

  /// Where the others are, for a wait that has become long; with `waiting` the others hear of that wait when they ask.
  Result<std::vector<Whereabouts>> whereabouts(const LongWait* waiting = nullptr);
  /// Of the workers that have not entered `action` and can still do so.
  Result<std::vector<Whereabouts>> behind(uint32_t action);
  /// "rank 2 (worker 2 on alpha:4711) (last in param.run at job.lua:12), ...": for messages.
  std::string describe(const std::vector<Whereabouts>& workers) const;

 private:
  using Question = std::function<Frame(Address head)>;

  struct Wait;
  Result<Frame> receive(const Port::Match& match, Wait wait, double deadline);
  template <typename Attempt>
  auto patiently(const Attempt& attempt, double deadline);
  template <typename Attempt>
  auto open_wait(const Attempt& attempt);
  template <typename Attempt>
  auto answering_wait(const Attempt& attempt) -> decltype(attempt());
  void tell_memory();
  Status answer_now();
  Result<Frame> ask_head(const Question& question, Kind answer, const std::string& what,
                         const std::function<std::string()>& who = {});
  Question question(Kind kind, uint32_t tag, const std::string& meta = {}) const;

  Cluster& cluster_;
  JobSource& job_;
  const Clock& clock_;
  Log& log_;
  const Address self_;
  Port port_;
  const std::shared_ptr<NodeStats> stats_;  // shared with the process's reports
  MembershipPtr membership_;
  struct Wait {
    std::span<const Address> awaited = {};
    std::string what = {};
    std::function<std::string()> who = {};  // the missing nodes, if they are not `awaited`
    std::optional<ProcessId> head = {};     // that has been asked
  };
  Wait wait_;                               // the innermost that is going on
  std::optional<uint64_t> watched_news_;    // another number of Cluster::news ends the wait
  const char* needs_first_head_ = nullptr;  // the call that does
  uint32_t actions_ = 0;
  uint32_t questions_ = 0;
  bool left_out_ = false;
  std::atomic<bool> stop_{false};
  const std::shared_ptr<QuestionDesk::Seat> seat_;  // shared with the desk
  NodeGuest* guest_ = nullptr;
  bool open_ = false;       // the wait that goes on answers questions
  bool called_ = false;     // ... and was ended for that
  bool answering_ = false;  // a question
  bool undisturbed_ = false;
};

}  // namespace actorhost
