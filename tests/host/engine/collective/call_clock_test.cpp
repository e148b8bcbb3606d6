#include "host/engine/collective/call_clock.hpp"

#include "host/engine/collective/call.hpp"
#include "tests/test.hpp"

namespace {

/// Rank 1 of two, whose leader sends nothing. On a manual clock; records the sent frames and the appeals of the rank.
struct Follower {
  explicit Follower(double timeout) : clock(100) {
    CallGroup group;
    group.me = 1;
    group.members = 2;
    group.ids = group.ranks = {0, 1};
    CallWiring wiring;
    wiring.send = [this](uint32_t, Kind kind, std::string_view, Blob body) {
      sent.push_back(kind);
      lent.push_back(std::move(body));
      return Status();
    };
    wiring.returned = [] {};
    wiring.epoch = [] { return uint64_t{1}; };
    wiring.ledger = &ledger;
    wiring.key = key;
    wiring.self = 1;
    wiring.appeal = [this](const Error& error) { appeals.push_back(error.message); };
    ledger.enter(key, 1);
    CallSpec spec;
    spec.kind = CollectiveKind::allreduce;
    spec.name = spec.signature = "allreduce";
    spec.choice.forced = Algorithm::star;
    spec.input = Blob::allocate(100000);  // too large to be copied
    call = CollectiveCall::make(std::move(spec), group, wiring, CallClock(clock.now(), timeout));
    REQUIRE(call->begin().ok());
  }

  void at(double seconds) {
    clock.set(100 + seconds);
    REQUIRE(call->tick(clock.now()).ok());
  }

  const CallKey key{0, false, 1};
  ManualClock clock;
  CallLedger ledger;
  std::vector<Kind> sent;
  std::vector<Blob> lent;
  std::vector<std::string> appeals;
  std::unique_ptr<CollectiveCall> call;
};

}  // namespace

TEST_CASE("a call without a timeout queries the leader before each check, and checks at increasing intervals") {
  CallClock clock(100);
  CHECK_FALSE(clock.limited());
  CHECK(clock.due() == kForever);
  double check = 100;
  for (const double interval : {1, 2, 4, 4, 4}) {
    check += interval;
    CHECK(clock.next() == check - 0.5);
    CHECK(clock.next_check() == check);
    CHECK_FALSE(clock.query_due(check - 0.51));
    CHECK(clock.query_due(check - 0.5));
    CHECK_FALSE(clock.query_due(check - 0.5));  // only once
    CHECK(clock.next() == check);
    CHECK_FALSE(clock.check_due(check - 0.01));
    CHECK(clock.check_due(check));
    clock.checked(check, false);
  }
  CHECK_FALSE(clock.waits_long(109.9));
  CHECK(clock.waits_long(110));
  clock.checked(check, true);
  CHECK(clock.next_check() == check + 1);  // soon after a suspicion
  clock.stop_checks();
  CHECK(clock.next() == kForever);
  CHECK_FALSE(clock.query_due(1e9));
}

TEST_CASE("a call with a timeout is out of time at its end, and then gives the leader a moment") {
  CallClock clock(100, 0.25);
  CHECK(clock.limited());
  CHECK(clock.next() == 100.25);
  CHECK(clock.send_deadline() == 100.75);
  CHECK_FALSE(clock.out_of_time(100.2));
  CHECK(clock.out_of_time(100.25));
  clock.give_up(100.25);
  clock.give_up(100.5);  // has no effect
  CHECK_FALSE(clock.out_of_time(101));
  CHECK(clock.next() == 100.75);
  CHECK_FALSE(clock.leader_is_late(100.7));
  CHECK(clock.leader_is_late(100.75));
  clock.appeal();
  clock.give_up(101);
  CHECK_FALSE(clock.leader_is_late(200));
  CHECK(clock.due() == kForever);  // until the verdict
  clock.end(102, true);
  CHECK(clock.due() == 102.5);
  CHECK_FALSE(clock.loans_are_late(102.4));
  CHECK(clock.loans_are_late(102.5));
}

TEST_CASE("a successful call waits for its lent buffers") {
  CallClock clock(100, 1);
  clock.end(100.5, false);
  CHECK(clock.next() == kForever);
  CHECK_FALSE(clock.loans_are_late(1e9));
  CHECK_FALSE(clock.out_of_time(1e9));
}

TEST_CASE("a rank out of time asks its leader to end the call, then an arbiter, and abandons its lent buffers") {
  Follower rank(2);
  rank.at(1.9);
  CHECK(rank.sent == std::vector<Kind>{collective_kind::announce});
  rank.at(2);
  CHECK(rank.sent == std::vector<Kind>{collective_kind::announce, collective_kind::give_up});
  rank.at(2.4);
  CHECK(rank.appeals.empty());
  rank.at(2.5);
  rank.at(9);
  CHECK(rank.appeals == std::vector<std::string>{"allreduce: rank 0 has not answered in time"});
  rank.ledger.settle(rank.key, 1, arbiter_ballot(0), {Error{Code::timeout, "allreduce: out of time"}, 1});
  rank.at(10);
  REQUIRE(rank.call->decided());
  CHECK(rank.call->outcome().error().message == "allreduce: out of time");
  CHECK_FALSE(rank.call->over());
  CHECK(rank.call->clock().due() == 110.5);
  rank.at(10.5);
  CHECK(rank.call->over());
  CHECK(rank.sent.size() == 2);
}

TEST_CASE("a rank that gives up before its timeout gives its leader the same moment") {
  Follower rank(kForever);
  REQUIRE(rank.call->give_up({Code::mismatch, "rank 0 has come to the end of its script"}).ok());
  rank.at(3);
  CHECK(rank.call->clock().due() == 103.5);
  CHECK(rank.appeals.empty());
  rank.at(3.5);
  CHECK(rank.appeals == std::vector<std::string>{"rank 0 has come to the end of its script"});
  CHECK(rank.sent == std::vector<Kind>{collective_kind::announce, collective_kind::give_up});
}
