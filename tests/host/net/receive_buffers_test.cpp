#include "host/net/receive_buffers.hpp"

#include "tests/test.hpp"

namespace {

constexpr size_t kBytes = ReceiveBuffers::kMinBytes;
constexpr auto kOther = Kind{0x7f01};

Frame head_of(Kind kind, uint32_t tag, std::string_view meta) {
  Frame frame;
  frame.kind = kind;
  frame.tag = tag;
  frame.meta = SmallBytes(meta);
  return frame;
}

}  // namespace

TEST_CASE("an expected body gets its destination once") {
  ReceiveBuffers receive_buffers;
  const int me = 0;
  Blob room = Blob::allocate(kBytes);
  receive_buffers.expect(&me, Kind::test, 3, "route", room);
  CHECK(receive_buffers.take(head_of(Kind::test, 4, "route"), kBytes).empty());
  CHECK(receive_buffers.take(head_of(kOther, 3, "route"), kBytes).empty());
  CHECK(receive_buffers.take(head_of(Kind::test, 3, "rout"), kBytes).empty());
  CHECK(receive_buffers.take(head_of(Kind::test, 3, "Route"), kBytes).empty());
  CHECK(receive_buffers.take(head_of(Kind::test, 3, "route"), kBytes + 1).empty());
  CHECK(receive_buffers.size() == 1);
  CHECK(receive_buffers.take(head_of(Kind::test, 3, "route and more"), kBytes).data() == room.data());
  CHECK(receive_buffers.take(head_of(Kind::test, 3, "route and more"), kBytes).empty());
  CHECK(receive_buffers.size() == 0);
  CHECK(room.unique());
}

TEST_CASE("forget withdraws only the destinations of one owner") {
  ReceiveBuffers receive_buffers;
  const int me = 0;
  const int other = 0;
  Blob mine = Blob::allocate(2 * kBytes);
  const Blob theirs = Blob::allocate(kBytes);
  receive_buffers.expect(&me, Kind::test, 1, "a", mine.slice(0, kBytes));
  receive_buffers.expect(&other, Kind::test, 1, "b", theirs);
  receive_buffers.expect(&me, Kind::test, 2, "a", mine.slice(kBytes, kBytes));
  receive_buffers.forget(&me);
  CHECK(mine.unique());
  CHECK(receive_buffers.size() == 1);
  CHECK(receive_buffers.take(head_of(Kind::test, 1, "b"), kBytes).data() == theirs.data());
  receive_buffers.forget(&other);
}

TEST_CASE("small bodies are not expected") {
  ReceiveBuffers receive_buffers;
  receive_buffers.expect(&receive_buffers, Kind::test, 1, "a", Blob::allocate(kBytes - 1));
  CHECK(receive_buffers.size() == 0);
}
