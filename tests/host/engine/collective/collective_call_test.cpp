#include "host/engine/collective/call.hpp"
#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/host/engine/collective/call_plan.hpp"
#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/host/net/sim_transport.hpp"
#include "tests/test.hpp"

namespace {

/// Ranks on a simulated network with several calls in progress at a time, like asynchronous calls.
class World {
 public:
  World(uint64_t seed, uint32_t ranks) : rng_(seed), net_(clock_, seed), ranks_(ranks) {
    net_.set_links({.latency = exponential_latency(1e-3), .bytes_per_second = 1e8});
    net_.on_delivered([this](Address address) { deliver(address); });
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      inboxes_.push_back(std::make_unique<Mailbox>());
      REQUIRE(net_.attach(worker_address(rank), *inboxes_.back()).ok());
    }
    calls_.resize(ranks);
    early_.resize(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) add_arbiter(rank);
  }

  Rng& rng() { return rng_; }

  /// Every rank begins the call at a random time.
  void add(uint32_t number, const std::vector<CallSpec>& specs, double within) {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      net_.at(clock_.now() + rng_.uniform() * within, [this, rank, number, spec = specs[rank]] {
        if (dead_.count(rank) == 0) begin(rank, number, spec);
      });
    }
  }

  /// Every rank except `absent` begins the call.
  void add_but(uint32_t number, const std::vector<CallSpec>& specs, double within, uint32_t absent) {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      if (rank == absent) continue;
      net_.at(clock_.now() + rng_.uniform() * within,
              [this, rank, number, spec = specs[rank]] { begin(rank, number, spec); });
    }
  }

  /// The rank fails; the others learn of the failure one by one.
  void kill_at(double time, uint32_t rank) {
    net_.at(time, [this, rank] {
      dead_.insert(rank);
      for (uint32_t other = 0; other < ranks_; ++other) {
        net_.at(clock_.now() + rng_.uniform() * 5e-3, [this, other, rank] {
          known_dead_[other].insert(rank);
          if (dead_.count(other) > 0) return;
          arbiters_[other]->on_membership(membership_of(other), clock_.now());
          for (auto& [number, call] : calls_[other]) {
            REQUIRE(call->lost(rank, "rank " + std::to_string(rank) + " lost").ok());
          }
          adopt(other);
        });
      }
    });
  }

  /// The rank cannot wait any longer.
  void give_up_at(double time, uint32_t rank, uint32_t number) {
    net_.at(time, [this, rank, number] {
      CollectiveCall& call = *calls_[rank].at(number);
      if (!call.decided()) REQUIRE(call.give_up(call.timed_out()).ok());
    });
  }
  void query_missing_at(double time, uint32_t rank, uint32_t number) {
    net_.at(time, [this, rank, number] { REQUIRE(calls_[rank].at(number)->query_missing().ok()); });
  }

  /// The rank now knows that all workers with ids below `joined` take part in the calls of all workers.
  void set_joined(uint32_t rank, NodeId joined) { joined_[rank] = joined; }

  void run() { net_.run_until(kForever); }
  CollectiveCall& call(uint32_t rank, uint32_t number) { return *calls_[rank].at(number); }
  bool dead(uint32_t rank) const { return dead_.count(rank) > 0; }

 private:
  /// Each rank has its own process and courier; process 0 belongs to the coordinator.
  MembershipPtr membership_of(uint32_t rank) {
    std::vector<Member> workers;
    std::vector<ProcessInfo> processes;
    for (NodeId id = 0; id < ranks_; ++id) {
      if (known_dead_[rank].count(id) > 0) continue;
      workers.push_back({id, id + 1});
      processes.push_back({id + 1, "host", ""});
    }
    return std::make_shared<Membership>(1 + known_dead_[rank].size(), workers, processes, ranks_);
  }

  void add_arbiter(uint32_t rank) {
    const Address address = courier_address(rank + 1);
    couriers_.push_back(std::make_unique<Mailbox>());
    REQUIRE(net_.attach(address, *couriers_.back()).ok());
    Arbiter::Wiring wiring;
    wiring.process = rank + 1;
    wiring.send = [this, address](ProcessId to, Kind kind, const std::string& meta, const Blob& body) {
      (void)net_.try_send(make_frame(kind, address, courier_address(to), 0, meta, body));
    };
    wiring.membership = [this, rank] { return membership_of(rank); };
    wiring.post = [](const std::function<void()>& call) { call(); };
    arbiters_.push_back(std::make_unique<Arbiter>(std::move(wiring)));
  }

  void adopt(uint32_t rank) {
    for (auto& [number, call] : calls_[rank]) REQUIRE(call->tick(clock_.now()).ok());
  }

  void begin(uint32_t rank, uint32_t number, const CallSpec& spec) {
    CallGroup group;
    group.me = rank;
    group.members = ranks_;
    for (uint32_t i = 0; i < ranks_; ++i) {
      group.ids.push_back(i);
      group.ranks.push_back(i);
      group.homes.push_back(i / 2);
    }
    group.processes = (ranks_ + 1) / 2;
    group.world = group.joined = joined_[rank];
    CallWiring wiring;
    wiring.send = [this, rank, number](uint32_t to, Kind kind, std::string_view meta, Blob body) {
      if (dead_.count(to) > 0) return Status();
      return net_.try_send(make_frame(kind, worker_address(rank), worker_address(to), number, meta, std::move(body)));
    };
    wiring.returned = [] {};
    wiring.describe_loss = [] { return std::string("a rank is lost"); };
    wiring.epoch = [] { return uint64_t{1}; };
    wiring.ledger = &arbiters_[rank]->ledger();
    wiring.key = {0, true, number + 1};  // numbers begin with 1
    wiring.self = rank;
    wiring.appeal = [this, rank, key = wiring.key](const Error& error) {
      std::vector<NodeId> all(ranks_);
      std::iota(all.begin(), all.end(), 0U);
      arbiters_[rank]->appeal({key, rank, all, error});
    };
    wiring.ledger->enter(wiring.key, rank);
    auto& call = calls_[rank][number];
    call = CollectiveCall::make(spec, group, wiring);
    REQUIRE(call->begin().ok());
    std::vector<Frame> early;
    early.swap(early_[rank][number]);
    for (Frame& frame : early) give(rank, std::move(frame));
    for (const uint32_t lost : known_dead_[rank]) {
      REQUIRE(call->lost(lost, "rank " + std::to_string(lost) + " lost").ok());
    }
    adopt(rank);
  }

  void deliver(Address address) {
    const uint32_t rank = address_index(address) - (is_courier(address) ? 1 : 0);
    std::vector<Frame> frames;
    if (is_courier(address)) {
      couriers_[rank]->pop_all(frames, 0);
      if (dead_.count(rank) > 0) return;
      for (Frame& frame : frames) arbiters_[rank]->on_frame(std::move(frame), clock_.now());
      return adopt(rank);
    }
    inboxes_[rank]->pop_all(frames, 0);
    if (dead_.count(rank) > 0) return;
    for (Frame& frame : frames) give(rank, std::move(frame));
  }

  void give(uint32_t rank, Frame&& frame) {
    const auto found = calls_[rank].find(frame.tag);
    if (found == calls_[rank].end()) {
      early_[rank][frame.tag].push_back(std::move(frame));
      return;
    }
    const uint32_t from = frame.src;
    REQUIRE(found->second->take(from, std::move(frame)).ok());
  }

  Rng rng_;
  ManualClock clock_;
  std::vector<std::unique_ptr<Mailbox>> inboxes_;
  std::vector<std::unique_ptr<Mailbox>> couriers_;
  SimTransport net_;  // uses the inboxes until its destruction
  const uint32_t ranks_;
  std::vector<std::unique_ptr<Arbiter>> arbiters_;
  std::vector<std::map<uint32_t, std::unique_ptr<CollectiveCall>>> calls_;
  std::vector<std::map<uint32_t, std::vector<Frame>>> early_;
  std::map<uint32_t, NodeId> joined_;
  std::set<uint32_t> dead_;
  std::map<uint32_t, std::set<uint32_t>> known_dead_;
};

/// The call of rank `me` of three ranks. Its frames reach no rank.
std::unique_ptr<CollectiveCall> begin_without_peers(CallSpec spec, uint32_t me, CallLedger& ledger) {
  CallWiring wiring{.send = [](uint32_t, Kind, std::string_view, const Blob&) { return Status(); },
                    .returned = [] {},
                    .describe_loss = [] { return std::string(); },
                    .epoch = [] { return uint64_t{0}; },
                    .ledger = &ledger,
                    .appeal = [](const Error&) {}};
  ledger.enter({0, false, 1}, 0);
  wiring.key.number = 1;
  CallGroup group;
  group.me = me;
  group.members = 3;
  group.ids = group.ranks = {0, 1, 2};
  auto call = CollectiveCall::make(std::move(spec), std::move(group), std::move(wiring));
  REQUIRE(call->begin().ok());
  return call;
}

std::vector<CallSpec> specs_of(const CallPlan& plan, uint32_t ranks) {
  std::vector<CallSpec> specs;
  for (uint32_t rank = 0; rank < ranks; ++rank) specs.push_back(spec_of(plan, rank, ranks));
  return specs;
}

}  // namespace

TEST_CASE("simultaneous calls all end correctly, whatever the delays") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world(seed, 1 + static_cast<uint32_t>(seed % 9));
    const auto ranks = static_cast<uint32_t>(1 + seed % 9);
    std::vector<CallPlan> plans;
    for (uint32_t number = 0; number < 6; ++number) {
      plans.push_back(random_plan(world.rng(), ranks));
      world.add(number, specs_of(plans.back(), ranks), 5e-3);
    }
    world.run();
    for (uint32_t number = 0; number < 6; ++number) {
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        INFO("seed " << seed << ", call " << number << " of kind " << static_cast<int>(plans[number].kind) << " by "
                     << algorithm_name(plans[number].algorithm) << ", rank " << rank << " of " << ranks);
        CollectiveCall& call = world.call(rank, number);
        REQUIRE(call.over());
        REQUIRE(call.outcome().ok());
        REQUIRE(is_right(plans[number], rank, ranks, call.result()));
      }
    }
  }
}

TEST_CASE("when a rank fails at any moment a call ends the same way on all other ranks") {
  size_t failed = 0;
  size_t succeeded = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const auto ranks = static_cast<uint32_t>(2 + seed % 6);
    World world(seed, ranks);
    const CallPlan plan = random_plan(world.rng(), ranks);
    world.add(0, specs_of(plan, ranks), 3e-3);
    const auto victim = static_cast<uint32_t>(world.rng().below(ranks));
    world.kill_at(world.rng().uniform() * 12e-3, victim);
    world.run();
    CollectiveCall& one = world.call(victim == 0 ? 1 : 0, 0);
    const bool first = one.decided() && one.outcome().ok();
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      INFO("seed " << seed << ", kind " << static_cast<int>(plan.kind) << " by " << algorithm_name(plan.algorithm)
                   << ", rank " << rank << " of " << ranks << ", victim " << victim);
      CollectiveCall& call = world.call(rank, 0);
      REQUIRE(call.decided());
      REQUIRE(call.outcome().ok() == first);
      if (first) {
        REQUIRE(is_right(plan, rank, ranks, call.result()));
      } else {
        REQUIRE(call.outcome().error().code == Code::peer_lost);
        REQUIRE(call.outcome().error().message == "call: rank " + std::to_string(victim) + " lost");
      }
    }
    ++(first ? succeeded : failed);
  }
  CHECK(failed > 30);
  CHECK(succeeded > 30);
}

TEST_CASE("an unreported loss fails the next call on all ranks, whichever ranks know of it") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const auto ranks = static_cast<uint32_t>(1 + seed % 7);
    World world(seed, ranks);
    const CallPlan plan = random_plan(world.rng(), ranks);
    std::vector<CallSpec> specs = specs_of(plan, ranks);
    const auto one = static_cast<uint32_t>(world.rng().below(ranks));
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      if (rank != one && world.rng().below(2) == 0) continue;
      specs[rank].stale = "rank 9 lost";
      specs[rank].signature = "what suits others";
      specs[rank].outgoing.clear();
      specs[rank].expected.clear();
    }
    world.add(0, specs, 3e-3);
    world.run();
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      INFO("seed " << seed << ", kind " << static_cast<int>(plan.kind) << " by " << algorithm_name(plan.algorithm)
                   << ", rank " << rank << " of " << ranks << ", known at " << one);
      CollectiveCall& call = world.call(rank, 0);
      REQUIRE(call.over());
      REQUIRE_FALSE(call.outcome().ok());
      REQUIRE(call.outcome().error().code == Code::peer_lost);
      REQUIRE(call.outcome().error().message == "call: rank 9 lost");
    }
  }
}

TEST_CASE("ranks with different knowledge of a join_point agree after the call that reports a loss") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto ranks = static_cast<uint32_t>(2 + seed % 6);
    World world(seed, ranks);
    const CallPlan plan = random_plan(world.rng(), ranks);
    std::vector<NodeId> joined;
    for (uint32_t rank = 0; rank < ranks; ++rank) joined.push_back(ranks + (world.rng().below(2) == 0 ? 0U : 1U));
    const NodeId newest = *std::max_element(joined.begin(), joined.end());
    for (uint32_t number = 0; number < 2; ++number) {
      const bool agreed = std::set<NodeId>(joined.begin(), joined.end()).size() == 1;
      for (uint32_t rank = 0; rank < ranks; ++rank) world.set_joined(rank, joined[rank]);
      if (number == 1) REQUIRE(agreed);
      world.add(number, specs_of(plan, ranks), 3e-3);
      world.run();
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        INFO("seed " << seed << ", call " << number << ", rank " << rank << " of " << ranks);
        CollectiveCall& call = world.call(rank, number);
        REQUIRE(call.over());
        REQUIRE(call.outcome().ok() == agreed);
        if (!agreed) REQUIRE(call.outcome().error().code == Code::peer_lost);
        joined[rank] = std::max(joined[rank], call.joined());
      }
    }
    CHECK(joined == std::vector<NodeId>(ranks, newest));
  }
}

TEST_CASE("when a rank cannot wait any longer all errors name the late rank, not the leader") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const auto ranks = static_cast<uint32_t>(3 + seed % 5);
    World world(seed, ranks);
    const CallPlan plan = random_plan(world.rng(), ranks);
    std::vector<CallSpec> specs = specs_of(plan, ranks);
    const auto late = static_cast<uint32_t>(1 + world.rng().below(ranks - 1));
    const uint32_t impatient = late == 1 ? 2 : 1;
    world.add_but(0, specs, 1e-3, late);
    if (world.rng().below(2) == 0) world.query_missing_at(2e-3, impatient, 0);
    world.give_up_at(1, impatient, 0);  // the others have waited for a long time
    world.run();
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      if (rank == late) continue;
      INFO("seed " << seed << ", kind " << static_cast<int>(plan.kind) << ", rank " << rank << " of " << ranks);
      CollectiveCall& call = world.call(rank, 0);
      REQUIRE(call.decided());
      REQUIRE_FALSE(call.outcome().ok());
      REQUIRE(call.outcome().error().message == "call: rank " + std::to_string(late) + " has not answered in time");
    }
    REQUIRE(world.call(0, 0).missing().absent == std::vector<uint32_t>{late});
  }
}

TEST_CASE("a rank that asks the leader knows the ranks that a call waits for") {
  World world(8, 4);
  const CallPlan plan{CollectiveKind::barrier, Algorithm::automatic, 0, 0, std::vector<std::vector<float>>(4)};
  world.add_but(0, specs_of(plan, 4), 1e-3, 2);
  world.query_missing_at(1, 1, 0);
  world.run();
  CHECK(world.call(0, 0).missing().absent == std::vector<uint32_t>{2});
  CHECK(world.call(1, 0).missing().absent == std::vector<uint32_t>{2});
  CHECK(world.call(3, 0).missing().absent == std::vector<uint32_t>{0});  // has not asked
}

TEST_CASE("a rank that makes another call ends it for all ranks, with both lines") {
  for (const Algorithm algorithm : {Algorithm::automatic, Algorithm::ring}) {
    World world(5, 4);
    CallPlan plan{CollectiveKind::allreduce, algorithm, 0, 3000,
                  std::vector<std::vector<float>>(4, std::vector<float>(3000))};
    std::vector<CallSpec> specs = specs_of(plan, 4);
    specs[2].signature = "something else";
    world.add(0, specs, 1e-3);
    world.run();
    for (uint32_t rank = 0; rank < 4; ++rank) {
      REQUIRE(world.call(rank, 0).decided());
      const Status& outcome = world.call(rank, 0).outcome();
      CHECK(failure_of(outcome).code == Code::mismatch);
      CHECK_THAT(failure_of(outcome).message, Contains("rank 0 is in call of a plan at job.lua:0") &&
                                                  Contains("rank 2 is in something else at job.lua:2"));
    }
  }
}

TEST_CASE("the failure of a rank ends a waiting call") {
  World world(6, 3);
  CallPlan plan{CollectiveKind::barrier, Algorithm::automatic, 0, 0, std::vector<std::vector<float>>(3)};
  std::vector<CallSpec> specs = specs_of(plan, 3);
  world.add(0, {specs[0], specs[1], specs[2]}, 0);
  world.add(1, {specs[0], specs[1], specs[2]}, 0);
  world.run();
  CHECK(world.call(1, 0).outcome().ok());

  World waiting(7, 2);
  waiting.add(0,
              specs_of({CollectiveKind::allreduce, Algorithm::ring, 0, 9000,
                        std::vector<std::vector<float>>(2, std::vector<float>(9000))},
                       2),
              0);
  waiting.kill_at(0, 1);  // rank 0 waits
  waiting.run();
  CHECK(waiting.call(0, 0).outcome().error().code == Code::peer_lost);
}

TEST_CASE("a join_point message survives encoding, and hostile bytes are refused or harmless") {
  const JoinPoint good{7, 3, 2, 5, {0, 1, 4, 6}, 2};
  const auto copy = required(unpack<JoinPoint>(pack(good)));
  CHECK(pack(*copy) == pack(good));
  CHECK(copy->ids == good.ids);
  CHECK(copy->late == 2);
  CHECK_FALSE(unpack<JoinPoint>(pack(JoinPoint{7, 3, 2, 5, {0, 1}, 3})).ok());
  const uint64_t seed = 0x5eed02;
  INFO("seed " << seed);
  const size_t refused = feed_hostile(pack(good), seed, 3000, [](std::string_view bytes) {
    const auto point = unpack<JoinPoint>(bytes);
    if (point) REQUIRE(point->late <= point->ids.size());
    return point.ok();
  });
  CHECK(refused > 1000);
}

TEST_CASE("hostile frames end a call with an error, or have no effect") {
  Rng rng(11);
  const CallPlan plan{CollectiveKind::allreduce, Algorithm::ring, 0, 500,
                      std::vector<std::vector<float>>(3, std::vector<float>(500))};
  for (int round = 0; round < 20000; ++round) {
    CallLedger ledger;
    const auto me = static_cast<uint32_t>(rng.below(3));
    CallPlan kind = plan;
    kind.kind = static_cast<CollectiveKind>(rng.below(6));
    kind.algorithm = Algorithm::automatic;
    if (rng.below(2) == 0) kind.elements = 0;
    const auto call = begin_without_peers(spec_of(kind, me, 3), me, ledger);
    for (int i = 0; i < 5; ++i) {
      const auto which = static_cast<uint16_t>(0x0200 + rng.below(11));
      std::string meta(rng.below(60), '\0');
      for (char& c : meta) c = static_cast<char>(rng.below(rng.below(2) == 0 ? 3 : 256));
      Frame frame = make_frame(Kind{which}, 0, 0, 0, meta, Blob::copy_of(std::string(rng.below(100), 'x')));
      (void)call->take(static_cast<uint32_t>(rng.below(4)), std::move(frame));
      (void)call->timed_out();
    }
  }
  SUCCEED();
}

TEST_CASE("a leader's go moves no data in a barrier or a reduction") {
  const CallPlan plan{GENERATE(CollectiveKind::barrier, CollectiveKind::allreduce), Algorithm::automatic, 0, 5,
                      std::vector<std::vector<float>>(3, std::vector<float>(5))};
  CallLedger ledger;
  const auto call = begin_without_peers(spec_of(plan, 1, 3), 1, ledger);
  CHECK(call->take(0, make_frame(collective_kind::go, 0, 0, 0, pack(Route{0, 0, 1}, Go{20, "x"}))).ok());
  CHECK_FALSE(call->decided());
  CHECK(std::string(call->algorithm()).empty());
}
