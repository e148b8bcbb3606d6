#pragma once
// The questions of a node that other peers have not answered yet, and what it has to send. A question is asked again
// after a while; after a few tries it has failed. Passive.

#include <functional>
#include <map>
#include <unordered_map>
#include <variant>
#include <vector>

#include "host/base/clock.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

class Requests {
 public:
  /// What came back; nullptr: nothing did.
  using OnFound = std::function<void(const Found*)>;
  using OnGreeted = std::function<void(const Greeting*)>;

  Requests(const Peer& self, double patience) : self_(self), patience_(patience) {}

  const Peer& self() const noexcept { return self_; }
  void set_self(const Peer& self) noexcept { self_ = self; }

  /// Time, for this and for all that is built on it; to be set before anything else happens.
  double now() const noexcept { return now_; }
  void set_now(double now) noexcept { now_ = now; }
  /// Told of each peer that has left a question unanswered and has not been heard since it was asked first.
  void on_silence(std::function<void(const Peer&, Kind asked)> told) { silent_ = std::move(told); }

  void find(const Peer& to, RingId key, int tries, OnFound done);
  void greet(const Peer& to, Greeting greeting, int tries, OnGreeted done);
  bool greets(NodeId node) const noexcept;
  /// A message of this peer has come.
  void heard(NodeId node);

  /// An answer. False: nobody has asked, or its question has failed before.
  bool answer(uint32_t tag, const Found& found);
  bool answer(uint32_t tag, const Greeting& greeting);
  /// Asks again, or gives up; returns the time of the next call.
  double tick();
  /// The node was stopped for a while: nobody could be heard.
  void postpone(double seconds);
  /// What is asked of this node fails at once.
  void fail(NodeId node);
  void fail_all();

  template <typename M>
  void send(Kind kind, const Peer& to, uint32_t tag, M message) {
    if constexpr (requires { message.envelope; }) {
      message.envelope = {self_, to.node};
    } else {
      message = {self_, to.node};
    }
    Frame frame = message_frame(kind, courier_address(to.process), tag, message);
    frame.src = courier_address(self_.process);
    frames_.push_back(std::move(frame));
  }
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  struct Question {
    Peer to;
    std::variant<Find, Greeting> message;
    int tries;  // left, behind this one
    double begun;
    double due;
    OnFound found;
    OnGreeted greeted;
  };
  // A peer that is asked something.
  struct Asked {
    uint32_t questions = 0;
    uint32_t greetings = 0;  // of these
    double heard = -kForever;
  };
  using Waiting = std::map<uint32_t, Question>;

  void ask(Question&& question);
  Question take(Waiting::iterator at);
  static void give_up(Question&& question);

  Peer self_;
  double patience_;
  double now_ = 0;
  std::function<void(const Peer&, Kind)> silent_;
  uint32_t asked_ = 0;
  Waiting waiting_;  // all wait equally long, so they are due in order
  std::unordered_map<NodeId, Asked> peers_;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
