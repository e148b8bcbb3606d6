#include "tests/host/engine/share/courier_place.hpp"
#include "tests/test.hpp"

namespace {

EventMessage message(const std::string& name, uint32_t value) {
  return {name, {std::to_string(value), Blob::copy_of("body of " + std::to_string(value))}};
}

uint32_t event_number(const Event& event) { return static_cast<uint32_t>(std::stoul(event.value.head)); }

std::vector<NodeId> all_of(const Node& node) {
  std::vector<NodeId> ids;
  for (const Member& member : node.membership().workers()) ids.push_back(member.id);
  return ids;
}

}  // namespace

TEST_CASE("events arrive in order for each sender, by name and by sender, at every node") {
  for (const std::vector<uint32_t>& nodes : {std::vector<uint32_t>{3}, {2, 1, 1}}) {
    CourierRun run("tcp", nodes);
    std::atomic<int> wrong{0};
    run.run.everywhere([&](Node& node) {
      EventBox& box = run.events(node);
      const auto all = all_of(node);
      for (uint32_t i = 0; i < 100; ++i) {
        const auto got = box.send(all, message(i % 2 == 0 ? "even" : "odd", i));
        if (!got || *got != all.size() - 1) ++wrong;
      }
      for (const NodeId from : all) {
        if (from == node.index()) continue;
        for (uint32_t i = 1; i < 100; i += 2) {
          const auto event = box.wait({"odd", from});
          if (!event || event->from != from || event->name != "odd" || event_number(*event) != i) ++wrong;
        }
      }
      std::map<NodeId, uint32_t> next;
      for (size_t left = 50 * (all.size() - 1); left > 0; --left) {
        const auto event = box.wait({"even", {}});
        if (!event || event_number(*event) != std::exchange(next[event->from], event_number(*event) + 2)) ++wrong;
        if (event && event->value.body.view() != "body of " + event->value.head) ++wrong;
      }
      const auto none = box.get({});
      if (!none || none->has_value()) ++wrong;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("nodes that flood each other before they read make progress") {
  CourierRun run("tcp", {2, 1});
  constexpr uint32_t kEvents = 5 * EventBox::kWindowEvents;
  std::atomic<int> wrong{0};
  run.run.everywhere([&](Node& node) {
    EventBox& box = run.events(node);
    for (uint32_t i = 0; i < kEvents; ++i) {
      if (!box.send(all_of(node), message("flood", i))) ++wrong;
    }
    for (uint32_t i = 0; i < 2 * kEvents; ++i) {
      if (!box.wait({"flood", {}})) ++wrong;
    }
    if (box.size() != 0) ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("nodes that exchange big events make progress") {
  CourierRun run("tcp", {1, 1});
  std::atomic<int> wrong{0};
  const Blob big = Blob::copy_of(std::string(5 << 20, 'b'));
  run.run.everywhere([&](Node& node) {
    EventBox& box = run.events(node);
    for (int i = 0; i < 10; ++i) {
      if (!box.send(all_of(node), {"big", {"b", big}})) ++wrong;
    }
    for (int i = 0; i < 10; ++i) {
      const auto event = box.wait({});
      if (!event || event->value.body.size() != big.size()) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a sender waits for a node that does not read, and continues when the node reads") {
  for (const std::vector<uint32_t>& nodes : {std::vector<uint32_t>{2}, {1, 1}}) {
    CourierRun run("tcp", nodes);
    Node& sender = run.node(0);
    Node& receiver = nodes.size() == 1 ? run.node(0, 1) : run.node(1);
    EventBox& box = run.events(sender);
    for (uint32_t i = 0; i < EventBox::kWindowEvents; ++i) {
      REQUIRE(box.send({receiver.index()}, message("x", i)).ok());
    }
    const auto late = box.send({receiver.index()}, message("x", 0), sender.clock().now() + 0.02);
    CHECK(failure_of(late).code == Code::timeout);
    CHECK_THAT(failure_of(late).message, Contains("send_event: rank 1 has not accepted"));
    std::thread reader([&] {
      for (uint32_t i = 0; i < EventBox::kWindowEvents; ++i) {
        const auto event = run.events(receiver).wait({});
        if (!event || event_number(*event) != i) break;
      }
    });
    CHECK(box.send({receiver.index()}, message("x", 0), sender.clock().now() + kPatience).ok());
    reader.join();
    CHECK(run.events(receiver).wait({}).ok());
  }
}

TEST_CASE("a script that takes its events one by one lets its senders continue") {
  CourierRun run("tcp", {1, 1});
  constexpr uint32_t kEvents = 3 * EventBox::kWindowEvents;
  run.run.coordinator->launch([&](Node& node) {
    for (uint32_t i = 0; i < kEvents; ++i) (void)run.events(node).send({1}, message("x", i));
  });
  EventBox& box = run.events(run.node(1));
  const double deadline = run.node(1).clock().now() + kPatience;
  for (uint32_t i = 0; i < kEvents && run.node(1).clock().now() < deadline;) {
    const auto event = required(box.get({}));
    if (!*event) continue;
    REQUIRE(event_number(**event) == i++);
    REQUIRE(box.size() < 2 * EventBox::kWindowEvents);  // bounded
  }
  run.run.join();
  CHECK(box.size() == 0);
}

TEST_CASE("a wait for a failed sender ends when its events have been taken") {
  CourierRun run("tcp", {1, 1, 1});
  REQUIRE(run.events(run.node(2)).send({0}, message("x", 1)).ok());
  run.run.coordinator->launch([&](Node& node) {
    const EventBox::Filter from_2{"x", 2};
    CHECK(run.events(node).wait(from_2).ok());
    const auto lost = run.events(node).wait(from_2);
    CHECK(failure_of(lost).code == Code::peer_lost);
    CHECK(failure_of(lost).message == "wait_event: rank 2 lost while waiting for 'x'");
  });
  run.lose(2);
  run.run.join();
  const auto late = run.events(run.node(0)).wait({"y", {}}, run.node(0).clock().now() + 0.01);
  CHECK(late.error().code == Code::timeout);
  CHECK(late.error().message == "wait_event: timed out while waiting for 'y'");
  CHECK(run.events(run.node(0)).send({1, 2}, message("x", 2)).value() == 1);
}

TEST_CASE("a wait without a sender ends when every other worker has failed or ended", "[deep]") {
  CourierRun run("tcp", {2, 1});
  run.run.coordinator->cluster->report_ended(1, 0);
  Error error;
  std::thread waiter([&] { error = run.events(run.node(0)).wait({}).error(); });
  run.lose(1);
  waiter.join();
  CHECK(error.code == Code::peer_lost);
  CHECK(error.message == "wait_event: every other worker has come to the end of its script while waiting for an event");
  // The same for a sender to an ended node, which accepts no more events.
  EventBox& box = run.events(run.node(0));
  size_t sent = 0;
  for (uint32_t i = 0; i <= EventBox::kWindowEvents; ++i) sent += box.send({1}, message("x", i)).value();
  CHECK(sent == EventBox::kWindowEvents);
}

TEST_CASE("a single node has its own events, and waits for no other node's") {
  CourierRun run("tcp", {1});
  EventBox& box = run.events(run.node(0));
  box.put("mine", {"1", {}});
  box.put("other", {"2", {}});
  CHECK(event_number(*box.wait({"other", {}})) == 2);
  CHECK(event_number(*box.wait({{}, 0})) == 1);
  const auto none = box.wait({});
  CHECK(failure_of(none).code == Code::peer_lost);
  CHECK_THAT(failure_of(none).message, Contains("no other worker is left to send it"));
  CHECK(box.send({0}, message("x", 1)).value() == 0);
}
