// A node's evidence of failures, and leases.

#include "host/engine/peer/peer_liveness.hpp"

#include <catch2/catch.hpp>

using namespace actorhost;

namespace {

TEST_CASE("a peer has failed once its process is lost, it has departed, or its silence has lasted") {
  PeerLiveness liveness;
  const Peer peer{1, 1, 1};
  CHECK_FALSE(liveness.failed_or_departed(peer));
  for (double now = 0; now <= kUnresponsiveMajority; now += 5) liveness.miss_claim(peer.node, now);
  CHECK_FALSE(liveness.failed_or_departed(peer));
  liveness.miss_claim(peer.node, kUnresponsiveMajority + 1);
  CHECK(liveness.failed_or_departed(peer));
  CHECK_FALSE(liveness.reply_to_claim(peer.node, kUnresponsiveMajority + 2));
  CHECK_FALSE(liveness.failed_or_departed(peer));
  liveness.lose_node(peer.node);
  CHECK(liveness.failed_or_departed(peer));
  liveness.forget_departed();
  CHECK_FALSE(liveness.failed_or_departed(peer));
  liveness.lose_process(peer.process);
  CHECK(liveness.failed_or_departed(peer));
}

TEST_CASE("a peer with rare unanswered claims has not failed") {
  PeerLiveness liveness;
  for (double now = 0; now <= 2 * kUnresponsiveMajority; now += 11) liveness.miss_claim(1, now);
  CHECK_FALSE(liveness.failed_or_departed({1, 1, 1}));
}

TEST_CASE("a reply to a claim ends the exclusion of a peer from new groups, but not each exclusion") {
  PeerLiveness liveness;
  const Peer peer{1, 1, 1};
  liveness.exclude(peer.node, 10);
  CHECK_FALSE(liveness.usable(peer, 11));
  CHECK(liveness.reply_to_claim(peer.node, 11));
  CHECK(liveness.usable(peer, 11));
  CHECK_FALSE(liveness.reply_to_claim(peer.node, 11));
  liveness.exclude(peer.node, 12);  // it replies to claims only
  CHECK_FALSE(liveness.reply_to_claim(peer.node, 12.5));
  CHECK_FALSE(liveness.usable(peer, 12.5));
  liveness.exclude(peer.node, 20);
  CHECK(liveness.reply_to_claim(peer.node, 21));
}

TEST_CASE("a leader's lease ends when no majority has confirmed it recently, or with the run's lease") {
  PeerLiveness liveness;
  const KeyGroup group{{1, 0}, {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}}};
  CHECK(liveness.leased_until(group, 0) <= 0);
  liveness.confirm(1, 10);
  const double until = liveness.leased_until(group, 0);
  CHECK(until > 10);
  liveness.confirm(2, 9);
  CHECK(liveness.leased_until(group, 0) == until);
  liveness.set_run_lease(10.5);
  CHECK(liveness.leased_until(group, 0) == 10.5);
}

TEST_CASE("a member's grant outlasts the lease that it confirms") {
  PeerLiveness liveness;
  const KeyGroup group{{1, 0}, {{0, 0, 0}, {1, 1, 1}}};
  CHECK_FALSE(liveness.leader_is_live(group, 10));
  liveness.grant(group.term, 10);
  liveness.confirm(1, 10);
  CHECK(liveness.leader_is_live(group, liveness.leased_until(group, 0)));
  CHECK_FALSE(liveness.leader_is_live(group, 13));
  liveness.lose_process(0);
  CHECK_FALSE(liveness.leader_is_live(group, 10));
}

}  // namespace
