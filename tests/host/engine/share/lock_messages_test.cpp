#include "host/engine/share/lock_messages.hpp"

#include "host/engine/share/event_messages.hpp"
#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/test.hpp"

namespace {

LockRequest sample_request() {
  return {7,
          "job.lua:3",
          {"\x02w",
           "\x01"
           "12345678"},
          {{{5, -9}, 2}, {{5, 10}, 2}}};
}

std::vector<PackedValue> sample_values() {
  return {{"h0", Blob::copy_of("first")}, {"", Blob()}, {"h2", Blob::copy_of(std::string(100, 'x'))}};
}

Frame with_meta(Frame frame, std::string_view meta) {
  frame.meta = SmallBytes(meta);
  return frame;
}

}  // namespace

TEST_CASE("messages about locks survive encoding and decoding") {
  const auto frame = required(sample_request().frame(4, 2));
  CHECK(frame->kind == lock_kind::request);
  CHECK(frame->dst == courier_address(2));
  CHECK(frame->tag == 4);
  const auto request = required(read_message<LockRequest>(*frame));
  CHECK(request->epoch == 7);
  CHECK(request->where == "job.lua:3");
  CHECK(request->keys == sample_request().keys);
  REQUIRE(request->parts.size() == 2);
  CHECK(request->parts[0].part.id == -9);
  CHECK(request->parts[1].owner == 2);

  const auto granted = required(granted_frame({3, 4}, sample_values()));
  CHECK(granted->dst == worker_address(3));
  const auto values = required(read_granted(*granted));
  REQUIRE(values->size() == 3);
  CHECK(values->at(0).body.view() == "first");
  CHECK(values->at(1).body.empty());
  CHECK(values->at(2).head == "h2");
  CHECK(values->at(2).body.view() == std::string(100, 'x'));

  SharedWrites writes;
  for (uint32_t i = 0; const PackedValue& value : sample_values()) writes.emplace_back(2 * i++, value);
  const auto released = required(release_frame(4, 2, writes));
  const auto back = required(read_release(*released));
  REQUIRE(back->size() == 3);
  CHECK(back->at(2).first == 4);
  CHECK(back->at(2).second.body.view() == std::string(100, 'x'));

  const std::vector<LockTable::Blocker> blockers = {{1, "a.lua:1", true}, {2, "b.lua:2", false}};
  CHECK(read_message<LockWithdrawn>(LockWithdrawn{blockers}.frame({3, 4})).value().blockers == blockers);
  const Error error = error_of(message_frame(lock_kind::refused, 3, 4, ErrorMessage{{Code::bad_argument, "no"}}));
  CHECK(error.code == Code::bad_argument);
  CHECK(error.message == "no");
}

TEST_CASE("the bytes of a single value are not copied into the frame") {
  const Blob body = Blob::copy_of("bytes");
  const auto granted = required(granted_frame({3, 4}, {{"h", body}}));
  CHECK(read_granted(*granted)->at(0).body.data() == body.data());
}

TEST_CASE("an oversized message is refused by its sender") {
  LockRequest request = sample_request();
  request.keys.assign(2000, std::string(4000, 'k'));
  const auto frame = request.frame(1, 0);
  CHECK(failure_of(frame).code == Code::bad_argument);
}

TEST_CASE("hostile messages about locks and events are refused or decoded, without other effects") {
  const uint64_t seed = 0x10c5;
  INFO("seed " << seed);
  const Frame request = *sample_request().frame(4, 2);
  CHECK(test::feed_hostile(request.meta.view(), seed, 5000, [&](std::string_view bytes) {
          return read_message<LockRequest>(with_meta(request, bytes)).ok();
        }) > 0);
  const Frame granted = *granted_frame({3, 4}, sample_values());
  CHECK(test::feed_hostile(granted.meta.view(), seed, 5000, [&](std::string_view bytes) {
          const auto values = read_granted(with_meta(granted, bytes));
          for (size_t i = 0; values && i < values->size(); ++i) {
            REQUIRE(values->at(i).body.size() <= granted.body.size());
          }
          return values.ok();
        }) > 0);
  const Frame released = *release_frame(4, 2, {{0, sample_values()[0]}, {1, sample_values()[2]}});
  CHECK(test::feed_hostile(released.meta.view(), seed, 5000,
                           [&](std::string_view bytes) { return read_release(with_meta(released, bytes)).ok(); }) > 0);
  const Frame withdrawn = LockWithdrawn{{{1, "a.lua:1", true}}}.frame({3, 4});
  CHECK(test::feed_hostile(withdrawn.meta.view(), seed, 5000, [&](std::string_view bytes) {
          return read_message<LockWithdrawn>(with_meta(withdrawn, bytes)).ok();
        }) > 0);
  const Frame refused = message_frame(lock_kind::refused, 3, 4, ErrorMessage{{Code::timeout, "late"}});
  test::feed_hostile(refused.meta.view(), seed, 5000,
                     [&](std::string_view bytes) { return error_of(with_meta(refused, bytes)).code == Code::timeout; });
  const Frame event = *EventMessage{"slice", {"head", Blob::copy_of("x")}}.frame(1);
  CHECK(test::feed_hostile(event.meta.view(), seed, 5000, [&](std::string_view bytes) {
          return read_message<EventMessage>(with_meta(event, bytes)).ok();
        }) > 0);
}
