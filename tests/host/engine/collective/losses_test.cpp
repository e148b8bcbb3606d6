// A loss is reported once, in the same call on all ranks, even if it is detected between the choice of a call's
// arguments and the call, or if an asynchronous call has reported it.

#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/host/engine/share/courier_place.hpp"
#include "tests/test.hpp"

namespace {

constexpr double kBeforeQuery = 3;  // seconds; ranks detect a cycle later

Status wait_for_size(Node& node, uint32_t size) {
  const double give_up = node.clock().now() + kPatience;
  std::vector<Frame> none;
  while (node.newest_membership()->size() != size) {
    if (node.clock().now() >= give_up) return Error{Code::timeout, "no rank is lost"};
    AH_TRY(node.receive_some([](const Frame&) { return false; }, give_up, none));
  }
  return {};
}

/// An empty exchange whose arguments are made for `n` ranks.
std::string exchange(Caller& caller, uint32_t n, bool placed) {
  CallSpec spec = spec_of(CollectiveKind::exchange, "exchange", "job.lua:3");
  spec.placed = placed;
  spec.outgoing.resize(n);
  spec.expected.resize(n);
  auto result = caller.run(std::move(spec));
  return result ? "fine" : result.error().message;
}

/// Hosts of one node each; one host, or the last, fails once enough other hosts have reached a given place.
struct Loss {
  explicit Loss(uint32_t hosts) : Loss(hosts, hosts - 1) {}
  Loss(uint32_t hosts, uint32_t lost_host)
      : run("tcp", std::vector<uint32_t>(hosts, 1)), lost(lost_host), outcomes(hosts) {}

  void happen(uint32_t after, const std::function<void(Node&)>& work) {
    run.run.launch(work);
    for (uint32_t seen = arrived.load(); seen < after; seen = arrived.load()) arrived.wait(seen);
    run.run.all[lost]->vanish();
    run.run.join();
  }
  void arrive() {
    ++arrived;
    arrived.notify_all();
  }
  bool is_lost(Node& node) const { return node.index() == lost; }
  void record(Node& node, std::string outcome) { outcomes[node.index()].push_back(std::move(outcome)); }

  CourierRun run;
  const uint32_t lost;
  std::vector<std::vector<std::string>> outcomes;
  std::atomic<uint32_t> arrived{0};
};

/// An asynchronous barrier of all workers.
std::shared_ptr<AsyncCall> start_barrier(Caller& caller, AsyncCalls& calls) {
  const CallSpec spec = spec_of(CollectiveKind::barrier, "barrier", "job.lua:1");
  auto call = caller.collectives().start(caller.collectives().all_workers(), spec, calls);
  demand(call.ok(), "a call that has started");
  return *call;
}

std::string wait_for(Caller& caller, AsyncCalls& calls, const std::shared_ptr<AsyncCall>& call,
                     double seconds = kForever) {
  auto result = caller.collectives().wait(calls, call, seconds);
  return result ? "fine" : result.error().message;
}

}  // namespace

TEST_CASE("a loss after the choice of a call's arguments is reported by that call, on all ranks") {
  for (const uint32_t hosts : {2U, 3U, 4U}) {
    for (const uint32_t notices : {0U, 1U}) {
      if (notices + 1 >= hosts) continue;
      INFO(hosts << " hosts, rank " << notices << " notices");
      Loss loss(hosts);
      loss.happen(hosts - 1, [&](Node& node) {
        if (loss.is_lost(node)) return;
        Meetings meetings;
        Caller caller(node, meetings, loss.run.place_of(node).arbiter);
        Collectives& collectives = caller.collectives();
        // Only one rank has asked for its place; no rank has made a call, so nothing else reports the loss.
        if (node.index() == notices) demand(collectives.place(collectives.all_workers()).ok(), "a place");
        loss.arrive();
        demand(wait_for_size(node, hosts - 1).ok(), "the news of the loss");
        const bool placed = node.index() == notices;
        loss.record(node, exchange(caller, placed ? hosts : hosts - 1, placed));
        loss.record(node, exchange(caller, hosts - 1, false));
      });
      for (uint32_t rank = 0; rank + 1 < hosts; ++rank) {
        const std::string lost = "exchange: rank " + std::to_string(hosts - 1) + " lost";
        CHECK(loss.outcomes[rank] == std::vector<std::string>{lost, "fine"});
      }
    }
  }
}

TEST_CASE("a loss that an asynchronous call has reported is not reported again") {
  for (const bool waits : {true, false}) {  // before the next blocking call, or after it
    Loss loss(3);
    loss.happen(2, [&](Node& node) {
      if (loss.is_lost(node)) return;
      Meetings meetings;
      Caller caller(node, meetings, loss.run.place_of(node).arbiter);
      AsyncCalls& calls = loss.run.place_of(node).calls;
      const auto call = start_barrier(caller, calls);
      loss.arrive();
      if (waits) loss.record(node, wait_for(caller, calls, call));
      if (!waits) demand(wait_for_size(node, 2).ok(), "the news of the loss");
      loss.record(node, exchange(caller, 2, false));
      if (!waits) loss.record(node, wait_for(caller, calls, call));
      loss.record(node, exchange(caller, 2, false));
    });
    for (uint32_t rank = 0; rank < 2; ++rank) {
      const std::vector<std::string> first = {"barrier: rank 2 lost", "fine", "fine"};
      const std::vector<std::string> second = {"fine", "barrier: rank 2 lost", "fine"};
      CHECK(loss.outcomes[rank] == (waits ? first : second));
    }
  }
}

TEST_CASE("an asynchronous call that starts after a loss reports it, once") {
  Loss loss(3);
  loss.happen(3, [&](Node& node) {
    Meetings meetings;
    Caller caller(node, meetings, loss.run.place_of(node).arbiter);
    AsyncCalls& calls = loss.run.place_of(node).calls;
    const auto go = [&] { loss.record(node, wait_for(caller, calls, start_barrier(caller, calls))); };
    go();
    loss.arrive();
    if (loss.is_lost(node)) return;
    demand(wait_for_size(node, 2).ok(), "the news of the loss");
    go();
    go();
    loss.record(node, exchange(caller, 2, false));
  });
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CHECK(loss.outcomes[rank] == std::vector<std::string>{"fine", "barrier: rank 2 lost", "fine", "fine"});
  }
}

TEST_CASE("a leader whose call only reports a loss has decided it: no later query finds that the call succeeded") {
  Loss loss(3);
  loss.happen(3, [&](Node& node) {
    Meetings meetings;
    Arbiter& arbiter = loss.run.place_of(node).arbiter;
    Caller caller(node, meetings, arbiter);
    loss.record(node, exchange(caller, 3, false));
    loss.arrive();
    if (loss.is_lost(node)) return;
    demand(wait_for_size(node, 2).ok(), "the news of the loss");
    loss.record(node, exchange(caller, 2, false));
    loss.record(node, exchange(caller, 2, false));
    const auto second = arbiter.ledger().query({0, false, 2}, node.index(), arbiter_ballot(node.index()));
    demand(second.has_value(), "an end of the second call");
    loss.record(node, second->outcome.ok() ? "fine" : second->outcome.error().message);
  });
  const std::string lost = "exchange: rank 2 lost";
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CHECK(loss.outcomes[rank] == std::vector<std::string>{"fine", lost, "fine", lost});
  }
}

TEST_CASE("an asynchronous call that one rank starts before a loss and another rank after it ends for both") {
  for (const uint32_t before : {0U, 2U}) {  // without rank 1 the place of rank 2 changes
    INFO("rank " << before << " starts it before");
    Loss loss(3, 1);
    loss.happen(3, [&](Node& node) {
      Meetings meetings;
      Caller caller(node, meetings, loss.run.place_of(node).arbiter);
      AsyncCalls& calls = loss.run.place_of(node).calls;
      loss.record(node, wait_for(caller, calls, start_barrier(caller, calls)));
      std::shared_ptr<AsyncCall> call;  // shared with the courier
      if (node.index() == before) call = start_barrier(caller, calls);
      loss.arrive();
      if (loss.is_lost(node)) return;
      demand(wait_for_size(node, 2).ok(), "the news of the loss");
      if (!call) call = start_barrier(caller, calls);
      loss.record(node, wait_for(caller, calls, call, kBeforeQuery));
      loss.record(node, wait_for(caller, calls, start_barrier(caller, calls), kBeforeQuery));
    });
    for (const uint32_t rank : {0U, 2U}) {
      CHECK(loss.outcomes[rank] == std::vector<std::string>{"fine", "barrier: rank 1 lost", "fine"});
    }
  }
}

TEST_CASE("a rank that makes a call which other ranks have left learns its end, whichever rank should have sent it") {
  CourierRun run("tcp", {1, 1});
  const CallKey first{0, false, 1};
  std::vector<std::string> received(2);
  std::vector<Status> after(2, Error{});
  CallLedger& ledger = run.places[0]->arbiter.ledger();
  ledger.enter(first, 0);  // decided by a leader that failed before it notified rank 1
  REQUIRE(ledger.decide(first, 0, leader_ballot(0), {Error{Code::peer_lost, "barrier: rank 2 lost"}, 1}));
  run.run.everywhere([&](Node& node) {
    Meetings meetings;
    Caller caller(node, meetings, run.place_of(node).arbiter);
    if (node.index() == 0) caller.collectives().all_workers().calls = 1;
    if (node.index() == 1) {
      const double began = node.clock().now();
      const Status late = caller.barrier("job.lua:1", kBeforeQuery);
      const bool notified = node.clock().now() < began + kBeforeQuery;  // otherwise it has asked
      received[1] = !notified ? "nothing" : late.ok() ? "fine" : late.error().message;
    }
    after[node.index()] = caller.barrier("job.lua:2", kPatience);
  });
  CHECK(received[1] == "barrier: rank 2 lost");
  for (const Status& status : after) CHECK(status.ok());
}
