#include "host/engine/param/param_messages.hpp"

#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

TEST_CASE("a hundred floats fit a frame without an allocation for its metadata") {
  EntryPacker packer(param_kind::push, server_address(0), 1, pack(PushHead{1, 2, false, false}));
  packer.add(key_of(1), tensor_of(std::vector<float>(100)));
  std::vector<Frame> frames;
  packer.finish(frames);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].meta.size() <= SmallBytes::kInline);
}

TEST_CASE("control messages survive encoding and decoding") {
  ParamSummary summary{7, 42, 1.5, "stop", 1, 2, 3, 4};
  CHECK(read_message<Stop>(message_frame(param_kind::stop, 3, 0, Stop{9, summary})).value().summary == summary);
  CHECK(read_message<Stop>(message_frame(param_kind::stop, 3, 0, Stop{9, summary})).value().run == 9);
  CHECK(read_message<Ready>(message_frame(param_kind::ready, server_address(0), 0, Ready{4})).value().run == 4);
  CHECK(read_message<CheckpointCut>(message_frame(param_kind::cut, server_address(1), 0, CheckpointCut{12}))
            .value()
            .number == 12);
  CHECK(read_message<Reject>(message_frame(param_kind::reject, 3, 0, Reject{4, 5, "no"})).value().message == "no");
  const Commit commit{3, {Combination::Kind::trimmed_mean, 2}, {{1, 2, 0.5}, {4, 5, 1}}};
  const Commit commit_back =
      read_message<Commit>(message_frame(param_kind::commit, server_address(1), 0, commit)).value();
  CHECK(commit_back.items == commit.items);
  CHECK(commit_back.combination == Combination{Combination::Kind::trimmed_mean, 2});
  const Discard sent{3, 4, Discard::Extent::rest, 5};
  const Discard discard = read_message<Discard>(message_frame(param_kind::discard, server_address(1), 0, sent)).value();
  CHECK((discard.worker == 4 && discard.extent == Discard::Extent::rest && discard.step == 5));
  CHECK(read_message<ShardReport>(message_frame(param_kind::report, server_address(0), 0, ShardReport{2, 3, "x"}))
            .value()
            .step == 3);
  const Error error = error_of(message_frame(param_kind::failed, 3, 8, ErrorMessage{{Code::timeout, "late"}}));
  CHECK((error.code == Code::timeout && error.message == "late"));
  const std::string task_bytes = pack(TaskHead{1, 2, true, false, true});
  Unpacker task(task_bytes);
  const TaskHead head = unpack_head<TaskHead>(task).value();
  CHECK((head.run == 1 && head.step == 2 && head.staged && !head.uncopied && head.local && !head.timed));
}

TEST_CASE("a push reports its working time only if the task requests it") {
  const std::string asking = pack(TaskHead{1, 2, false, false, false, true});
  Unpacker task(asking);
  CHECK(unpack_head<TaskHead>(task).value().timed);
  for (const bool timed : {false, true}) {
    const PushHead sent{7, 8, true, false, timed, 0.25};
    const std::string bytes = pack(sent);
    CHECK(bytes.size() == (timed ? 24 : 16));
    Unpacker in(bytes);
    const PushHead got = unpack_head<PushHead>(in).value();
    CHECK((got.run == 7 && got.step == 8 && got.staged && !got.uncopied && got.timed == timed && in.done()));
    if (timed) CHECK(got.seconds == 0.25);
    if (!timed) CHECK(std::isnan(got.seconds));
  }
  Unpacker cut(std::string_view(asking).substr(0, 12));
  CHECK_FALSE(unpack_head<PushHead>(cut).ok());
}

TEST_CASE("hostile control messages give bad data or harmless values") {
  const uint64_t seed = 20260301;
  CAPTURE(seed);
  const Commit commit{3, {Combination::Kind::sum, 0}, {{1, 2, 0.5}, {4, 5, 1}}};
  const Frame good = message_frame(param_kind::commit, server_address(1), 0, commit);
  const size_t refused = test::feed_hostile(good.meta.view(), seed, 20000, [](std::string_view bytes) {
    const Frame bad = make_frame(param_kind::commit, 3, server_address(0), 0, bytes);
    (void)read_message<Stop>(bad).ok();
    (void)read_message<Discard>(bad).ok();
    (void)read_message<Ready>(bad).ok();
    (void)read_message<ShardReport>(bad).ok();
    (void)error_of(bad);
    Unpacker head(bad.meta.view());
    (void)unpack_head<PushHead>(head).ok();
    return read_message<Commit>(bad).ok();
  });
  CHECK(refused > 5000);
}
