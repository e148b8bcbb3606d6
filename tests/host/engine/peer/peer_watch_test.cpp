// Peers that a node waits for: their reports, and the detection of their failures.

#include "host/engine/peer/peer_watch.hpp"

#include "tests/test.hpp"

namespace {

/// Two nodes, in processes 0 and 1; frames are delivered to their destinations.
struct Watching {
  Watching() {
    for (int i = 0; i < 2; ++i) {
      watches[i].on_state([this, i](NodeId node, std::optional<std::string> state) {
        reports[i].emplace_back(node, std::move(state));
      });
    }
  }
  void deliver(double now) {
    for (int from = 0; from < 2; ++from) {
      for (Frame& frame : watches[from].take_frames()) {
        ++frames;
        CHECK(frame.dst == courier_address(1 - from));
        CHECK(watches[1 - from].on_frame(frame, now).ok());
      }
    }
  }
  void deliver_all(double now) {
    for (int i = 0; i < 3; ++i) deliver(now);
  }

  Overlay overlays[2] = {{{10, 0}, 1, 0}, {{11, 1}, 1, 0}};
  PeerWatch watches[2] = {PeerWatch(overlays[0]), PeerWatch(overlays[1])};
  std::vector<std::pair<NodeId, std::optional<std::string>>> reports[2];
  int frames = 0;
};

}  // namespace

TEST_CASE("a watched peer sends its state at once and at each change, until the watch ends") {
  Watching both;
  both.watches[1].set_state("a");
  both.watches[0].watch({both.overlays[1].self()}, 0);
  both.deliver_all(0);
  both.watches[1].set_state("b");
  both.watches[1].set_state("b");
  both.deliver_all(0.1);
  REQUIRE(both.reports[0].size() == 2);
  CHECK(both.reports[0][0] == std::pair(NodeId{11}, std::optional<std::string>("a")));
  CHECK(both.reports[0][1].second == "b");
  CHECK(both.frames == 3);
  both.watches[0].stop();
  both.deliver_all(0.2);
  both.watches[1].set_state("c");
  both.deliver_all(0.3);
  CHECK(both.reports[0].size() == 2);
  CHECK(both.reports[1].empty());
}

TEST_CASE("a responsive peer is watched for a long time, an unresponsive peer fails within two seconds") {
  Watching both;
  both.watches[0].watch({both.overlays[1].self()}, 0);
  double now = 0;
  for (; now < 30; now += 0.25) {
    both.deliver_all(now);
    (void)both.watches[0].tick(now);
    (void)both.watches[1].tick(now);
  }
  for (const auto& [node, state] : both.reports[0]) CHECK(state);
  both.reports[0].clear();
  const double silent = now + 2;  // its last request was sent within these
  for (; both.reports[0].empty() && now < 60; now += 0.25) {
    (void)both.watches[0].tick(now);
    (void)both.watches[0].take_frames();
  }
  REQUIRE(both.reports[0].size() == 1);
  CHECK_FALSE(both.reports[0][0].second);
  CHECK(now <= silent + 2);
}

TEST_CASE("a peer of a failed process fails at once") {
  Watching both;
  both.watches[0].watch({both.overlays[1].self()}, 0);
  both.watches[0].lose_process(0);
  CHECK(both.reports[0].empty());
  both.watches[0].lose_process(1);
  REQUIRE(both.reports[0].size() == 1);
  CHECK_FALSE(both.reports[0][0].second);
}

TEST_CASE("malformed watch messages are rejected") {
  Watching both;
  for (const Kind kind : {peer_kind::watch, peer_kind::watched}) {
    Frame frame = make_frame(kind, courier_address(1), courier_address(0), 0, "\x01");
    CHECK_FALSE(both.watches[0].on_frame(frame, 0).ok());
  }
}
