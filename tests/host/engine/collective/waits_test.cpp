// Waits for ranks that will never arrive: the log names them, and no rank that will still arrive is given up.

#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/host/engine/share/courier_place.hpp"
#include "tests/test.hpp"

namespace {

/// Polls until each of `ids` has reported its wait `times` times, so that a cycle would have been detected.
Status until_all_have_reported(Node& node, const std::vector<NodeId>& ids, uint32_t times) {
  const double give_up = node.clock().now() + kPatience;
  while (node.clock().now() < give_up) {
    auto list = node.whereabouts();
    if (!list) return list.error();
    size_t reported = 0;
    for (const Whereabouts& w : *list) {
      reported += std::find(ids.begin(), ids.end(), w.id) != ids.end() && w.waiting.reports >= times;
    }
    if (reported == ids.size()) return {};
    std::vector<Frame> none;
    AH_TRY(node.receive_some([](const Frame&) { return false; }, node.clock().now() + 0.05, none));
  }
  return Error{Code::timeout, "they do not wait"};
}

/// Each rank waits in a group with the next rank, which does the same. `arbiter_of` is empty if all ranks are in one
/// process; otherwise a rank that gives up may need another process's arbiter.
std::vector<Status> in_a_cycle(const std::function<void(const std::function<void(Node&)>&)>& everywhere, uint32_t ranks,
                               const std::function<Arbiter&(Node&)>& arbiter_of = nullptr) {
  std::vector<Status> statuses(ranks);
  Meetings meetings;
  everywhere([&](Node& node) {
    const uint32_t me = node.index();
    const uint32_t next = (me + 1) % ranks;
    std::optional<Caller> caller;
    if (arbiter_of) {
      caller.emplace(node, meetings, arbiter_of(node));
    } else {
      caller.emplace(node, meetings);
    }
    statuses[me] = caller->barrier_of("with " + std::to_string(next), {std::min(me, next), std::max(me, next)},
                                      "job.lua:" + std::to_string(10 + me));
    // This ends the run, like a script's error.
    const Error& error = statuses[me].error();
    if (error.code == Code::mismatch) {
      node.cluster().report_error(node.address(), {Code::script, false, error.message, node.address()});
    }
  });
  return statuses;
}

void check_cycle(const std::vector<Status>& statuses) {
  size_t detected = 0;
  for (const Status& status : statuses) {
    REQUIRE_FALSE(status.ok());
    INFO(status.error().message);
    if (status.error().code == Code::aborted) continue;  // by another rank that has detected it first
    CHECK(status.error().code == Code::mismatch);
    ++detected;
    for (uint32_t rank = 0; rank < statuses.size(); ++rank) {
      CHECK_THAT(status.error().message, Contains("rank " + std::to_string(rank) + " is in barrier in group") &&
                                             Contains("job.lua:" + std::to_string(10 + rank)));
    }
  }
  CHECK(detected > 0);
}

CallSpec barrier_spec(const std::string& where) { return spec_of(CollectiveKind::barrier, "barrier", where); }

}  // namespace

TEST_CASE("ranks of a process that wait for each other in a cycle end with an error with all lines", "[deep]") {
  TestProcess process(3);
  check_cycle(in_a_cycle([&](const std::function<void(Node&)>& work) { process.everywhere(work); }, 3));
}

TEST_CASE("ranks of several hosts that wait for each other in a cycle end with an error with all lines", "[deep]") {
  CourierRun run("tcp", {1, 1, 1});
  check_cycle(in_a_cycle([&](const std::function<void(Node&)>& work) { run.run.everywhere(work); }, 3,
                         [&](Node& node) -> Arbiter& { return run.place_of(node).arbiter; }));
}

TEST_CASE("a chain of waits behind a computing rank is no cycle", "[deep]") {
  TestRun run("tcp", {1, 1, 1});
  std::vector<Status> statuses(3);
  run.everywhere([&](Node& node) {
    Meetings meetings;
    Caller caller(node, meetings);
    Status& status = statuses[node.index()];
    if (node.index() == 2) status = until_all_have_reported(node, {0, 1}, 4);
    if (node.index() != 0 && status.ok()) status = caller.barrier_of("two", {1, 2}, "job.lua:1");
    if (status.ok()) status = caller.barrier("job.lua:2");
  });
  for (const Status& status : statuses) {
    INFO((status.ok() ? "" : status.error().message));
    CHECK(status.ok());
  }
}

TEST_CASE("the error of a wait for an asynchronous call names the place of a rank that has not started it", "[deep]") {
  const std::vector<std::string> places = {"ended", "in an action", "in another call"};
  // All nodes run at once, since they wait and do not compute. Either of two ranks that wait for each other may detect
  // this first; that ends the run, like a script's error, and the other rank is notified.
  struct Outcomes {
    Status first, other;
  };
  std::vector<Outcomes> all(places.size());
  std::vector<std::unique_ptr<CourierRun>> runs;
  for (size_t i = 0; i < places.size(); ++i) {
    runs.push_back(std::make_unique<CourierRun>("tcp", std::vector<uint32_t>{1, 1}));
    runs[i]->run.launch([&run = *runs[i], &outcomes = all[i], where = places[i]](Node& node) {
      Meetings meetings;
      Caller caller(node, meetings, run.place_of(node).arbiter);
      if (node.index() == 1) {
        if (where == "ended") node.cluster().report_ended(node.index(), node.actions());
        if (where == "in an action") (void)node.enter_action("param.run", "job.lua:30");
        if (where == "in another call") outcomes.other = caller.barrier("job.lua:40");
        if (!outcomes.other.ok() && outcomes.other.error().code == Code::mismatch) {
          node.cluster().report_error(node.address(), {Code::script, false, "rank 1 has an error", node.address()});
        }
        return;
      }
      AsyncCalls& calls = run.place_of(node).calls;
      Collectives& collectives = caller.collectives();
      auto call = collectives.start(collectives.all_workers(), barrier_spec("job.lua:7"), calls);
      demand(call.ok(), "a call that has started");
      auto result = collectives.wait(calls, *call, kForever);
      if (!result) outcomes.first = result.error();
      // Lets the other rank continue.
      (void)caller.barrier("job.lua:50");
    });
  }
  for (const auto& run : runs) run->run.join();
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string& where = places[i];
    const bool by_other = !all[i].first.ok() && all[i].first.error().code == Code::aborted;
    const Status& waited = by_other ? all[i].other : all[i].first;
    INFO(where << (by_other ? ", seen by the other" : ""));
    CHECK(failure_of(waited).code == Code::mismatch);
    const std::string expected = where == "ended"          ? "rank 1 has come to the end of its script"
                                 : where == "in an action" ? "rank 1 is in param.run at job.lua:30"
                                                           : "rank 1 is in barrier at job.lua:40";
    CHECK_THAT(waited.error().message, Contains("rank 0 is in barrier at job.lua:7") && Contains(expected));
  }
}

TEST_CASE("an asynchronous call that all members have started is not given up, whatever they do meanwhile", "[deep]") {
  CourierRun run("tcp", {1, 1, 1});
  std::vector<Status> statuses(3);
  run.run.everywhere([&](Node& node) {
    Meetings meetings;
    Caller caller(node, meetings);
    AsyncCalls& calls = run.place_of(node).calls;
    Collectives& collectives = caller.collectives();
    Status& status = statuses[node.index()];
    // Rank 0 leads and has started the call, but waits in another call; rank 1 really waits for rank 2.
    if (node.index() == 2) status = until_all_have_reported(node, {0, 1}, 4);
    auto call = collectives.start(collectives.all_workers(), barrier_spec("job.lua:1"), calls);
    demand(call.ok(), "a call that has started");
    if (node.index() == 0 && status.ok()) status = caller.barrier("job.lua:2");
    auto result = collectives.wait(calls, *call, kForever);
    if (!result && status.ok()) status = result.error();
    if (node.index() != 0 && status.ok()) status = caller.barrier("job.lua:2");
  });
  for (const Status& status : statuses) {
    INFO((status.ok() ? "" : status.error().message));
    CHECK(status.ok());
  }
}
