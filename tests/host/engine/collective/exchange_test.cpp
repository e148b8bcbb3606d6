// The exchange of parcels: parcels given away or copied, and parts that arrive in one block.

#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/test.hpp"

TEST_CASE("within a process a parcel without another owner is given away, another parcel is copied") {
  constexpr uint32_t kRanks = 3;
  const std::vector<float> values = inputs_of<float>(1, 1, 10000)[0];
  TestRun run("tcp", {2, 1});
  std::array<std::atomic<const void*>, kRanks> sent{};
  for (const bool shared : {false, true}) {
    std::atomic<uint32_t> right{0};
    run.everywhere([&](Node& node) {
      Meetings meetings;
      Caller caller(node, meetings);
      const uint32_t me = node.index();
      Blob mine = bytes_of(values);
      sent[me] = mine.data();
      const Blob holds = shared ? mine : Blob();
      CallSpec exchange = spec_of(CollectiveKind::exchange, "exchange");
      exchange.outgoing.resize(kRanks);
      exchange.expected.resize(kRanks);
      exchange.outgoing[(me + 1) % kRanks] = PackedValue{"about", std::move(mine)};
      const uint32_t from = (me + kRanks - 1) % kRanks;
      exchange.expected[from] = true;
      auto gets = caller.run(std::move(exchange));
      if (!gets.ok()) return;
      const Blob& got = gets->received[from]->body;
      right += values_of<float>(got) == values && got.unique() && (!shared || values_of<float>(holds) == values) &&
               (me != 1 || (got.data() == sent[from]) == !shared);  // rank 1: the parcel is from its own process
    });
    CHECK(right == kRanks);
  }
}

TEST_CASE("over connections parts of one size arrive in one block, others separately, and no receive buffer remains") {
  for (const auto& nodes : {std::vector<uint32_t>{1, 1}, {1, 1, 1}, {2, 1}, {1, 3}}) {
    TestRun run("tcp", nodes);
    const uint32_t ranks = std::accumulate(nodes.begin(), nodes.end(), 0U);
    for (const bool even : {true, false}) {
      std::atomic<uint32_t> right{0};
      run.everywhere([&](Node& node) {
        Meetings meetings;
        Caller caller(node, meetings);
        const uint32_t me = node.index();
        const auto count = [&](uint32_t from) { return size_t{100000} + (even ? 0 : from * 1000); };
        for (int round = 0; round < 20; ++round) {
          const auto value = [&](uint32_t from, uint32_t to) {
            return static_cast<float>(round * 100 + from * 10 + to);
          };
          CallSpec exchange = spec_of(CollectiveKind::exchange, "exchange");
          exchange.joined = true;
          exchange.expected.assign(ranks, true);
          for (uint32_t to = 0; to < ranks; ++to) {
            exchange.outgoing.push_back(PackedValue{"about", bytes_of(std::vector<float>(count(me), value(me, to)))});
          }
          auto gets = caller.run(std::move(exchange));
          if (!gets.ok() || node.port().receive_buffers().size() != 0) return;
          Blob whole = std::exchange(gets->received[0]->body, {});
          bool in_one = true;
          for (uint32_t from = 0; from < ranks; ++from) {
            Blob body = from == 0 ? whole : std::exchange(gets->received[from]->body, {});
            if (values_of<float>(body) != std::vector<float>(count(from), value(from, me))) return;
            if (from > 0) in_one = whole.extend(body) && in_one;
          }
          if (in_one != even || !whole.unique()) return;
        }
        right += 1;
      });
      INFO(nodes.size() << " processes, " << ranks << " ranks, " << (even ? "" : "un") << "even");
      CHECK(right == ranks);
    }
  }
}

TEST_CASE("within a process joined parts arrive in one block with a single owner") {
  for (const uint32_t ranks : {1U, 2U, 5U}) {
    TestProcess process(ranks);
    Callers callers(process);
    std::atomic<uint32_t> right{0};
    process.everywhere([&](Node& node) {
      const uint32_t me = node.index();
      // Each rank receives another number of elements, some receive none.
      const auto count = [](uint32_t from, uint32_t to) { return static_cast<size_t>((from + 2 * to) % 3) * 1000; };
      CallSpec exchange = spec_of(CollectiveKind::exchange, "exchange");
      exchange.joined = true;
      exchange.expected.assign(ranks, true);
      for (uint32_t to = 0; to < ranks; ++to) {
        exchange.outgoing.push_back(
            PackedValue{"about", bytes_of(std::vector<float>(count(me, to), static_cast<float>(me)))});
      }
      auto gets = callers[me].run(std::move(exchange));
      if (!gets.ok()) return;
      std::vector<float> wanted;
      Blob whole;
      bool in_one = true;
      for (uint32_t from = 0; from < ranks; ++from) {
        wanted.insert(wanted.end(), count(from, me), static_cast<float>(from));
        const Blob body = std::exchange(gets->received[from]->body, {});
        if (body.empty()) continue;
        if (whole.empty()) {
          whole = body;
        } else {
          in_one = whole.extend(body) && in_one;
        }
      }
      right += in_one && values_of<float>(whole) == wanted && (whole.empty() || whole.unique());
    });
    CHECK(right == ranks);
  }
}
