// Bytes of a broken or hostile peer: each message is rejected with a reason, and the node continues.

#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/host/overlay/overlay_world.hpp"
#include "tests/test.hpp"

namespace {

template <typename M>
Frame from_peer(Kind kind, const M& message) {
  return between_couriers(6, 5, kind, message);
}

TreeReport report_of(const Envelope& envelope) {
  TreeReport report{.envelope = envelope, .number = 3, .total = {4, 2, 9}, .below = {7}, .lost = {8}};
  return report;
}

TreeResult result_of(const Envelope& envelope, const Peer& other) {
  TreeResult result{.envelope = envelope, .total = {4, 2, 9}, .lease = 1, .others = {other}};
  return result;
}

}  // namespace

TEST_CASE("a truncated, changed or random message of the overlay is rejected or harmless") {
  const uint64_t seed = 51;
  INFO("seed " << seed);
  OverlayWorld world(seed);
  world.grow(30, 1);
  Overlay& node = world.at(5);
  const Envelope envelope{world.at(6).self(), 5};
  const NeighbourLists lists = world.at(6).near().lists();
  const std::vector<Frame> good = {
      from_peer(overlay_kind::find, Find{envelope, 77}),
      from_peer(overlay_kind::found, Found{envelope, world.at(7).self(), {world.at(8).self()}, lists, "state", 7}),
      from_peer(overlay_kind::probe, PeerProbe{envelope, 7, lists}),
      from_peer(overlay_kind::probe, PeerProbe{envelope, 7, {}}),
      from_peer(overlay_kind::probe_reply, PeerProbe{envelope, 7, lists}),
      from_peer(overlay_kind::leaving, envelope),
      from_peer(overlay_kind::suspect, Suspect{envelope, world.at(7).self()}),
      from_peer(overlay_kind::report, report_of(envelope)),
      from_peer(overlay_kind::result, result_of(envelope, world.at(7).self())),
      from_peer(overlay_kind::detach, envelope),
  };
  for (const Frame& frame : good) {
    INFO("kind " << static_cast<int>(frame.kind));
    const size_t refused = feed_hostile(frame.meta.view(), seed, 300, [&](std::string_view bytes) {
      Frame bad = make_frame(frame.kind, frame.src, frame.dst, frame.tag, bytes);
      return node.on_frame(bad, world.now()).ok();
    });
    CHECK(refused >= frame.meta.size());
    CHECK(node.on_frame(frame, world.now()).ok());
  }
  (void)node.tick(world.now());
  (void)node.take_frames();
}

TEST_CASE("addresses and values in messages of the overlay are checked") {
  OverlayWorld world(52);
  world.grow(10, 1);
  Overlay& node = world.at(5);
  const Envelope envelope{world.at(6).self(), 5};
  const auto why = [&](const Frame& frame) {
    const Status status = node.on_frame(frame, world.now());
    return status.ok() ? "taken" : status.error().message;
  };
  CHECK_THAT(why(from_peer(Kind{0x0742}, envelope)), Catch::Contains("no such message"));
  CHECK_THAT(why(from_peer(overlay_kind::leaving, Envelope{world.at(6).self(), 4})), Catch::Contains("another node"));
  CHECK_THAT(why(from_peer(overlay_kind::leaving, Envelope{world.at(7).self(), 5})),
             Catch::Contains("another process"));
  PeerProbe probe{envelope, 7, world.at(6).near().lists()};
  std::swap(probe.lists->after.peers.front(), probe.lists->after.peers.back());
  CHECK_THAT(why(from_peer(overlay_kind::probe, probe)), Catch::Contains("neighbour lists"));
  TreeResult result = result_of(envelope, world.at(7).self());
  result.lease = -1;
  CHECK_THAT(why(from_peer(overlay_kind::result, result)), Catch::Contains("are invalid"));
  result.lease = std::nan("");
  CHECK_THAT(why(from_peer(overlay_kind::result, result)), Catch::Contains("are invalid"));
  result.lease = 1;
  result.settled = uint64_t{1} << 60;
  CHECK_THAT(why(from_peer(overlay_kind::result, result)), Catch::Contains("has not sent"));
  TreeReport report = report_of(envelope);
  report.lease = kForever;
  CHECK_THAT(why(from_peer(overlay_kind::report, report)), Catch::Contains("are invalid"));
  // A reply without a request changes nothing.
  CHECK(why(from_peer(overlay_kind::found, Found{envelope, {}, {}, {}, {}, 0})) == "taken");
}
