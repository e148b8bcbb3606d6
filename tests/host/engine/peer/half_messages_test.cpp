// Peers fail between the frames of large messages. Afterwards no other peer holds any of their bytes. In this fixture
// frames share the bytes of their sender, so a value whose test owns its bytes alone is held by no peer.

#include "tests/host/engine/engine_values.hpp"
#include "tests/host/engine/peer/keys_world.hpp"
#include "tests/test.hpp"

namespace {

constexpr NodeId kReceiver = 2;
constexpr NodeId kSender = 3;
constexpr uint64_t kChunks = 4;

Blob zeros() {
  Blob bytes = Blob::allocate(kChunks * kChunkBytes);
  std::memset(bytes.data(), 0, bytes.size());
  return bytes;
}

ParamTensor tensor_with(const Blob& bytes) {
  return ParamTensor::whole({Dtype::f32, shape_of({kChunks * kChunkBytes / sizeof(float)})}, bytes);
}

/// A message from `from` to the receiver with a tensor of these bytes, one frame for each chunk.
template <typename M>
std::vector<Frame> message(KeysWorld& world, NodeId from, Kind kind, M head, const Blob& bytes, bool with_steps,
                           uint32_t tag = 7) {
  head.envelope = {world.at(from).overlay.self(), kReceiver};
  EntryPacker packer(kind, courier_address(kReceiver), tag, pack(head), with_steps);
  packer.add(key_of("large"), tensor_with(bytes));
  std::vector<Frame> frames;
  packer.finish(frames);
  for (Frame& frame : frames) frame.src = courier_address(from);
  return frames;
}

/// Feeds the receiver all frames but the last.
void feed_half(KeysWorld& world, std::vector<Frame> frames) {
  REQUIRE(frames.size() == kChunks);
  frames.pop_back();
  for (Frame& frame : frames) REQUIRE(world.at(kReceiver).keys.on_frame(std::move(frame), world.now()).ok());
}

/// `half(world, from, bytes)` feeds the receiver half a message of `from`.
template <typename Half>
void forgets_lost_senders(const Half& half) {
  KeysWorld world(5);
  world.bootstrap(5, 2);
  PeerKeys& keys = world.at(kReceiver).keys;
  const Blob lost = zeros();
  const Blob live = zeros();
  half(world, kSender, lost);
  half(world, kSender + 1, live);
  CHECK_FALSE(lost.unique());
  SECTION("its process is lost") { keys.lose_process(kSender, world.now()); }
  SECTION("the node has departed") {
    Frame departed = message_frame(peer_kind::departed, courier_address(kReceiver), 0,
                                   Envelope{world.at(kSender).overlay.self(), kReceiver});
    departed.src = courier_address(kSender);
    REQUIRE(keys.on_frame(std::move(departed), world.now()).ok());
  }
  CHECK(lost.unique());
  CHECK_FALSE(live.unique());
}

}  // namespace

TEST_CASE("a leader drops half of a request when its sender is lost") {
  forgets_lost_senders([](KeysWorld& world, NodeId from, const Blob& bytes) {
    feed_half(world,
              message(world, from, peer_kind::request, KeyRequest{{}, KeyRequest::Type::set, 0, {}, 1}, bytes, true));
  });
}

TEST_CASE("a follower drops half of a write when its leader is lost") {
  forgets_lost_senders([](KeysWorld& world, NodeId from, const Blob& bytes) {
    feed_half(world, message(world, from, peer_kind::write,
                             Write{{}, {}, {}, {1, from}, 1, {KeyWrite::Type::set, from, 1}}, bytes, true));
  });
}

TEST_CASE("a node that copies keys drops half of a copy when its source is lost") {
  forgets_lost_senders([](KeysWorld& world, NodeId from, const Blob& bytes) {
    feed_half(world, message(world, from, peer_kind::copied, Copied{}, bytes, false));
  });
}

TEST_CASE("a later message ends a half message of the same sender") {
  KeysWorld world(6);
  world.bootstrap(5, 2);
  const Blob half = zeros();
  const Blob whole = zeros();
  const KeyRequest request{{}, KeyRequest::Type::set, 0, {}, 1};
  feed_half(world, message(world, kSender, peer_kind::request, request, half, true, 7));
  for (Frame& frame : message(world, kSender, peer_kind::request, request, whole, true, 8)) {
    REQUIRE(world.at(kReceiver).keys.on_frame(std::move(frame), world.now()).ok());
  }
  CHECK(half.unique());
}

TEST_CASE("peers hold no bytes of nodes that failed during large writes", "[deep]") {
  for_seeds(3, [](uint64_t seed) -> std::string {
    constexpr NodeId kStable = 4;
    constexpr int kRounds = 12;
    KeysWorld world(seed, {uniform_latency(0.5e-3, 1.5e-3), 0, 200e6}, 64 * kChunkBytes);
    world.bootstrap(kStable, 2);
    Rng rng(seed, 3);
    std::vector<Blob> sent;
    for (int round = 0; round < kRounds; ++round) {
      const NodeId node = kStable + static_cast<NodeId>(round);
      world.add(node, {0, 1});
      world.run(3);
      // The failing node is the writer, or it leads the key.
      NodeId writer = node;
      ParamKey key = key_of(static_cast<double>(round));
      if (rng.below(2) == 0) {
        writer = static_cast<NodeId>(rng.below(kStable));
        for (double name = 1000; world.at(node).keys.reconfiguration().leads(place_of(key)) == nullptr && name < 2000;
             ++name) {
          key = key_of(name);
        }
      }
      const Blob bytes = sent.emplace_back(zeros());
      world.at(writer).keys.client().set({{key, tensor_with(bytes), 0}}, 0, world.now(), [](const Status&) {});
      world.serve(writer);
      world.run(1e-3 * static_cast<double>(rng.below(80)));
      for (const NodeId other : world.nodes()) world.net.cut(node, other);
      world.kill(node, true);
      world.run(1);
    }
    world.run(200);  // longer than any request waits
    size_t held = 0;
    for (const Blob& bytes : sent) held += bytes.unique() ? 0 : 1;
    return held == 0 ? "" : "the bytes of " + std::to_string(held) + " values are still held";
  });
}
