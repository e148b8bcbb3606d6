#include "host/cluster/outbox.hpp"

#include "host/cluster/cluster_messages.hpp"
#include "tests/test.hpp"

namespace {

/// Full or closed routes, and the delivered frames as (link or 0, dst or 0, tag).
struct Ways {
  std::set<LinkId> full;
  std::set<LinkId> closed;
  std::vector<std::pair<LinkId, uint32_t>> sent;
  Outbox outbox{[this](LinkId link, Frame&& frame) -> Status {
    const LinkId way = link != 0 ? link : 1000 + frame.dst;
    if (full.contains(way)) return Error{Code::full, "full"};
    if (closed.contains(way)) return Error{Code::peer_lost, "closed"};
    sent.emplace_back(way, frame.tag);
    const Frame taken = std::move(frame);
    return {};
  }};

  void put(LinkId link, Address dst, uint32_t tag) {
    outbox.put(link, make_frame(cluster_kind::stop, 0, dst, tag, "meta", Blob::copy_of("body")));
  }
};

using Sent = std::vector<std::pair<LinkId, uint32_t>>;

}  // namespace

TEST_CASE("a frame with room is sent at once") {
  Ways ways;
  ways.put(1, kNoAddress, 1);
  ways.put(0, 7, 2);
  CHECK(ways.sent == Sent{{1, 1}, {1007, 2}});
  CHECK(ways.outbox.empty());
}

TEST_CASE("a full route delays no other and keeps its order") {
  Ways ways;
  ways.full = {1, 1007};
  ways.put(1, kNoAddress, 1);
  ways.put(0, 7, 2);
  ways.put(2, kNoAddress, 3);
  ways.put(0, 8, 4);
  CHECK(ways.sent == Sent{{2, 3}, {1008, 4}});
  ways.full = {1007};
  ways.put(1, kNoAddress, 5);  // there is room again, but 1 was first
  CHECK(ways.sent.size() == 2);
  ways.outbox.flush();
  CHECK(ways.sent == Sent{{2, 3}, {1008, 4}, {1, 1}, {1, 5}});
  CHECK_FALSE(ways.outbox.empty());
  ways.full.clear();
  ways.outbox.flush();
  CHECK(ways.sent.back() == std::pair<LinkId, uint32_t>{1007, 2});
  CHECK(ways.outbox.empty());
}

TEST_CASE("pending frames for a receiver that has left are dropped") {
  Ways ways;
  ways.full = {1};
  ways.put(1, kNoAddress, 1);
  ways.put(1, kNoAddress, 2);
  ways.full.clear();
  ways.closed = {1};
  ways.outbox.flush();
  CHECK(ways.sent.empty());
  CHECK(ways.outbox.empty());
}
