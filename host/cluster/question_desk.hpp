#pragma once
// Chunks of Lua that somebody outside asks the nodes of this process to run. The cluster's service thread brings them
// in; a node's thread takes them while it waits, or where it enters an engine call (Node::answer), and hands back what
// they print and how they end. Output is bounded. A chunk runs on one node at a time and ends there: by itself, cut
// off by whoever asked, or, where it waits, because another node's part of it has failed. Any thread; nothing blocks.

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"
#include "host/cluster/console_messages.hpp"

namespace actorhost {

struct Question {
  ConsoleAsk ask;
  std::string source;
};
using QuestionPtr = std::shared_ptr<const Question>;

class QuestionDesk {
 public:
  /// A node's place at the desk. The flags may be read by any thread, without a lock.
  class Seat {
   public:
    /// There is something for Node::answer to do: a question, or a pause.
    bool called() const noexcept { return called_.load(std::memory_order_relaxed); }
    bool asked() const noexcept { return asked_.load(std::memory_order_relaxed); }
    /// The chunk that runs is to end, wherever it is.
    bool cut() const noexcept { return cut_.load(std::memory_order_relaxed); }
    const std::atomic<bool>& cut_flag() const noexcept { return cut_; }
    /// The chunk for all nodes has failed elsewhere: its waits here end.
    bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
    bool held() const noexcept { return held_.load(std::memory_order_relaxed); }

   private:
    friend class QuestionDesk;
    struct Running {
      QuestionPtr question;
      bool cut = false;
      uint64_t written = 0;
      uint64_t left_out = 0;
    };

    Address node = kNoAddress;
    std::function<void()> wake;       // the node's wait
    std::function<void()> interrupt;  // the Lua that it runs; may be empty
    std::deque<QuestionPtr> waiting;
    std::vector<Running> running;  // a chunk for all nodes, and one that it lets in while it waits
    size_t next_together = 0;      // in together_
    std::string why_failed;
    bool idle = false;  // a server that waits for chunks for all nodes: such a chunk ends its wait

    std::atomic<bool> called_{false}, asked_{false}, cut_{false}, failed_{false}, held_{false};
  };

  /// Frames for the rendezvous host; called on any thread, with the desk's mutex held.
  using Send = std::function<void(Frame&&)>;
  explicit QuestionDesk(Send send) : send_(std::move(send)) {}

  // ---- the service thread ----

  /// A frame of the rendezvous host: `ask`, `cut`, `over`, `hold`.
  Status take(const Frame& frame);
  /// Interrupts the chunks that are to end once more: the Lua that they run may have missed it. Returns whether there
  /// are any, which is to be called again then.
  bool insist();
  /// The rendezvous host is lost, and with it those who have asked: nothing is held, what runs is to end.
  void let_go();

  // ---- a node's thread ----

  std::shared_ptr<Seat> sit(Address node, std::function<void()> wake);
  /// How a chunk is interrupted that runs Lua; called on any thread.
  void set_interrupt(Seat& seat, std::function<void()> interrupt);
  /// The node has ended: what was asked of it is answered so.
  void rise(const std::shared_ptr<Seat>& seat);

  /// Begins the next chunk that is for this node alone; nullptr: there is none.
  QuestionPtr begin(Seat& seat);
  /// The node's script waits for chunks for all nodes from now on, until it begins one.
  void get_ready(Seat& seat);
  /// Whether there is a chunk for all nodes that this one has not seen.
  bool has_together(const Seat& seat) const;
  /// Begins it. A server, which may come late, passes over those that have failed.
  QuestionPtr begin_together(Seat& seat);

  /// What the chunk that runs prints, as far as it is wanted.
  void write(Seat& seat, std::string_view text);
  /// The chunk that runs has ended, with these values.
  void finish(Seat& seat, ConsoleDone done, std::string_view values);
  /// The chunk for all nodes has failed on this one, and may still go on here: the others are told.
  void fail_together(Seat& seat, const std::string& error);
  /// What Seat::failed is about.
  std::string why_failed(const Seat& seat) const;

 private:
  struct Together {
    QuestionPtr question;
    std::optional<bool> ok = std::nullopt;  // once it is over
    bool cut = false;                       // on all nodes, also those that come to it later
    std::string why_failed = {};
  };

  void on_ask(ConsoleAsk&& ask, const Blob& source);
  void on_cut(const ConsoleCut& cut);
  void send(Kind kind, std::string_view meta, std::string_view body = {});
  void refuse(const Question& question, Address node, const std::string& why);
  void look(Seat& seat);
  size_t find_together(const Seat& seat) const;
  static std::string_view within_limit(Seat::Running& running, std::string_view text);

  const Send send_;
  mutable std::mutex mutex_;
  std::map<Address, std::shared_ptr<Seat>> seats_;
  std::map<Address, std::deque<QuestionPtr>> early_;  // for workers that have not sat down yet
  std::set<Address> gone_;                            // workers that have ended
  std::vector<Together> together_;
  bool paused_ = false;
};

}  // namespace actorhost
