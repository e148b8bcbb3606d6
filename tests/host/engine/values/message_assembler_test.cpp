#include "host/engine/values/message_assembler.hpp"

#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

namespace {

using WholeEntries = std::optional<std::vector<ParamEntry>>;

/// A message in three frames, one for each chunk of the tensor under this key.
std::vector<Frame> three_frames(const char* key, uint32_t tag) {
  EntryPacker packer(Kind::param_first, 3, tag, "");
  packer.add(key_of(key), tensor_of(std::vector<float>(3 * kChunkBytes / sizeof(float))));
  std::vector<Frame> frames;
  packer.finish(frames);
  REQUIRE(frames.size() == 3);
  return frames;
}

Result<WholeEntries> add(MessageAssembler<NodeId>& messages, NodeId sender, Frame frame) {
  Unpacker in(frame.meta.view());
  return messages.add(sender, frame, in, false);
}

}  // namespace

TEST_CASE("a message is whole with its last frame, beside messages of other senders and tags") {
  MessageAssembler<NodeId> messages;
  const std::vector<Frame> a = three_frames("a", 1);
  const std::vector<Frame> b = three_frames("b", 2);
  const std::vector<Frame> c = three_frames("c", 1);
  for (size_t i = 0; i < 2; ++i) {
    CHECK_FALSE(add(messages, 5, a[i]).value());
    CHECK_FALSE(add(messages, 5, b[i]).value());
    CHECK_FALSE(add(messages, 6, c[i]).value());
  }
  for (const auto& [sender, frame, key] :
       {std::tuple(NodeId{5}, &a[2], "a"), std::tuple(NodeId{5}, &b[2], "b"), std::tuple(NodeId{6}, &c[2], "c")}) {
    const WholeEntries whole = add(messages, sender, *frame).value();
    REQUIRE(whole);
    REQUIRE(whole->size() == 3);
    for (const ParamEntry& entry : *whole) CHECK(entry.key == key_of(key));
  }
  const WholeEntries next = add(messages, 5, three_frames("d", 3)[2]).value();
  REQUIRE(next);
  CHECK(next->size() == 1);
}

TEST_CASE("a malformed frame drops its message") {
  MessageAssembler<NodeId> messages;
  std::vector<Frame> frames = three_frames("a", 1);
  CHECK_FALSE(add(messages, 5, frames[0]).value());
  frames[1].body = {};
  CHECK(failure_of(add(messages, 5, frames[1])).code == Code::bad_data);
  CHECK(add(messages, 5, frames[2]).value()->size() == 1);
}

TEST_CASE("half messages are dropped when their sender is lost or its later message is whole") {
  MessageAssembler<NodeId> messages;
  const auto half = [&](NodeId sender, uint32_t tag) {
    Frame first = three_frames("a", tag)[0];
    Blob body = first.body;
    CHECK_FALSE(add(messages, sender, std::move(first)).value());
    CHECK_FALSE(body.unique());
    return body;
  };
  const Blob lost = half(5, 1);
  const Blob live = half(6, 1);
  const Blob earlier = half(7, 1);
  const Blob later = half(7, 9);
  messages.forget([](NodeId sender) { return sender == 5; });
  CHECK(lost.unique());
  CHECK_FALSE(live.unique());
  for (const Frame& frame : three_frames("b", 8)) CHECK(add(messages, 7, frame).ok());
  CHECK(earlier.unique());
  CHECK_FALSE(later.unique());
}
