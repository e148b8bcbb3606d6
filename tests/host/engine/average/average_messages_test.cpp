#include "host/engine/average/average_messages.hpp"

#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/test.hpp"

TEST_CASE("messages of averaging survive encoding and decoding") {
  const MixingTable table{3, {{{{0, 1, 0.5}, {2, 0, 0.25}}}, {}}};
  const Report report{Report::Kind::sync, 7, true, true, {AveragePattern::graph, 0.25, 3}, table};
  const auto same = required(unpack<Report>(pack(report)));
  CHECK(same->kind == Report::Kind::sync);
  CHECK(same->node == 7);
  CHECK((same->fresh && same->warm));
  CHECK(same->options.peers == AveragePattern::graph);
  CHECK((same->options.interval == 0.25 && same->options.deadline == 3));
  CHECK(same->table.workers == 3);
  REQUIRE(same->table.rounds.size() == 2);
  REQUIRE(same->table.rounds[0].shares.size() == 2);
  const MixingTable::Share& share = same->table.rounds[0].shares[1];
  CHECK((share.from == 2 && share.to == 0 && share.share == 0.25));

  const auto open = required(unpack<RoundOpen>(pack(RoundOpen{9, true, {1, 5}})));
  CHECK((open->round == 9 && open->full));
  CHECK(open->nodes == std::vector<NodeId>{1, 5});

  const auto ready = required(unpack<RoundReady>(pack(RoundReady{9, {{1, true, ""}, {5, false, "no number"}}})));
  REQUIRE(ready->replies.size() == 2);
  CHECK((ready->replies[0].copied && !ready->replies[1].copied));
  CHECK(ready->replies[1].message == "no number");

  const auto go =
      required(unpack<RoundGo>(pack(RoundGo{9, AveragePattern::graph, {{1, 0, true}, {5, 2, false}}, {{1, 0, 0.5}}})));
  CHECK(go->pattern == AveragePattern::graph);
  REQUIRE(go->terms.size() == 1);
  CHECK((go->terms[0].target == 1 && go->terms[0].source == 0 && go->terms[0].weight == 0.5));
  REQUIRE(go->participants.size() == 2);
  CHECK((go->participants[1].node == 5 && go->participants[1].process == 2));
  CHECK(go->weights() == 1);

  const auto piece = required(unpack<AveragePiece>(pack(AveragePiece{9, 3, 1, 65536})));
  CHECK((piece->round == 9 && piece->source == 3 && piece->segment == 1 && piece->begin == 65536));

  const auto done = required(unpack<RoundDone>(pack(RoundDone{9, false})));
  CHECK((done->round == 9 && !done->ok));

  const auto verdict =
      required(unpack<RoundVerdict>(pack(RoundVerdict{9, RoundVerdict::Outcome::failed, RoundReason::abort, "why"})));
  CHECK(verdict->outcome == RoundVerdict::Outcome::failed);
  CHECK(verdict->reason == RoundReason::abort);
  CHECK(verdict->message == "why");
}

TEST_CASE("averaging refuses impossible fields") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(!unpack<Report>(pack(Report{Report::Kind::join, 1, false, false, {AveragePattern::all, nan, 1}})).ok());
  CHECK(!unpack<Report>(pack(Report{Report::Kind::join, 1, false, false, {AveragePattern::all, 1, -1}})).ok());
  for (const MixingTable::Share share :
       {MixingTable::Share{0, 2, 0.5}, {2, 0, 0.5}, {1, 1, 0.5}, {0, 1, -1}, {0, 1, nan}}) {
    const Report report{Report::Kind::graph, 1, false, false, {}, {2, {{{share}}}}};
    CHECK(!unpack<Report>(pack(report)).ok());
  }
  CHECK(!unpack<RoundGo>(pack(RoundGo{1, AveragePattern::graph, {{1, 0, true}}, {{0, 1, 0.5}}})).ok());
  CHECK(!unpack<RoundGo>(pack(RoundGo{1, AveragePattern::all, {}})).ok());
  CHECK(!unpack<RoundGo>(pack(RoundGo{1, AveragePattern::all, {{1, 0, false}}})).ok());
}

TEST_CASE("hostile messages of averaging are refused or decoded, without other effects") {
  const auto feed = [](const std::string& good, const auto& decode) {
    CHECK(feed_hostile(good, 1, 3000, [&](std::string_view meta) { return decode(meta).ok(); }) >= good.size());
  };
  feed(pack(Report{}), unpack<Report>);
  feed(pack(Report{Report::Kind::graph, 1, false, false, {}, {2, {{{{0, 1, 0.5}}}}}}), unpack<Report>);
  feed(pack(RoundOpen{1, false, {1, 2, 3}}), unpack<RoundOpen>);
  feed(pack(RoundReady{1, {{1, true, ""}, {2, false, "message"}}}), unpack<RoundReady>);
  feed(pack(RoundGo{1, AveragePattern::all, {{1, 0, true}, {2, 1, true}}}), unpack<RoundGo>);
  feed(pack(AveragePiece{1, 2, 0, 4}), unpack<AveragePiece>);
  feed(pack(RoundDone{1, true}), unpack<RoundDone>);
  feed(pack(RoundVerdict{1, RoundVerdict::Outcome::applied, RoundReason::interval, "m"}), unpack<RoundVerdict>);
}
