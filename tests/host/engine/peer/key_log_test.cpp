// The replicated log of a leader and its followers, with frames delivered by hand.

#include "host/engine/peer/key_log.hpp"

#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

namespace {

constexpr int64_t kLarge = 100000;
constexpr NodeId kWriter = 77;
const Arc kCircleArc{5, 5};

struct LogMember {
  explicit LogMember(const Peer& peer) : self(peer) {}
  Peer self;
  PeerCalls calls{self};
  KeyTable table;
  RangeMap ranges;
  KeyLog log{calls, table, ranges};
  size_t sent_within = 0;  // bytes of values to nodes of its own process
  size_t sent_outside = 0;
};

class LogGroup {
 public:
  /// Node i runs in process processes[i]; node 0 leads.
  explicit LogGroup(const std::vector<ProcessId>& processes) {
    for (NodeId node = 0; node < processes.size(); ++node) {
      members_.push_back(std::make_unique<LogMember>(Peer{node + 1, node, processes[node]}));
      group_.members.push_back(members_.back()->self);
    }
    group_.term = {1, 0};
    for (auto& member : members_) {
      member->ranges.put({kCircleArc, group_, true, {}, group_.term, {}});
      if (member != members_.front()) member->log.follow(group_.term);
    }
    leader().log.lead(group_);
  }

  LogMember& at(NodeId node) { return *members_.at(node); }
  LogMember& leader() { return at(0); }

  /// Appends a write of one key; its number is in `done` once all members have it.
  void append(KeyWrite::Type type, int64_t elements, float value, Mark mark) {
    PushRule rule;
    rule.rule = UpdateRule::native({.lr = 1});
    KeyOperation operation{{type, kWriter, mark, rule},
                           {{key_of(elements == kLarge ? "large" : "small"), filled(elements, value), 0}}};
    REQUIRE(leader().table.check(operation).ok());
    leader().log.append(std::move(operation), [this, mark](bool committed) {
      CHECK(committed);
      done.push_back(mark);
    });
  }

  /// Delivers all frames, except those between nodes for which `lost` holds.
  void deliver(const std::function<bool(NodeId from, NodeId to)>& lost = nullptr) {
    for (bool any = true; any;) {
      any = false;
      for (auto& from : members_) {
        for (Frame& frame : from->calls.take_frames()) {
          any = true;
          Unpacker in(frame.meta.view());
          const auto envelope = unpack_head<Envelope>(in);
          REQUIRE(envelope.ok());
          LogMember& to = at(envelope->to);
          (to.self.process == from->self.process ? from->sent_within : from->sent_outside) += frame.body.size();
          if (lost == nullptr || !lost(from->self.node, to.self.node)) take(to, std::move(frame));
        }
      }
    }
  }

  void advance(double seconds) {
    now_ += seconds;
    for (auto& member : members_) member->calls.set_now(now_);
    (void)leader().log.tick();
  }

  /// The tables of all members are equal.
  bool agree() {
    return std::all_of(members_.begin(), members_.end(), [&](const auto& member) {
      return member->table.sum(kCircleArc) == leader().table.sum(kCircleArc);
    });
  }

  std::vector<Mark> done;

 private:
  static ParamTensor filled(int64_t elements, float value) {
    const TensorLayout layout{Dtype::f32, Shape({elements})};
    Blob data = Blob::allocate(layout.bytes());
    std::fill_n(reinterpret_cast<float*>(data.data()), elements, value);
    return ParamTensor::whole(layout, std::move(data));
  }

  static void take(LogMember& to, Frame&& frame) {
    if (frame.kind == peer_kind::write) {
      REQUIRE(to.log.on_write(std::move(frame)).ok());
      return;
    }
    REQUIRE(frame.kind == peer_kind::written);
    const auto written = read_message<Written>(frame);
    REQUIRE(written.ok());
    to.log.on_written(*written);
  }

  std::vector<std::unique_ptr<LogMember>> members_;
  KeyGroup group_;
  double now_ = 0;
};

constexpr size_t kBytes = kLarge * sizeof(float);

}  // namespace

TEST_CASE("a large write passes along a chain, and each member replies to the leader") {
  LogGroup group({10, 11, 12, 13});
  group.append(KeyWrite::Type::set, kLarge, 1, 1);
  group.deliver();
  CHECK(group.done == std::vector<Mark>{1});
  CHECK(group.agree());
  const std::vector<size_t> sent = {group.at(0).sent_outside, group.at(1).sent_outside, group.at(2).sent_outside,
                                    group.at(3).sent_outside};
  CHECK(sent == std::vector<size_t>{kBytes, kBytes, kBytes, 0});
}

TEST_CASE("a small write goes from the leader to all members") {
  LogGroup group({10, 11, 12});
  group.append(KeyWrite::Type::set, 4, 1, 1);
  group.deliver();
  CHECK(group.done == std::vector<Mark>{1});
  CHECK(group.agree());
  CHECK(group.leader().sent_outside >= 2 * 4 * sizeof(float));
  CHECK(group.at(1).sent_outside == 0);
}

TEST_CASE("a large write enters each process once") {
  LogGroup group({10, 11, 10, 12, 11, 10});
  group.append(KeyWrite::Type::set, kLarge, 1, 1);
  group.deliver();
  CHECK(group.done == std::vector<Mark>{1});
  CHECK(group.agree());
  size_t outside = 0;
  for (NodeId node = 0; node < 6; ++node) outside += group.at(node).sent_outside;
  CHECK(outside == 2 * kBytes);
}

TEST_CASE("writes behind a pending large write take the chain too, and none is resent") {
  LogGroup group({10, 11, 12});
  group.append(KeyWrite::Type::set, 4, 8, 1);
  group.deliver();
  group.done.clear();
  group.append(KeyWrite::Type::set, kLarge, 8, 1);
  for (Mark mark = 2; mark < 10; ++mark) group.append(KeyWrite::Type::push, mark % 2 == 0 ? kLarge : 4, 1, mark);
  group.deliver();
  CHECK(group.done == std::vector<Mark>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(group.agree());
  CHECK(group.at(2).sent_outside == 0);
}

TEST_CASE("a member updates a value that it still sends on") {
  LogGroup group({10, 11, 12});
  group.append(KeyWrite::Type::set, kLarge, 8, 1);
  // The second member gets both writes before the third member gets any.
  group.append(KeyWrite::Type::push, kLarge, 3, 2);
  group.deliver();
  CHECK(group.done == std::vector<Mark>{1, 2});
  CHECK(group.agree());
}

TEST_CASE("a write that the chain has lost goes to each missing member directly") {
  const NodeId broken = GENERATE(NodeId{0}, NodeId{1}, NodeId{2});
  LogGroup group({10, 11, 12, 13});
  group.append(KeyWrite::Type::set, kLarge, 1, 1);
  group.append(KeyWrite::Type::push, kLarge, 1, 2);
  group.deliver([&](NodeId from, NodeId to) { return from == broken && to == broken + 1; });
  CHECK(group.done.empty());
  group.append(KeyWrite::Type::push, kLarge, 1, 3);
  group.deliver([&](NodeId from, NodeId to) { return from == broken && to == broken + 1; });
  group.advance(10);
  group.deliver();
  CHECK(group.done == std::vector<Mark>{1, 2, 3});
  CHECK(group.agree());
  CHECK_FALSE(group.leader().log.stuck());
}

TEST_CASE("a node outside of the group sends no write on") {
  LogGroup group({10, 11, 12});
  LogMember stranger(Peer{9, 1, 11});
  group.append(KeyWrite::Type::set, kLarge, 1, 1);
  std::vector<Frame> frames = group.leader().calls.take_frames();
  REQUIRE(frames.size() == 1);
  REQUIRE(stranger.log.on_write(std::move(frames.front())).ok());
  const std::vector<Frame> replies = stranger.calls.take_frames();
  REQUIRE(replies.size() == 1);
  CHECK(replies.front().kind == peer_kind::written);
  const auto written = read_message<Written>(replies.front());
  REQUIRE(written.ok());
  CHECK(written->refused);
}
