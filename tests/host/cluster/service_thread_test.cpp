#include "host/cluster/service_thread.hpp"

#include "tests/host/cluster/test_process.hpp"
#include "tests/test.hpp"

namespace {

/// Sends each frame back with its tag one higher, and counts its calls.
class Echo final : public ServiceTask {
 public:
  explicit Echo(ServiceThread& courier) : courier_(courier) { courier.add(kinds_of(Kind::test), *this); }

  void on_frame(Frame&& frame, double /*now*/) override {
    frame.dst = frame.src;
    ++frame.tag;
    courier_.send(std::move(frame));
  }
  void on_membership(const MembershipPtr& membership, double /*now*/) override { size = membership->size(); }
  double tick(double now) override {
    if (now >= next.load()) {
      ++ticks;
      next = kForever;
    }
    return next;
  }

  std::atomic<uint32_t> size{0};
  std::atomic<double> next{kForever};
  std::atomic<int> ticks{0};

 private:
  ServiceThread& courier_;
};

struct ServicePlace {
  explicit ServicePlace(TestProcess& process)
      : courier(*process.cluster, process.clock, process.log, courier_address(process.cluster->process())),
        echo(courier) {
    courier.start();
  }
  ~ServicePlace() { courier.stop(); }
  ServiceThread courier;
  Echo echo;
};

bool soon(const Clock& clock, const std::function<bool()>& done) {
  const double deadline = clock.now() + kPatience;
  while (!done() && clock.now() < deadline) std::this_thread::yield();
  return done();
}

}  // namespace

TEST_CASE("a courier replies to nodes of its own and of other processes while its nodes are busy") {
  TestRun run("tcp", {2, 1, 1});
  std::vector<std::unique_ptr<ServicePlace>> places;
  for (TestProcess* process : run.all) places.push_back(std::make_unique<ServicePlace>(*process));
  std::atomic<int> right{0};
  run.everywhere([&](Node& node) {
    for (ProcessId to = 0; to < 3; ++to) {
      const std::array<Address, 1> from = {courier_address(to)};
      for (uint32_t tag = 1; tag <= 20; ++tag) {
        (void)node.port().send(make_frame(Kind::test, 0, from[0], tag));
        const auto match = [&](const Frame& frame) { return frame.kind == Kind::test && frame.src == from[0]; };
        const auto got = node.receive(match, from, "echo", node.clock().now() + kPatience);
        if (got && got->tag == tag + 1) ++right;
      }
    }
  });
  CHECK(right == 4 * 3 * 20);
  for (const auto& place : places) CHECK(place->echo.size == 4);
}

TEST_CASE("a courier notifies its tasks of a membership change after a wake-up") {
  TestRun run("tcp", {1, 1, 1});
  ServicePlace place(*run.coordinator);
  REQUIRE(soon(run.coordinator->clock, [&] { return place.echo.size == 3; }));
  run.members[1]->vanish();
  REQUIRE(run.coordinator->wait_for_size(2));
  place.courier.wake();
  CHECK(soon(run.coordinator->clock, [&] { return place.echo.size == 2; }));
}

TEST_CASE("posted calls run on the courier's thread, and a tick runs at the requested time") {
  TestProcess process(1);
  ServicePlace place(process);
  std::atomic<int> done{0};
  std::thread::id thread;
  for (int i = 0; i < 3; ++i) {
    place.courier.post([&] {
      thread = std::this_thread::get_id();
      ++done;
    });
  }
  REQUIRE(soon(process.clock, [&] { return done == 3; }));
  CHECK(thread != std::this_thread::get_id());
  CHECK(place.echo.ticks == 0);
  place.courier.post([&] { place.echo.next = process.clock.now() + 0.01; });
  CHECK(soon(process.clock, [&] { return place.echo.ticks == 1; }));
}

TEST_CASE("frames whose receiver is full arrive in order once it reads again") {
  TestProcess process(1);
  ServicePlace place(process);
  Mailbox narrow(2);
  REQUIRE(process.cluster->transport().attach(worker_address(9), narrow).ok());
  constexpr uint32_t kFrames = 50;
  for (uint32_t tag = 0; tag < kFrames; ++tag) {
    place.courier.forward(make_frame(Kind::test, worker_address(0), worker_address(9), tag));
  }
  std::vector<Frame> got;
  const double deadline = process.clock.now() + kPatience;
  while (got.size() < kFrames && process.clock.now() < deadline) narrow.pop_all(got, 0.1);
  process.cluster->transport().detach(worker_address(9));
  REQUIRE(got.size() == kFrames);
  for (uint32_t tag = 0; tag < kFrames; ++tag) {
    CHECK(got[tag].tag == tag);
    CHECK(got[tag].src == worker_address(0));
  }
}
