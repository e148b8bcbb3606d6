// Malformed frames for every engine: the receiver logs them with the sender's rank and closes the link, so the sender
// fails and no node waits for it.

#include "host/engine/average/average_messages.hpp"
#include "host/engine/share/event_messages.hpp"
#include "host/engine/share/lock_messages.hpp"
#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/host/engine/share/courier_place.hpp"
#include "tests/test.hpp"

namespace {

constexpr std::string_view kNonsense = "nonsense!";

/// Sends a frame from the worker of host `from` to the worker of host `to`, like its script's thread.
void send_to_worker(CourierRun& run, uint32_t from, uint32_t to, Kind kind) {
  const auto sent =
      run.node(from).port().send(make_frame(kind, worker_address(from), worker_address(to), 1, kNonsense));
  CHECK(sent.ok());
}

/// Sends a frame of a worker or a courier of host `from` to the courier of host `to`.
void send_to_courier(CourierRun& run, uint32_t from, Address as, uint32_t to, Kind kind) {
  run.places[from]->courier.forward(make_frame(kind, as, courier_address(to), 1, kNonsense));
}

}  // namespace

TEST_CASE("a malformed message for a courier is logged with its sender's rank and costs the sender its link") {
  struct Message {
    std::string description;
    Kind kind;
    bool of_worker = false;
  };
  const std::vector<Message> messages = {{"it names no call", Kind{collective_kind::announce}},
                                         {"malformed appeal of a collective", Kind{arbiter_kind::appeal}},
                                         {"malformed verdict of a collective", Kind{arbiter_kind::verdict}},
                                         {"malformed report of an average", Kind{average_kind::report}},
                                         {"malformed lock message", Kind{lock_kind::request}, true},
                                         {"malformed release message", Kind{lock_kind::release}, true}};
  for (const Message& message : messages) {
    INFO(message.description);
    CourierRun run("tcp", {1, 1});
    send_to_courier(run, 1, message.of_worker ? worker_address(1) : courier_address(1), 0, message.kind);
    CHECK(run.run.coordinator->wait_for_log("closed the connection to member101"));
    CHECK(run.run.coordinator->logged("from rank 1 is wrong: "));
    CHECK(run.run.coordinator->wait_for_size(1));
  }
}

TEST_CASE("a malformed message of a blocking collective is logged with its sender's rank, and the call loses it") {
  for (const bool short_of_a_route : {true, false}) {
    CourierRun run("tcp", {1, 1});
    std::optional<Status> ended;
    run.run.all[0]->launch([&](Node& node) {
      Meetings meetings;
      Caller caller(node, meetings, run.place_of(node).arbiter);
      ended = caller.barrier("job.lua:1");
    });
    if (short_of_a_route) {
      send_to_worker(run, 1, 0, collective_kind::announce);
    } else {
      CHECK(run.node(1)
                .port()
                .send(make_frame(collective_kind::announce, worker_address(1), worker_address(0), 1,
                                 pack(Route{0, 1, 0})))
                .ok());
    }
    CHECK(run.run.coordinator->wait_for_log("from rank 1 is wrong: its fields do not fill it exactly"));
    run.run.all[0]->join();
    REQUIRE(ended);
    REQUIRE_FALSE(ended->ok());
    CHECK(ended->error().message == "barrier: rank 1 lost");
  }
}

TEST_CASE("a malformed event is logged with its sender's rank and costs the sender its link") {
  for (const Kind kind : {event_kind::event, event_kind::window_update}) {
    CourierRun run("tcp", {1, 1});
    send_to_worker(run, 1, 0, kind);
    run.run.all[0]->launch([&](Node& node) {
      std::vector<Frame> none;
      (void)node.receive_all([](const Frame&) { return false; }, node.clock().now() + kPatience, none,
                             node.cluster().news());
    });
    CHECK(run.run.coordinator->wait_for_log("from rank 1 is wrong: its fields do not fill it exactly"));
    CHECK(run.run.coordinator->wait_for_size(1));
  }
}

TEST_CASE("a malformed message between two members is logged by its receiver and costs them their link") {
  CourierRun run("tcp", {1, 1, 1});
  send_to_courier(run, 2, courier_address(2), 1, arbiter_kind::appeal);
  CHECK(run.run.all[1]->wait_for_log("from rank 2 is wrong: its fields do not fill it exactly"));
  CHECK(run.run.all[2]->wait_for_log("no link to host 1"));
}

TEST_CASE("an owner's malformed reply to a lock is logged with its rank, and the requesting node does not use it") {
  CourierRun run("tcp", {1, 1});
  LockClient::Wanted wanted;
  wanted.name = "ids of table 1";
  wanted.parts.push_back({{1, 0}, 0});
  wanted.where = "job.lua:7";
  run.places[0]->locks.publish({1, 0}, 0, {"int", Blob::copy_of("12345678", 8)});
  REQUIRE(run.locks(run.node(0)).lock(wanted).ok());
  bool granted = true;
  run.run.all[1]->launch([&](Node& node) { granted = run.locks(node).lock(wanted).ok(); });
  while (!run.places[0]->locks.waits({worker_address(1), 1})) std::this_thread::yield();
  Frame reply = make_frame(lock_kind::granted, courier_address(0), worker_address(1), 1, kNonsense);
  run.places[0]->courier.forward(std::move(reply));
  CHECK(run.run.all[1]->wait_for_log("from rank 0 is wrong: its fields do not fill it exactly"));
  run.run.all[1]->join();
  CHECK_FALSE(granted);
}
