// The neighbour lists of a node: the nearest known peers and the claim of completeness.

#include "host/overlay/neighbourhood.hpp"

#include "tests/test.hpp"

namespace {

constexpr auto kBelieve = [](const Peer&) { return true; };

Peer peer_at(RingId id, NodeId node) { return {id, node, node}; }

/// The lists of peer `i` of `ring` (sorted by id) with complete knowledge.
NeighbourLists full_lists(const std::vector<Peer>& ring, size_t i) {
  NeighbourLists lists;
  const size_t n = ring.size();
  for (size_t k = 1; k < n && k <= kNeighbourListLength; ++k) {
    lists.after.peers.push_back(ring[(i + k) % n]);
    lists.before.peers.push_back(ring[(i + n - k) % n]);
  }
  if (n > kNeighbourListLength) {
    lists.after.span = lists.after.peers.back().id - ring[i].id;
    lists.before.span = ring[i].id - lists.before.peers.back().id;
  }
  return lists;
}

std::vector<Peer> random_ring(Rng& rng, size_t n, NodeId first = 0) {
  std::vector<Peer> ring;
  for (size_t i = 0; i < n; ++i) ring.push_back(peer_at(rng.next(), first + static_cast<NodeId>(i)));
  std::sort(ring.begin(), ring.end(), [](const Peer& a, const Peer& b) { return a.id < b.id; });
  return ring;
}

}  // namespace

TEST_CASE("an arc runs clockwise, excludes its first point, and may be the whole circle") {
  CHECK(in_arc(10, 11, 20));
  CHECK(in_arc(10, 20, 20));
  CHECK_FALSE(in_arc(10, 10, 20));
  CHECK_FALSE(in_arc(10, 21, 20));
  CHECK(in_arc(kCircle - 5, 3, 10));
  CHECK_FALSE(in_arc(kCircle - 5, 11, 10));
  CHECK(in_arc(7, 7, 7));
  CHECK(in_arc(7, 8, 7));
}

TEST_CASE("a lone peer owns every key and claims the whole circle") {
  const Neighbourhood near(peer_at(100, 1));
  CHECK(near.whole());
  CHECK(near.owns(0));
  CHECK(near.owns(100));
  CHECK(near.owns(101));
  CHECK(near.owner_of(5).node == 1);
}

TEST_CASE("a joining node learns all peers in its neighbour's lists") {
  const uint64_t seed = 17;
  INFO("seed " << seed);
  Rng rng(seed);
  for (const size_t n : {1, 2, 3, 5, 16, 17, 32, 33, 40, 200}) {
    INFO(n << " peers");
    const std::vector<Peer> ring = random_ring(rng, n);
    const Peer joiner = peer_at(rng.next(), 1000);
    const auto owner = std::find_if(ring.begin(), ring.end(), [&](const Peer& p) { return p.id > joiner.id; });
    const size_t i = owner == ring.end() ? 0 : static_cast<size_t>(owner - ring.begin());
    Neighbourhood near(joiner);
    const auto merged = near.merge(ring[i], full_lists(ring, i), kBelieve);
    CHECK(near.all().size() == std::min<size_t>(n, 2 * kNeighbourListLength));
    CHECK(merged.fresh.size() + 2 >=
          near.all().size());  // if the lists do not cover the ring, the far peers are not probed
    CHECK_FALSE(merged.apart);
    CHECK(near.whole() == (n < 2 * kNeighbourListLength));
    CHECK(near.lists().after.peers.front() == ring[i]);
    CHECK(near.lists().before.peers.front() == ring[(i + n - 1) % n]);
    CHECK(near.owns(joiner.id));
    CHECK_FALSE(near.owns(joiner.id + 1));
    CHECK(near.owns(ring[(i + n - 1) % n].id + 1));
    CHECK(Neighbourhood::is_valid(joiner, near.lists()));
  }
}

TEST_CASE("a peer that a neighbour's list should hold and lacks is doubted, except by a joining node's list") {
  Rng rng(19);
  const std::vector<Peer> ring = random_ring(rng, 100);
  const size_t me = 50;
  Neighbourhood near(ring[me]);
  CHECK(near.merge(ring[me + 1], full_lists(ring, me + 1), kBelieve).doubted.empty());
  near.merge(ring[me - 1], full_lists(ring, me - 1), kBelieve);
  NeighbourLists lists = full_lists(ring, me + 1);
  const Peer dead = ring[me + 9];
  std::erase(lists.after.peers, dead);
  CHECK(near.merge(ring[me + 1], lists, kBelieve).doubted == std::vector<Peer>{dead});
  const Peer joiner = {(ring[me].id / 2 + ring[me + 1].id / 2), 1000, 1000};
  CHECK(near.merge(joiner, NeighbourLists{}, kBelieve).doubted.empty());
}

TEST_CASE("the lists hold the nearest known peers on both sides, in any order of messages") {
  const uint64_t seed = 23;
  INFO("seed " << seed);
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    const size_t n = 80 + rng.below(120);  // no peer is among the nearest on both sides
    std::vector<Peer> ring = random_ring(rng, n);
    const size_t me = rng.below(n);
    Neighbourhood near(ring[me]);
    std::vector<bool> reported(n, false);
    for (int k = 0; k < 40; ++k) {
      const size_t other = rng.below(n);
      if (other == me) continue;
      NeighbourLists some = full_lists(ring, other);  // with some peers missing
      std::erase_if(some.before.peers, [&](const Peer&) { return rng.below(3) == 0; });
      std::erase_if(some.after.peers, [&](const Peer&) { return rng.below(3) == 0; });
      near.merge(ring[other], some, kBelieve);
      reported[other] = true;
      for (const Side* side : {&some.before, &some.after}) {
        for (const Peer& p : side->peers)
          reported[static_cast<size_t>(std::find(ring.begin(), ring.end(), p) - ring.begin())] = true;
      }
    }
    std::vector<Peer> after;
    std::vector<Peer> before;
    for (size_t k = 1; k < n; ++k) {
      if (reported[(me + k) % n] && after.size() < kNeighbourListLength) after.push_back(ring[(me + k) % n]);
      if (reported[(me + n - k) % n] && before.size() < kNeighbourListLength) before.push_back(ring[(me + n - k) % n]);
    }
    CHECK(near.lists().after.peers == after);
    CHECK(near.lists().before.peers == before);
  }
}

TEST_CASE("the claim grows where neighbours agree, and a failure does not make a large ring look small") {
  Rng rng(5);
  const std::vector<Peer> ring = random_ring(rng, 100);
  Neighbourhood near(ring[50]);
  near.merge(ring[51], full_lists(ring, 51), kBelieve);
  near.merge(ring[49], full_lists(ring, 49), kBelieve);
  CHECK(near.lists().after.claimed(ring[50].id, true) == kNeighbourListLength);
  CHECK(near.lists().before.claimed(ring[50].id, false) == kNeighbourListLength);
  near.erase(ring[53].node);
  CHECK(near.lists().after.peers.size() == kNeighbourListLength - 1);
  CHECK_FALSE(near.whole());
  std::vector<Peer> rest = ring;
  rest.erase(rest.begin() + 53);
  near.merge(rest[51], full_lists(rest, 51), kBelieve);
  CHECK(near.lists().after.peers.size() == kNeighbourListLength);
  CHECK(near.lists().after.claimed(ring[50].id, true) == kNeighbourListLength);
}

TEST_CASE("peers of another ring are added, and the claim shrinks to the part that both peers see") {
  Rng rng(9);
  const std::vector<Peer> mine = random_ring(rng, 100);
  const std::vector<Peer> other = random_ring(rng, 100, 500);
  Neighbourhood near(mine[50]);
  near.merge(mine[51], full_lists(mine, 51), kBelieve);
  const auto at = std::find_if(other.begin(), other.end(), [&](const Peer& p) { return p.id > mine[50].id; });
  const auto i = static_cast<size_t>(at - other.begin()) % other.size();
  const auto merged = near.merge(other[i], full_lists(other, i), kBelieve);
  CHECK(merged.fresh.size() > kNeighbourListLength / 2);
  std::vector<Peer> both = mine;
  both.insert(both.end(), other.begin(), other.end());
  std::sort(both.begin(), both.end(), [](const Peer& a, const Peer& b) { return a.id < b.id; });
  const auto me = static_cast<size_t>(std::find(both.begin(), both.end(), mine[50]) - both.begin());
  const NeighbourLists truth = full_lists(both, me);
  for (size_t k = 0; k < near.lists().after.claimed(mine[50].id, true); ++k) {
    CHECK(near.lists().after.peers[k] == truth.after.peers[k]);
  }
  for (size_t k = 0; k < near.lists().before.claimed(mine[50].id, false); ++k) {
    CHECK(near.lists().before.peers[k] == truth.before.peers[k]);
  }
}

TEST_CASE("of two peers with one id the lower node is retained, and an unbelieved peer is not added") {
  Neighbourhood near(peer_at(100, 1));
  near.merge(peer_at(200, 9), {}, kBelieve);
  near.merge(peer_at(200, 4), {}, kBelieve);
  near.merge(peer_at(200, 7), {}, kBelieve);
  REQUIRE(near.all().size() == 1);
  CHECK(near.all().front().node == 4);
  NeighbourLists theirs;
  theirs.after.peers = {peer_at(300, 30)};
  near.merge(peer_at(250, 20), theirs, [](const Peer& p) { return p.node != 30; });
  CHECK(near.knows(20));
  CHECK_FALSE(near.knows(30));
}

TEST_CASE("inconsistent neighbour lists are detected") {
  const Peer of = peer_at(100, 1);
  NeighbourLists lists;
  lists.after.peers = {peer_at(110, 2), peer_at(120, 3)};
  lists.before.peers = {peer_at(90, 4)};
  CHECK(Neighbourhood::is_valid(of, lists));
  std::swap(lists.after.peers[0], lists.after.peers[1]);
  CHECK_FALSE(Neighbourhood::is_valid(of, lists));
  lists.after.peers = {peer_at(110, 2), peer_at(110, 3)};
  CHECK_FALSE(Neighbourhood::is_valid(of, lists));
  lists.after.peers = {peer_at(110, 1)};
  CHECK_FALSE(Neighbourhood::is_valid(of, lists));
  lists.after.peers.clear();
  for (NodeId i = 0; i <= kNeighbourListLength; ++i) lists.after.peers.push_back(peer_at(110 + i, 10 + i));
  CHECK_FALSE(Neighbourhood::is_valid(of, lists));
}
