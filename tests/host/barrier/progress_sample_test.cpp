#include "host/barrier/progress_sample.hpp"

#include "tests/host/barrier/progress_rules.hpp"
#include "tests/test.hpp"

namespace {

void fill(Progress& progress, uint32_t workers) {
  for (NodeId id = 0; id < workers; ++id) REQUIRE(progress.add(id, 0).ok());
}

std::vector<NodeId> sampled_ids(Sampler& sampler, const Progress& progress, NodeId id, double now) {
  Seen seen;
  sampler.sample(progress, progress.slot(id), now, see_all(progress), seen);
  std::vector<NodeId> ids;
  for (uint32_t i = 0; i < seen.n; ++i) ids.push_back(progress.ids()[seen.slots[i]]);
  return ids;
}

constexpr Resample kEvent{Resample::Kind::event, 0};
constexpr Resample kSticky{Resample::Kind::sticky, 0};

}  // namespace

TEST_CASE("samples contain every worker equally often, the requesting one too, and never twice") {
  Progress progress;
  fill(progress, 20);
  Sampler sampler(5, kEvent, 42, kFirstSalt);
  progress.request(3, 0);
  std::vector<int> hits(20);
  for (int i = 0; i < 20000; ++i) {
    progress.complete(7, i);
    const std::vector<NodeId> ids = sampled_ids(sampler, progress, 3, i);
    REQUIRE(std::set<NodeId>(ids.begin(), ids.end()).size() == 5);
    for (const NodeId id : ids) ++hits.at(id);
  }
  for (const int h : hits) CHECK(std::abs(h - 5000) < 350);
}

TEST_CASE("a sample stays until the next event, and a new one is drawn then") {
  Progress progress;
  fill(progress, 100);
  Sampler sampler(10, kEvent, 1, kFirstSalt);
  progress.request(0, 0);
  const auto first = sampled_ids(sampler, progress, 0, 0);
  CHECK(sampled_ids(sampler, progress, 0, 1) == first);
  progress.complete(5, 2);
  CHECK(sampled_ids(sampler, progress, 0, 2) != first);
}

TEST_CASE("a worker's sample does not depend on the workers evaluated before") {
  Progress progress;
  fill(progress, 50);
  Sampler one(8, kEvent, 9, kFirstSalt);
  Sampler other(8, kEvent, 9, kFirstSalt);
  for (NodeId id = 0; id < 50; ++id) progress.request(id, 0);
  std::vector<std::vector<NodeId>> forward;
  std::vector<std::vector<NodeId>> backward;
  for (NodeId id = 0; id < 50; ++id) forward.push_back(sampled_ids(one, progress, id, 0));
  for (NodeId id = 50; id-- > 0;) backward.push_back(sampled_ids(other, progress, id, 0));
  std::reverse(backward.begin(), backward.end());
  CHECK(forward == backward);
  CHECK(forward[0] != forward[1]);
}

TEST_CASE("a sticky sample stays until the requester passes, and replaces members that leave") {
  Progress progress;
  fill(progress, 30);
  Sampler sampler(6, kSticky, 5, kFirstSalt);
  progress.request(0, 0);
  auto before = sampled_ids(sampler, progress, 0, 0);
  progress.complete(9, 1);
  CHECK(sampled_ids(sampler, progress, 0, 1) == before);

  const NodeId lost = before[2] == 0 ? before[3] : before[2];
  progress.remove(lost);
  auto after = sampled_ids(sampler, progress, 0, 2);
  CHECK(after.size() == 6);
  CHECK(std::set<NodeId>(after.begin(), after.end()).size() == 6);
  CHECK(std::count(after.begin(), after.end(), lost) == 0);
  for (const NodeId id : before) {
    if (id != lost) CHECK(std::count(after.begin(), after.end(), id) == 1);
  }

  progress.pass(0);
  progress.request(0, 3);
  CHECK(sampled_ids(sampler, progress, 0, 3) != after);
}

TEST_CASE("a poll evaluates each sample once and returns the time of the next") {
  Progress progress;
  fill(progress, 40);
  Sampler sampler(4, Resample{Resample::Kind::poll, 0.5}, 5, kFirstSalt);
  progress.request(0, 10);
  Seen seen;
  sampler.sample(progress, 0, 10, see_all(progress), seen);
  CHECK(seen.n == 4);
  CHECK(seen.held == 0);
  CHECK(seen.recheck_seconds == 0.5);
  progress.complete(3, 10.25);
  sampler.sample(progress, 0, 10.25, see_all(progress), seen);
  CHECK(seen.held == 1);
  CHECK(seen.recheck_seconds == 0.25);
  sampler.sample(progress, 0, 10.5, see_all(progress), seen);
  CHECK(seen.held == 0);
}

TEST_CASE("a sample size may be zero or more than the number of workers") {
  Progress progress;
  fill(progress, 5);
  progress.request(0, 0);
  for (const Resample& resample : {kEvent, kSticky, Resample{Resample::Kind::poll, 1}}) {
    Sampler none(0, resample, 1, kFirstSalt);
    Sampler all(4000000000U, resample, 1, kFirstSalt);
    Seen seen;
    none.sample(progress, 0, 0, see_all(progress), seen);
    CHECK(seen.n == 0);
    CHECK(std::isinf(seen.lowest));
    all.sample(progress, 0, 0, see_all(progress), seen);
    CHECK(seen.n == 5);
    CHECK(seen.lowest == 0);
  }
}

TEST_CASE("a sample of a sample is drawn from that sample") {
  Progress progress;
  fill(progress, 60);
  progress.request(0, 0);
  Sampler outer(12, kEvent, 3, 1);
  Sampler inner(4, kSticky, 3, 2);
  for (int i = 0; i < 100; ++i) {
    progress.complete(1, i);
    Seen wide;
    Seen narrow;
    outer.sample(progress, 0, i, see_all(progress), wide);
    inner.sample(progress, 0, i, wide, narrow);
    REQUIRE(narrow.n == 4);
    const std::set<Slot> members(wide.slots, wide.slots + wide.n);
    for (uint32_t k = 0; k < narrow.n; ++k) REQUIRE(members.count(narrow.slots[k]) == 1);
  }
}
