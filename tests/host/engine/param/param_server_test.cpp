#include "host/engine/param/controller.hpp"
#include "host/engine/param/server.hpp"
#include "tests/host/barrier/progress_rules.hpp"
#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

TEST_CASE("a run fails when all workers have failed") {
  Log log(LogLevel::off);
  ParamStore store;
  const std::unique_ptr<BarrierRule> rule = native_bsp();
  ParamServer::Config config{UpdateRule::native({kernel::OptimiserKind::add}), {}};
  config.run.run = 1;
  config.run.members = {0};
  ParamServer server(config, store, rule.get(), log);
  Frame ready = message_frame(param_kind::ready, server_address(0), 0, Ready{1});
  ready.src = worker_address(0);
  server.handle(std::move(ready), 1);
  server.lost(0, 2);
  std::optional<Error> error;
  while (auto request = server.next(2)) {
    if (auto* failed = std::get_if<Error>(&*request)) error = std::move(*failed);
    if (error) break;
    if (std::holds_alternative<StopRequest>(*request)) server.answer_stop(false);
  }
  REQUIRE(error);
  CHECK(error->code == Code::peer_lost);
}

TEST_CASE("a wait at the barrier is logged while a worker is working, and not after the end of the run") {
  std::vector<std::string> logged;
  Log log(LogLevel::info, [&](const LogLine& line) { logged.push_back(line.text); });
  ParamStore store;
  std::vector<Frame> out;
  ParamShard shard(store, 1, UpdateRule{}, log, out);
  const std::unique_ptr<BarrierRule> rule = native_bsp();
  ControllerConfig config;
  config.run = 1;
  config.local_schedule = true;
  config.members = {0, 1};
  ParamController controller(config, *rule, shard, log, out);
  const auto decide = [&controller](double now) {
    while (const auto request = controller.next(now)) {
      if (std::holds_alternative<StopRequest>(*request)) controller.answer_stop(false);
    }
  };
  controller.on_ready(0, 1);
  controller.on_ready(1, 1);
  decide(1);
  controller.on_done(0, 0, 0.1, 1.5, {});
  decide(1.5);
  SECTION("worker 1 works") {
    decide(11.4);
    CHECK(logged.empty());
    decide(12);
    CHECK(logged ==
          std::vector<std::string>{"worker 0 has waited at the barrier for over 10 s: worker 1 in step 1 for 11 s"});
  }
  SECTION("the push of worker 1 arrives before the server notices the long wait") {
    controller.on_done(1, 0, 10, 12, {});
    decide(12);
    CHECK(logged.empty());
  }
  SECTION("the run ends while worker 0 waits") {
    controller.stop("test");
    controller.on_done(1, 0, 1, 2, {});
    decide(2);
    REQUIRE(controller.finished());
    decide(20);
    CHECK(logged.empty());
  }
}
