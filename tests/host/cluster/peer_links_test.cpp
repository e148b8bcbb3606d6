#include "host/cluster/peer_links.hpp"

#include <deque>

#include "host/base/random.hpp"
#include "tests/test.hpp"

namespace {

using Done = std::vector<std::string>;

struct LinkSide : PeerLinkOutput {
  void dial(ProcessId process, const std::string& url) override {
    done.push_back("dial " + std::to_string(process) + " at " + url);
  }
  void request_dial(ProcessId process) override { done.push_back("ask " + std::to_string(process)); }
  void report_broken(ProcessId process, const std::string& reason) override {
    done.push_back("broken " + std::to_string(process) + ": " + reason);
  }
  void close_link(LinkId link, const std::string& reason) override {
    done.push_back("close " + std::to_string(link) + ": " + reason);
  }
  Done take() { return std::exchange(done, {}); }

  Done done;
  PeerLinks links{*this};
};

MembershipPtr table(uint64_t epoch, const std::vector<ProcessInfo>& processes) {
  return std::make_shared<const Membership>(epoch, std::vector<Member>{}, processes);
}

MembershipPtr three() { return table(1, {{0, "coordinator", "u0"}, {1, "a", "u1"}, {2, "b", "u2"}, {3, "c", "u3"}}); }

/// Process 2 of four.
struct Two final : LinkSide {
  Two() { links.adopt(2, three()); }
};

}  // namespace

TEST_CASE("of two processes the one with the higher number dials at the other's request") {
  Two two;
  two.links.wanted(1);
  CHECK(two.take() == Done{"dial 1 at u1"});
  two.links.wanted(3);
  CHECK(two.take() == Done{"ask 3"});
}

TEST_CASE("a pending or open link is not made again") {
  Two two;
  two.links.wanted(1);
  two.take();
  two.links.wanted(1);
  two.links.on_want_link(1);
  CHECK(two.take().empty());
  two.links.dialled(1, 50);
  two.links.wanted(1);
  two.links.on_want_link(1);
  CHECK(two.take().empty());
  CHECK(two.links.links() == std::map<ProcessId, LinkId>{{1, 50}});
  two.links.accepted(3, 51);
  two.links.wanted(3);
  CHECK(two.take().empty());
}

TEST_CASE("a link that has ended before it is reported is broken") {
  Two two;
  two.links.wanted(1);
  two.take();
  two.links.down(50, "it is gone");
  CHECK(two.take().empty());
  two.links.dialled(1, 50);
  CHECK(two.take() == Done{"broken 1: it is gone"});
  CHECK(two.links.links().empty());
}

TEST_CASE("a process that is asked to dial does so if it is the dialler") {
  Two two;
  two.links.on_want_link(1);
  CHECK(two.take() == Done{"dial 1 at u1"});
  two.links.on_want_link(3);
  two.links.on_want_link(9);
  CHECK(two.take().empty());
}

TEST_CASE("a process that accepts no connections always dials, and two such cannot be linked") {
  const auto some = table(1, {{0, "coordinator", "u0"}, {1, "a", ""}, {2, "b", "u2"}, {3, "c", ""}});
  LinkSide one;
  one.links.adopt(1, some);
  one.links.wanted(2);
  CHECK(one.take() == Done{"dial 2 at u2"});
  one.links.wanted(3);
  CHECK(one.take() == Done{"broken 3: neither it nor this host takes connections"});
  LinkSide two;
  two.links.adopt(2, some);
  two.links.wanted(1);
  CHECK(two.take() == Done{"ask 1"});
  two.links.on_want_link(1);
  two.links.wanted(3);
  CHECK(two.take() == Done{"ask 3"});
}

TEST_CASE("a broken link to a process of the run is reported, others are not") {
  Two two;
  two.links.accepted(3, 51);
  two.links.down(77, "?");
  CHECK(two.take().empty());
  two.links.down(51, "connection reset");
  CHECK(two.take() == Done{"broken 3: connection reset"});
  CHECK(two.links.links().empty());
  two.links.down(51, "again");
  CHECK(two.take().empty());
}

TEST_CASE("a broken link is not made again") {
  Two two;
  two.links.wanted(1);
  two.links.dialled(1, 50);
  two.links.accepted(3, 51);
  two.take();
  two.links.down(50, "connection reset");
  two.links.down(51, "connection reset");
  CHECK(two.take() == Done{"broken 1: connection reset", "broken 3: connection reset"});
  two.links.wanted(1);
  two.links.on_want_link(1);
  two.links.wanted(3);
  CHECK(two.take().empty());
  two.links.accepted(3, 52);
  CHECK(two.take() == Done{"close 52: the link before it broke"});
  CHECK(two.links.links().empty());
}

TEST_CASE("the end of a second link to the same process changes nothing") {
  Two two;
  two.links.accepted(3, 51);
  two.links.accepted(3, 52);
  two.links.down(52, "a second connection");
  CHECK(two.take().empty());
  CHECK(two.links.links() == std::map<ProcessId, LinkId>{{3, 51}});
}

TEST_CASE("the end of a link to a process that has left the table is not reported") {
  Two two;
  two.links.accepted(3, 51);
  two.links.wanted(1);
  two.take();
  two.links.adopt(2, table(2, {{0, "coordinator", "u0"}, {2, "b", "u2"}}));
  two.links.down(51, "closed");
  two.links.dial_failed(1, "refused");
  two.links.wanted(3);
  CHECK(two.take().empty());
  two.links.accepted(3, 53);
  CHECK(two.take() == Done{"close 53: it has left the run"});
  two.links.dialled(1, 54);
  CHECK(two.take() == Done{"close 54: it has left the run"});
  CHECK(two.links.links().empty());
}

TEST_CASE("a hello may arrive from a process that only a newer table contains") {
  Two two;
  two.links.accepted(5, 60);
  CHECK(two.take().empty());
  CHECK(two.links.links() == std::map<ProcessId, LinkId>{{5, 60}});
  two.links.adopt(2, table(2, {{0, "", ""}, {1, "a", "u1"}, {2, "b", "u2"}, {3, "c", "u3"}, {5, "e", "u5"}}));
  two.links.wanted(5);
  CHECK(two.take().empty());
}

TEST_CASE("a failed dial and a silent link are broken links") {
  Two two;
  two.links.wanted(1);
  two.take();
  two.links.dial_failed(1, "connection refused");
  CHECK(two.take() == Done{"broken 1: connection refused"});
  two.links.accepted(3, 51);
  two.links.silent(3);
  CHECK(two.take() == Done{"close 51: no heartbeat", "broken 3: no heartbeat"});
  two.links.silent(3);
  two.links.down(51, "closed");
  CHECK(two.take().empty());
}

TEST_CASE("for all processes that accept connections and all orders of requests each pair makes at most one link") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed);
    const auto count = static_cast<ProcessId>(3 + rng.below(5));
    std::vector<ProcessInfo> infos = {{0, "coordinator", "u"}};
    for (ProcessId p = 1; p < count; ++p) infos.push_back({p, "h", rng.below(3) == 0 ? "" : std::to_string(p)});
    std::vector<LinkSide> sides(count);
    for (ProcessId p = 1; p < count; ++p) sides[p].links.adopt(p, table(1, infos));
    std::map<std::pair<ProcessId, ProcessId>, int> made;
    std::map<std::pair<ProcessId, ProcessId>, int> impossible;
    LinkId next = 1;
    struct Message {
      ProcessId from, to;
      bool is_request;
    };
    std::deque<Message> under_way;
    const auto collect = [&](ProcessId p) {
      for (const std::string& did : sides[p].take()) {
        const auto other = static_cast<ProcessId>(std::stoul(did.substr(did.find(' ') + 1)));
        if (did.starts_with("ask")) under_way.push_back({p, other, true});
        if (did.starts_with("dial")) under_way.push_back({p, other, false});
        if (did.starts_with("broken")) ++impossible[std::minmax(p, other)];
      }
    };
    for (int i = 0; i < 60 || !under_way.empty(); ++i) {
      if (i < 60 && rng.below(2) == 0) {
        const auto from = static_cast<ProcessId>(1 + rng.below(count - 1));
        const auto to = static_cast<ProcessId>(1 + rng.below(count - 1));
        if (from != to) sides[from].links.wanted(to);
        collect(from);
      } else if (!under_way.empty()) {
        const size_t at = static_cast<size_t>(rng.below(under_way.size()));
        const Message message = under_way[at];
        under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(at));
        if (message.is_request) {
          sides[message.to].links.on_want_link(message.from);
        } else {
          ++made[std::minmax(message.from, message.to)];
          sides[message.to].links.accepted(message.from, next);
          sides[message.from].links.dialled(message.to, next++);
        }
        collect(message.to);
        collect(message.from);
      }
    }
    for (const auto& [pair, times] : made) {
      REQUIRE(times == 1);
      REQUIRE_FALSE(impossible.contains(pair));
    }
    for (const auto& [pair, times] : impossible) {
      REQUIRE(infos[pair.first].url.empty());
      REQUIRE(infos[pair.second].url.empty());
    }
  }
}

TEST_CASE("a process can be reached if this process dials and the link did not break") {
  Two two;
  CHECK_FALSE(two.links.reach(3));  // that process dials
  CHECK_FALSE(two.links.reach(7));
  CHECK(two.links.reach(1));
  CHECK(two.links.reach(1));
  CHECK(two.take() == Done{"dial 1 at u1"});
  two.links.dialled(1, 50);
  CHECK(two.links.owner(50) == 1);
  two.links.release(1);
  CHECK(two.links.owner(50) == kNoProcess);
  two.links.accepted(3, 51);
  two.links.down(51, "reset");
  two.take();
  CHECK_FALSE(two.links.reach(3));
}

TEST_CASE("a new coordinator gets the requests and reports that the previous one may not have received") {
  LinkSide two;
  two.links.adopt(2,
                  table(1, {{0, "coordinator", "u0"}, {2, "b", "u2"}, {3, "c", "u3"}, {4, "d", "u4"}, {5, "e", "u5"}}));
  for (const ProcessId other : {3, 4, 5}) two.links.wanted(other);
  two.links.accepted(4, 51);
  two.links.accepted(5, 52);
  two.links.down(52, "reset");
  two.take();
  two.links.resend_reports();
  CHECK(two.take() == Done{"broken 5: as reported before", "ask 3"});
}
