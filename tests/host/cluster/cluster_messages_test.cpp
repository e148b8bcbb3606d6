#include "host/cluster/cluster_messages.hpp"

#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/test.hpp"

namespace {

JoinMessage sample_join() {
  JoinMessage m{.run_id = "run-1",
                .job_name = "job.lua",
                .job_hash = 0xfeedULL,
                .host = "alpha:4711",
                .url = "tcp://10.0.0.7:40112",
                .group = 0x123456789abcULL,
                .group_size = 3,
                .group_index = 2,
                .node_rank = -1,
                .nodes = 8,
                .settings = {{"barrier", "ssp:4"}, {"seed", "7"}}};
  return m;
}

WelcomeMessage sample_welcome() { return {5, "run-1", "job.lua", 77, {{"seed", "9"}}, {"a", "", "b c"}}; }

AttachMessage sample_attach() {
  return {3,
          1,
          5,
          sample_join(),
          {{6, 2, false}, {7, 3, true, true}},
          {Membership(9, {{6, 3}, {7, 3}}, {{3, "h", "tcp://h:1"}}, 8)}};
}

std::vector<Whereabouts> sample_whereabouts() {
  return {{0, 3, false, true, "param.run", "job.lua:12"},
          {4, 2, true, false, "", "", {7, "barrier at job.lua:3", {0, 9}, 2}}};
}

/// Hostile bytes for one kind of message: each accepted message must encode and decode again.
template <typename Message>
void survive(const Message& good, uint64_t seed) {
  INFO("seed " << seed);
  const size_t refused = test::feed_hostile(pack(good), seed, 3000, [](std::string_view bytes) {
    auto message = unpack<Message>(bytes);
    if (!message) {
      REQUIRE(message.error().code == Code::bad_data);
      return false;
    }
    REQUIRE(unpack<Message>(pack(*message)).ok());
    return true;
  });
  CHECK(refused > 1000);
  REQUIRE(unpack<Message>(pack(good)).ok());
  CHECK(pack(*unpack<Message>(pack(good))) == pack(good));
  CHECK_FALSE(unpack<Message>(pack(good) + "x").ok());
}

}  // namespace

TEST_CASE("a join message arrives as it was sent") {
  const auto m = required(unpack<JoinMessage>(pack(sample_join())));
  CHECK(m->run_id == "run-1");
  CHECK(m->job_name == "job.lua");
  CHECK(m->job_hash == 0xfeedULL);
  CHECK(m->host == "alpha:4711");
  CHECK(m->url == "tcp://10.0.0.7:40112");
  CHECK(m->group == 0x123456789abcULL);
  CHECK(m->group_size == 3);
  CHECK(m->group_index == 2);
  CHECK(m->node_rank == -1);
  CHECK(m->nodes == 8);
  CHECK(m->settings == sample_join().settings);
}

TEST_CASE("an attach message arrives as it was sent") {
  const auto m =
      required(read_message<AttachMessage>(message_frame(cluster_kind::attach, kNoAddress, 0, sample_attach())));
  CHECK((m->process == 3 && m->lost == 1));
  REQUIRE(m->tables.size() == 1);
  CHECK((m->tables[0].epoch() == 9 && m->tables[0].home_of(7) == 3));
  CHECK(m->self.url == sample_join().url);
  REQUIRE(m->workers.size() == 2);
  CHECK((m->workers[1].id == 7 && m->workers[1].actions == 3 && m->workers[1].ended && m->workers[1].left));
  const auto renewal = required(unpack<LeaseRenewal>(pack(LeaseRenewal{7, 6, 1.5, 9})));
  CHECK((renewal->number == 7 && renewal->acknowledged == 6 && renewal->lease == 1.5 && renewal->epoch == 9));
  const auto place = required(unpack<RedirectMessage>(pack(RedirectMessage{"tcp://h:1"})));
  CHECK(place->url == "tcp://h:1");
}

TEST_CASE("a welcome message arrives as it was sent") {
  const auto m = required(unpack<WelcomeMessage>(pack(sample_welcome())));
  CHECK(m->process == 5);
  CHECK(m->run_id == "run-1");
  CHECK(m->job_name == "job.lua");
  CHECK(m->job_hash == 77);
  CHECK(m->settings == sample_welcome().settings);
  CHECK(m->args == sample_welcome().args);
}

TEST_CASE("the short messages arrive as they were sent") {
  const auto end =
      required(unpack<EndMessage>(pack(EndMessage{Code::script, false, "rank 1: boom", worker_address(1)})));
  CHECK(end->code == Code::script);
  CHECK_FALSE(end->ok);
  CHECK(end->message == "rank 1: boom");
  CHECK(end->origin == worker_address(1));
  const auto enter = required(unpack<ActionEnter>(pack(ActionEnter{"param.run", "job.lua:3"})));
  CHECK(enter->kind == "param.run");
  CHECK(enter->where == "job.lua:3");
  const auto reply = required(unpack<ActionReply>(pack(ActionReply{true, true, Code::unsupported, "why"})));
  CHECK(reply->ok);
  CHECK(reply->replayed);
  CHECK(reply->code == Code::unsupported);
  CHECK(reply->message == "why");
  const auto find = required(unpack<ModuleFind>(pack(ModuleFind{"lib.rules", 99})));
  CHECK(find->name == "lib.rules");
  CHECK(find->hash == 99);
  const auto module = required(unpack<ModuleReply>(pack(ModuleReply{false, Code::refused, "rules.lua", "differs"})));
  CHECK_FALSE(module->ok);
  CHECK(module->code == Code::refused);
  CHECK(module->chunk == "rules.lua");
  CHECK(module->message == "differs");
}

TEST_CASE("whereabouts arrive as they were sent") {
  const auto list = required(unpack<std::vector<Whereabouts>>(pack(sample_whereabouts())));
  REQUIRE(list->size() == 2);
  CHECK(list->at(0).in_action);
  CHECK(list->at(0).kind == "param.run");
  CHECK(list->at(0).where == "job.lua:12");
  CHECK(list->at(1).id == 4);
  CHECK(list->at(1).actions == 2);
  CHECK(list->at(1).ended);
  CHECK(list->at(0).waiting.number == 0);
  CHECK(list->at(1).waiting.number == 7);
  CHECK(list->at(1).waiting.what == "barrier at job.lua:3");
  CHECK(list->at(1).waiting.absent == std::vector<NodeId>{0, 9});
  CHECK(list->at(1).waiting.reports == 2);
}

TEST_CASE("an error code of a later version is an internal error") {
  std::string bytes = pack(EndMessage{Code::script, false, "new", kNoAddress});
  bytes[0] = static_cast<char>(200);
  const auto end = required(unpack<EndMessage>(bytes));
  CHECK(end->code == Code::internal);
  CHECK_FALSE(end->ok);
}

TEST_CASE("texts that a script made too long are cut, so that the frame respects its limits") {
  const std::string huge(size_t{8} << 20, 'x');
  const FrameLimits limits;
  CHECK(pack(EndMessage{Code::script, false, huge, 0}).size() < limits.meta_bytes);
  CHECK(pack(ActionEnter{huge, huge}).size() < limits.meta_bytes);
  CHECK(pack(ActionReply{false, false, Code::mismatch, huge}).size() < limits.meta_bytes);
  CHECK(pack(ModuleFind{huge, 1}).size() < limits.meta_bytes);
  CHECK(pack(ModuleReply{false, Code::mismatch, huge, huge}).size() < limits.meta_bytes);
  CHECK(unpack<EndMessage>(pack(EndMessage{Code::script, false, huge, 0}))->message.size() == kMaxTextBytes);
}

TEST_CASE("hostile bytes for each message are refused or decoded, never misread") {
  survive(sample_join(), 11);
  survive(sample_welcome(), 12);
  survive(EndMessage{Code::script, false, "rank 1: boom", 1}, 13);
  survive(ActionEnter{"param.run", "job.lua:3"}, 14);
  survive(ActionReply{false, false, Code::mismatch, "nodes disagree"}, 15);
  survive(ModuleFind{"lib.rules", 99}, 16);
  survive(ModuleReply{true, Code::mismatch, "rules.lua", ""}, 17);
  survive(sample_attach(), 18);
}

TEST_CASE("hostile bytes for whereabouts are refused or decoded, never misread") {
  const uint64_t seed = 18;
  INFO("seed " << seed);
  const std::string good = pack(sample_whereabouts());
  const size_t refused = test::feed_hostile(good, seed, 5000, [](std::string_view bytes) {
    auto list = unpack<std::vector<Whereabouts>>(bytes);
    if (!list) return false;
    REQUIRE(list->size() <= bytes.size() / 34);
    REQUIRE(unpack<std::vector<Whereabouts>>(pack(*list)).ok());
    return true;
  });
  CHECK(refused > 5000);
}

TEST_CASE("make_frame fills in its arguments") {
  const Frame frame = make_frame(cluster_kind::stop, 1, 2, 3, "meta", Blob::copy_of("body"));
  CHECK(frame.kind == cluster_kind::stop);
  CHECK(frame.src == 1);
  CHECK(frame.dst == 2);
  CHECK(frame.tag == 3);
  CHECK(frame.meta.view() == "meta");
  CHECK(frame.body.view() == "body");
}

TEST_CASE("another host's name and errors arrive as one line without control characters") {
  JoinMessage join = sample_join();
  join.host = "alpha\x1b[2J:1\n[12:00:00.000 info] all is well";
  CHECK(unpack<JoinMessage>(pack(join))->host == "alpha\\x1b[2J:1\\n[12:00:00.000 info] all is well");
  CHECK(unpack<EndMessage>(pack(EndMessage{Code::script, false, "rank 1: \r\x1b]0;x\a", 1}))->message ==
        "rank 1: \\x0d\\x1b]0;x\\x07");
  CHECK(unpack<ActionEnter>(pack(ActionEnter{"param.run", "job\n.lua:1"}))->where == "job\\n.lua:1");
}
