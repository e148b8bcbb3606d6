#pragma once
// Questions of one message between peers that are answered by one message, asked again while no answer comes. Passive.

#include <functional>
#include <map>
#include <vector>

#include "host/base/clock.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

class PeerCalls {
 public:
  /// nullptr: no answer has come.
  using OnAnswer = std::function<void(const Frame*)>;

  explicit PeerCalls(std::function<Peer()> self) : self_(std::move(self)) {}

  double now() const noexcept { return now_; }
  void set_now(double now) noexcept { now_ = now; }
  const Peer self() const { return self_(); }

  /// Asks up to `tries` times, half a second apart.
  template <typename M>
  void call(const Peer& to, Kind kind, M message, int tries, OnAnswer done) {
    const uint32_t tag = ++asked_;
    message.envelope = {self_(), to.node};
    Frame frame = message_frame(kind, courier_address(to.process), tag, message);
    frame.src = courier_address(self_().process);
    frames_.push_back(frame);
    waiting_.emplace(tag, Call{to, std::move(frame), tries - 1, now_ + kPatience, std::move(done)});
  }
  template <typename M>
  void answer(const Frame& question, const Peer& to, Kind kind, M message) {
    message.envelope = {self_(), to.node};
    frames_.push_back(message_frame(kind, courier_address(to.process), question.tag, message));
    frames_.back().src = courier_address(self_().process);
  }
  void send(Frame&& frame) {
    frame.src = courier_address(self_().process);
    frames_.push_back(std::move(frame));
  }

  /// False: nobody has asked, or has given up.
  bool take_answer(const Frame& frame, NodeId from);
  void lose_process(ProcessId process);
  /// The node has left: none of the requests to it will be answered.
  void lose_node(NodeId node);
  double tick();
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  static constexpr double kPatience = 0.5;
  struct Call {
    Peer to;
    Frame frame;
    int tries;  // left, behind this one
    double due;
    OnAnswer done;
  };

  std::function<Peer()> self_;
  double now_ = 0;
  uint32_t asked_ = 0;
  std::map<uint32_t, Call> waiting_;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
