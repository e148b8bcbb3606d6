// Bytes of a broken or hostile peer: each message is rejected with a reason or harmless, and the node continues.

#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/host/engine/peer/keys_world.hpp"
#include "tests/test.hpp"

namespace {

template <typename M>
Frame from_peer(Kind kind, const M& message) {
  return between_couriers(6, 5, kind, message);
}

}  // namespace

TEST_CASE("a truncated, changed or random message about keys is rejected or harmless") {
  const uint64_t seed = 61;
  INFO("seed " << seed);
  KeysWorld world(seed);
  world.bootstrap(8, 3);
  PeerKeys& keys = world.at(5).keys;
  const Envelope envelope{world.at(6).overlay.self(), 5};
  const Arc arc{world.at(7).overlay.self().id, world.at(6).overlay.self().id};
  const KeyGroup group{{3, 6}, {world.at(6).overlay.self(), world.at(5).overlay.self()}};
  KeyRange range{arc, group, true, {group}};
  range.next = group;
  KeyCopy copy;
  copy.exists = copy.stored = true;
  copy.taken = {{1, 7}};
  copy.staged = {{9, 2, {}, 1}};
  const KeyWrite write{KeyWrite::Type::pulled, 6, 4, {}, arc, {{"\2key", 1, 7}}};
  PushRule native;
  native.rule = UpdateRule::native({});
  const std::vector<Frame> good = {
      from_peer(peer_kind::request, KeyRequest{envelope, KeyRequest::Type::push, 8, native}),
      from_peer(peer_kind::reply, KeyReply{envelope, KeyReply::State::done}),
      from_peer(peer_kind::probe, envelope),
      from_peer(peer_kind::query, ArcQuery{envelope, arc}),
      from_peer(peer_kind::ranges, KnownRanges{envelope, false, {range}}),
      from_peer(peer_kind::claim, Claim{envelope, arc, {1, 6}, true, {7}}),
      from_peer(peer_kind::promise, KnownRanges{envelope, true, {range}}),
      from_peer(peer_kind::adopt, Adopt{envelope, arc, {{0, 6}, group.members}, {group}}),
      from_peer(peer_kind::adopted, Adopted{envelope}),
      from_peer(peer_kind::settle, Adopt{envelope, arc, {{0, 6}, group.members}, {}}),
      from_peer(peer_kind::settled, Settled{envelope}),
      from_peer(peer_kind::renew, Renew{envelope, arc, {1, 6}}),
      from_peer(peer_kind::renewed, Renew{envelope, arc, {1, 6}}),
      from_peer(peer_kind::write, Write{envelope, envelope.from, {}, {1, 6}, 1, write}),
      from_peer(peer_kind::written, Written{envelope, {1, 6}, 1}),
      from_peer(peer_kind::sums, ArcQuery{envelope, arc}),
      from_peer(peer_kind::summed, Summed{envelope, {1, 2}, {{"\2key", 3}}, {}}),
      from_peer(peer_kind::copy, CopyRequest{envelope, "\2key"}),
      from_peer(peer_kind::copied, Copied{envelope, copy}),
  };
  for (const Frame& frame : good) {
    INFO("kind " << static_cast<int>(frame.kind));
    const size_t refused = feed_hostile(frame.meta.view(), seed, 300, [&](std::string_view bytes) {
      return keys.on_frame(make_frame(frame.kind, frame.src, frame.dst, frame.tag, bytes), world.now()).ok();
    });
    CHECK(refused > 0);
  }
  world.serve(5);
  world.run(10);
  CHECK(keys.on_frame(Frame(good[3]), world.now())
            .ok());  // a peer's statements about terms are believed, so this may be everything
}
