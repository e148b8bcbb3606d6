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
