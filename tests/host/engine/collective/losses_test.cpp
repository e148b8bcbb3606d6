// A loss is told once, in the same call on all ranks, also when it is noticed while a call's arguments are made or was
// told by an asynchronous call.

#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/host/engine/courier_place.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

Status wait_for_size(Node& node, uint32_t size) {
  const double give_up = node.clock().now() + kPatience;
  std::vector<Frame> none;
  while (node.newest_membership()->size() != size) {
    if (node.clock().now() >= give_up) return Error{Code::timeout, "nobody has gone"};
    AH_TRY(node.receive_some([](const Frame&) { return false; }, give_up, none));
  }
  return {};
}

/// An exchange of nothing whose arguments are made for `n` ranks.
std::string exchange(Caller& caller, uint32_t n, bool placed) {
  CallSpec spec;
  spec.kind = CollectiveKind::exchange;
  spec.name = spec.signature = "exchange";
  spec.where = "job.lua:3";
  spec.placed = placed;
  spec.gives.resize(n);
  spec.expects.resize(n);
  auto result = caller.run(std::move(spec));
  return result ? "fine" : result.error().message;
}

/// Hosts of a node each; the last one vanishes once so many have come to where it is to be lost.
struct Loss {
  explicit Loss(uint32_t hosts) : run("tcp", std::vector<uint32_t>(hosts, 1)), outcomes(hosts) {}

  void happen(uint32_t after, const std::function<void(Node&)>& work) {
    run.run.launch(work);
    for (uint32_t seen = arrived.load(); seen < after; seen = arrived.load()) arrived.wait(seen);
    run.run.all.back()->vanish();
    run.run.join();
  }
  void come() {
    ++arrived;
    arrived.notify_all();
  }
  bool is_lost(Node& node) const { return node.index() + 1 == outcomes.size(); }
  void say(Node& node, std::string outcome) { outcomes[node.index()].push_back(std::move(outcome)); }

  CourierRun run;
  std::vector<std::vector<std::string>> outcomes;
  std::atomic<uint32_t> arrived{0};
};

}  // namespace

TEST_CASE("a loss that is noticed after a call's arguments were made is told by that call, on all ranks") {
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
        // Only one has placed itself before; nobody has made a call yet, so nothing else tells that somebody is gone.
        if (node.index() == notices) demand(collectives.place(collectives.everybody()).ok(), "a place");
        loss.come();
        demand(wait_for_size(node, hosts - 1).ok(), "the news of the loss");
        const bool placed = node.index() == notices;
        loss.say(node, exchange(caller, placed ? hosts : hosts - 1, placed));
        loss.say(node, exchange(caller, hosts - 1, false));
      });
      for (uint32_t rank = 0; rank + 1 < hosts; ++rank) {
        const std::string lost = "exchange: rank " + std::to_string(hosts - 1) + " lost";
        CHECK(loss.outcomes[rank] == std::vector<std::string>{lost, "fine"});
      }
    }
  }
}

TEST_CASE("what an asynchronous call has told is not told again") {
  for (const bool waits : {true, false}) {  // before the next blocking call, or after
    Loss loss(3);
    loss.happen(2, [&](Node& node) {
      if (loss.is_lost(node)) return;
      Meetings meetings;
      Caller caller(node, meetings, loss.run.place_of(node).arbiter);
      Collectives& collectives = caller.collectives();
      AsyncCalls& calls = loss.run.place_of(node).calls;
      CallSpec spec;
      spec.name = spec.signature = "barrier";
      spec.where = "job.lua:1";
      auto call = collectives.start(collectives.everybody(), spec, calls);
      demand(call.ok(), "a call that has started");
      loss.come();
      const auto wait = [&] {
        auto result = collectives.wait(calls, *call, kForever);
        loss.say(node, result ? "fine" : result.error().message);
      };
      if (waits) wait();
      if (!waits) demand(wait_for_size(node, 2).ok(), "the news of the loss");
      loss.say(node, exchange(caller, 2, false));
      if (!waits) wait();
      loss.say(node, exchange(caller, 2, false));
    });
    for (uint32_t rank = 0; rank < 2; ++rank) {
      const std::vector<std::string> first = {"barrier: rank 2 lost", "fine", "fine"};
      const std::vector<std::string> second = {"fine", "barrier: rank 2 lost", "fine"};
      CHECK(loss.outcomes[rank] == (waits ? first : second));
    }
  }
}

TEST_CASE("an asynchronous call that is started after a loss tells it, once") {
  Loss loss(3);
  loss.happen(3, [&](Node& node) {
    Meetings meetings;
    Caller caller(node, meetings, loss.run.place_of(node).arbiter);
    Collectives& collectives = caller.collectives();
    AsyncCalls& calls = loss.run.place_of(node).calls;
    const auto go = [&] {
      CallSpec spec;
      spec.name = spec.signature = "barrier";
      spec.where = "job.lua:1";
      auto call = collectives.start(collectives.everybody(), spec, calls);
      demand(call.ok(), "a call that has started");
      auto result = collectives.wait(calls, *call, kForever);
      loss.say(node, result ? "fine" : result.error().message);
    };
    go();
    loss.come();
    if (loss.is_lost(node)) return;
    demand(wait_for_size(node, 2).ok(), "the news of the loss");
    go();
    go();
    loss.say(node, exchange(caller, 2, false));
  });
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CHECK(loss.outcomes[rank] == std::vector<std::string>{"fine", "barrier: rank 2 lost", "fine", "fine"});
  }
}
