#include "host/net/mailbox.hpp"

#include "tests/test.hpp"

using Put = Mailbox::Put;

namespace {

Frame numbered(uint32_t tag, size_t body = 0) {
  Frame frame;
  frame.tag = tag;
  if (body != 0) frame.body = Blob::allocate(body);
  return frame;
}

}  // namespace

TEST_CASE("a mailbox returns all frames at once, in order") {
  Mailbox box;
  for (uint32_t i = 0; i < 10; ++i) REQUIRE(box.try_push(numbered(i)) == Put::ok);
  std::vector<Frame> out;
  REQUIRE(box.pop_all(out, 0));
  REQUIRE(out.size() == 10);
  for (uint32_t i = 0; i < 10; ++i) CHECK(out[i].tag == i);
  CHECK_FALSE(box.pop_all(out, 0));
}

TEST_CASE("popped frames are appended to the frames that the reader already has") {
  Mailbox box;
  std::vector<Frame> out;
  out.push_back(numbered(7));
  REQUIRE(box.try_push(numbered(8)) == Put::ok);
  REQUIRE(box.pop_all(out, 0));
  REQUIRE(out.size() == 2);
  CHECK(out[0].tag == 7);
  CHECK(out[1].tag == 8);
}

TEST_CASE("a mailbox is bounded by frames and leaves a refused frame with the caller") {
  Mailbox box(2, 1000);
  REQUIRE(box.try_push(numbered(1)) == Put::ok);
  REQUIRE(box.try_push(numbered(2)) == Put::ok);
  Frame third = numbered(3, 64);
  CHECK(box.try_push(std::move(third)) == Put::full);
  CHECK(third.body.size() == 64);
  CHECK(box.push_urgent(numbered(4)) == Put::ok);
  CHECK(box.frames() == 3);
}

TEST_CASE("even urgent frames have a bound") {
  Mailbox box(2, 100000);
  size_t taken = 0;
  while (taken < 100 && box.push_urgent(numbered(0)) == Put::ok) ++taken;
  CHECK(taken == 8);
}

TEST_CASE("a mailbox is bounded by bytes and takes a frame over the bound when it is empty") {
  Mailbox box(100, 1000);
  REQUIRE(box.try_push(numbered(1, 5000)) == Put::ok);
  CHECK(box.try_push(numbered(2)) == Put::full);
  std::vector<Frame> out;
  REQUIRE(box.pop_all(out, 0));
  CHECK(box.bytes() == 0);
  CHECK(box.try_push(numbered(2)) == Put::ok);
}

TEST_CASE("a closed mailbox refuses frames and still returns its queued frames") {
  Mailbox box;
  REQUIRE(box.try_push(numbered(1)) == Put::ok);
  box.close();
  CHECK(box.try_push(numbered(2)) == Put::closed);
  CHECK(box.push(numbered(2), 10) == Put::closed);
  std::vector<Frame> out;
  CHECK(box.pop_all(out, kForever));
  CHECK_FALSE(box.pop_all(out, kForever));
}

TEST_CASE("waking ends the current or the next wait, once") {
  Mailbox box;
  box.wake();
  std::vector<Frame> out;
  CHECK_FALSE(box.pop_all(out, kForever));
  std::thread other([&] { box.wake(); });
  CHECK_FALSE(box.pop_all(out, kForever));
  other.join();
}

TEST_CASE("closing ends the wait of a reader and of a writer") {
  Mailbox box(1);
  Mailbox full(1);
  REQUIRE(full.try_push(numbered(1)) == Put::ok);
  bool got = true;
  Put put = Put::ok;
  std::thread reader([&] {
    std::vector<Frame> out;
    got = box.pop_all(out, kForever);
  });
  std::thread writer([&] { put = full.push(numbered(2), kForever); });
  box.close();
  full.close();
  reader.join();
  writer.join();
  CHECK_FALSE(got);
  CHECK(put == Put::closed);
}

TEST_CASE("a writer that waits for room gives up at its deadline") {
  Mailbox box(1);
  REQUIRE(box.try_push(numbered(1)) == Put::ok);
  CHECK(box.push(numbered(2), 0.001) == Put::full);
}

TEST_CASE("a room callback runs once, when the reader has emptied the queue or the mailbox closes") {
  Mailbox box(1);
  int calls = 0;
  box.when_room([&] { ++calls; });
  CHECK(calls == 1);
  REQUIRE(box.try_push(numbered(1)) == Put::ok);
  box.when_room([&] { ++calls; });
  CHECK(calls == 1);
  std::vector<Frame> out;
  REQUIRE(box.pop_all(out, 0));
  CHECK(calls == 2);
  REQUIRE(box.try_push(numbered(1)) == Put::ok);
  box.when_room([&] { ++calls; });
  box.close();
  CHECK(calls == 3);
}

TEST_CASE("several writers into a small mailbox lose and duplicate no frame") {
  Mailbox box(16);
  constexpr uint32_t kWriters = 3;
  constexpr uint32_t kEach = 5000;
  std::vector<std::thread> writers;
  for (uint32_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&box, w] {
      for (uint32_t i = 0; i < kEach; ++i) {
        Frame frame = numbered(i);
        frame.src = w;
        if (box.push(std::move(frame), kForever) != Put::ok) return;
      }
    });
  }
  std::vector<uint32_t> next(kWriters, 0);
  bool ordered = true;
  for (uint32_t got = 0; got < kWriters * kEach;) {
    std::vector<Frame> out;
    box.pop_all(out, kForever);
    for (const Frame& frame : out) ordered = ordered && frame.tag == next.at(frame.src)++;
    got += static_cast<uint32_t>(out.size());
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(ordered);
  CHECK(next == std::vector<uint32_t>(kWriters, kEach));
}

TEST_CASE("an armed bell of a mailbox rings for each event that ends a wait") {
  Mailbox box;
  std::vector<Frame> out;
  const uint32_t before = box.bell().count();
  REQUIRE(box.try_push(numbered(1)) == Put::ok);
  CHECK_FALSE(box.arm_bell());  // it is ready
  CHECK(box.pop_all(out, 0));
  CHECK(box.bell().count() == before);

  REQUIRE(box.arm_bell());
  REQUIRE(box.try_push(numbered(2)) == Put::ok);
  REQUIRE(box.try_push(numbered(3)) == Put::ok);
  CHECK(box.bell().count() == before + 1);  // the reader needs one
  box.disarm_bell();
  CHECK(box.pop_all(out, 0));

  REQUIRE(box.arm_bell());
  box.wake();
  CHECK(box.bell().count() == before + 2);
  CHECK_FALSE(box.arm_bell());
  CHECK_FALSE(box.pop_all(out, 1));  // the wake-up ends this wait
  REQUIRE(box.arm_bell());
  box.disarm_bell();
  REQUIRE(box.push(numbered(4), 0) == Put::ok);
  CHECK(box.bell().count() == before + 2);
  CHECK(box.pop_all(out, 0));

  REQUIRE(box.arm_bell());
  box.close();
  CHECK(box.bell().count() == before + 3);
}
