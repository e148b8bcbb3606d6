#include "host/net/port.hpp"

#include "host/net/local_transport.hpp"
#include "tests/test.hpp"

namespace {

constexpr Kind kControl = Kind::cluster_first;
const SteadyClock steady;

Frame to(Address dst, uint32_t tag, Kind kind = Kind::test) {
  Frame frame;
  frame.kind = kind;
  frame.dst = dst;
  frame.tag = tag;
  return frame;
}

Port::Match tagged(uint32_t tag) {
  return [tag](const Frame& frame) { return frame.tag == tag; };
}

bool any(const Frame&) { return true; }

}  // namespace

TEST_CASE("a frame that no call has received yet is stored, in order") {
  LocalTransport transport;
  Port a(transport, 0, steady);
  Port b(transport, 1, steady);
  for (uint32_t tag : {1, 2, 3}) REQUIRE(a.send(to(1, tag)).ok());
  CHECK(b.receive(tagged(2)).value().tag == 2);
  CHECK(b.unreceived() == 2);
  CHECK(b.receive(any).value().tag == 1);
  const Frame last = b.receive(any).value();
  CHECK(last.tag == 3);
  CHECK(last.src == 0);
}

TEST_CASE("the timeout of a receive names its place") {
  LocalTransport transport;
  Port a(transport, 4, steady);
  const auto got = a.receive(any, steady.now() + 0.001);
  CHECK(failure_of(got).code == Code::timeout);
  CHECK(failure_of(got).message.find("worker 4") != std::string::npos);
}

TEST_CASE("a receive after its deadline still takes frames that have arrived") {
  LocalTransport transport;
  Port a(transport, 0, steady);
  REQUIRE(a.send(to(0, 5)).ok());
  CHECK(a.receive(any, 0).value().tag == 5);
}

TEST_CASE("receive_all takes every matching frame and leaves the others in order") {
  LocalTransport transport;
  Port a(transport, 0, steady);
  for (uint32_t tag = 0; tag < 10; ++tag) REQUIRE(a.send(to(0, tag)).ok());
  std::vector<Frame> even;
  REQUIRE(a.receive_all([](const Frame& f) { return f.tag % 2 == 0; }, kForever, even).ok());
  CHECK(even.size() == 5);
  for (uint32_t tag : {1, 3, 5, 7, 9}) CHECK(a.receive(any).value().tag == tag);
  even.clear();
  CHECK(a.receive_all(any, steady.now() + 0.001, even).ok());
  CHECK(even.empty());
}

TEST_CASE("check runs before a wait and after a wake, and its error ends the wait") {
  LocalTransport transport;
  Port a(transport, 0, steady);
  std::atomic<bool> stop{false};
  std::atomic<int> checks{0};
  a.set_check([&]() -> Status {
    ++checks;
    if (stop) return Error{Code::interrupted, "stop"};
    return {};
  });
  std::thread other([&] {
    while (checks == 0) std::this_thread::yield();
    stop = true;
    a.wake();
  });
  const auto got = a.receive(any);
  other.join();
  CHECK(failure_of(got).code == Code::interrupted);
}

TEST_CASE("two nodes that send each other more than fits do not deadlock") {
  LocalTransport transport;
  constexpr uint32_t kFrames = 200000;  // three times the bound of a mailbox
  const auto node = [&](Address self, Address peer) {
    Port port(transport, self, steady);
    Status status = port.send(to(peer, 0), steady.now() + 1);
    while (!status.ok() && status.error().code == Code::peer_lost) status = port.send(to(peer, 0));
    for (uint32_t i = 1; i < kFrames && status.ok(); ++i) status = port.send(to(peer, i), steady.now() + 30);
    uint32_t in_order = 0;
    while (status.ok() && in_order < kFrames) {
      auto got = port.receive(any, steady.now() + 30);
      if (!got.ok() || got->tag != in_order) break;
      ++in_order;
    }
    return in_order;
  };
  uint32_t from_b = 0;
  std::thread other([&] { from_b = node(1, 0); });
  const uint32_t from_a = node(0, 1);
  other.join();
  CHECK(from_a == kFrames);
  CHECK(from_b == kFrames);
}

TEST_CASE("closing the transport ends a wait") {
  LocalTransport transport;
  Port a(transport, 0, steady);
  std::thread other([&] { transport.close(); });
  const auto got = a.receive(any);
  other.join();
  CHECK(failure_of(got).code == Code::interrupted);
  CHECK(a.send(to(0, 1)).error().code == Code::interrupted);
}
