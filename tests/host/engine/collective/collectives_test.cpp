#include "host/engine/collective/collectives.hpp"

#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/test.hpp"

namespace {

constexpr CollectiveOp kOps[] = {CollectiveOp::sum, CollectiveOp::mean, CollectiveOp::min, CollectiveOp::max,
                                 CollectiveOp::prod};

/// Shared memory, and frames between the threads of one process.
constexpr Algorithm kAlgorithms[] = {Algorithm::automatic, Algorithm::star, Algorithm::ordered};

template <typename T>
void check_all_ops(uint32_t ranks, uint64_t seed, Algorithm algorithm) {
  TestProcess process(ranks);
  Callers callers(process, algorithm);
  Rng rng(seed);
  for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{5000}, size_t{100003}}) {
    const auto inputs = inputs_of<T>(seed, ranks, count);
    for (const CollectiveOp op : kOps) {
      INFO("seed " << seed << ", " << ranks << " ranks, " << count << " elements, op " << collective_op_name(op) << ", "
                   << algorithm_name(algorithm));
      Turnstile turnstile(random_order(rng, ranks));
      std::vector<Result<std::vector<T>>> results(ranks, Error{});
      process.everywhere([&](Node& node) {
        turnstile.pass(node.index());
        results[node.index()] = callers[node.index()].allreduce(inputs[node.index()], op, "job.lua:1");
      });
      const std::vector<T> wanted = folded<T>(op, inputs);
      for (const auto& result : results) {
        REQUIRE(result.ok());
        REQUIRE(*result == wanted);
      }
    }
  }
}

std::vector<float> ones(size_t count) { return std::vector<float>(count, 1); }

}  // namespace

TEST_CASE("operations are known by name") {
  CollectiveOp op{};
  CHECK(parse_collective_op("prod", op));
  CHECK(op == CollectiveOp::prod);
  CHECK(parse_collective_op("mean", op));
  CHECK(op == CollectiveOp::mean);
  CHECK_FALSE(parse_collective_op("median", op));
  CHECK_FALSE(parse_collective_op("", op));
}

TEST_CASE("every operation combines in rank order, bit for bit on all ranks, in every order of arrival", "[deep]") {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const uint32_t ranks : {1U, 2U, 3U, 5U, 8U}) {
      check_all_ops<float>(ranks, 40 + ranks, algorithm);
      check_all_ops<double>(ranks, 50 + ranks, algorithm);
    }
  }
}

TEST_CASE("each rank has its own result, and the input is unchanged") {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const size_t count : {size_t{4}, size_t{50000}}) {
      TestProcess process(3);
      Callers callers(process, algorithm);
      const Blob input = bytes_of(ones(count));
      std::vector<Blob> results(3);
      process.everywhere([&](Node& node) {
        results[node.index()] = *callers[node.index()].allreduce(input, Dtype::f32, CollectiveOp::sum, "job.lua:1");
      });
      for (size_t i = 0; i < 3; ++i) {
        CHECK(results[i].unique());
        CHECK(results[i].data() != results[(i + 1) % 3].data());
      }
      CHECK(input.view() == bytes_of(ones(count)).view());
    }
  }
}

TEST_CASE("no rank leaves a barrier before the last rank has arrived") {
  TestProcess process(5);
  Callers callers(process);
  std::atomic<int> arrived{0};
  std::atomic<int> early{0};
  process.everywhere([&](Node& node) {
    for (int round = 1; round <= 50; ++round) {
      ++arrived;
      if (!callers[node.index()].barrier("job.lua:1")) ++early;
      early += arrived.load() < 5 * round;
      if (!callers[node.index()].barrier("job.lua:2")) ++early;
    }
  });
  CHECK(early == 0);
}

TEST_CASE("when ranks disagree all errors name both ranks and both lines, and later calls work") {
  const std::vector<std::function<Status(Caller&)>> others = {
      [](Caller& c) { return c.barrier("job.lua:20"); },
      [](Caller& c) -> Status {
        auto r = c.allreduce(ones(3), CollectiveOp::max, "job.lua:20");
        return r ? Status() : Status(r.error());
      },
      [](Caller& c) -> Status {
        auto r = c.allreduce(ones(4), CollectiveOp::sum, "job.lua:20");
        return r ? Status() : Status(r.error());
      },
      [](Caller& c) -> Status {
        auto r = c.allreduce(std::vector<double>(3, 1), CollectiveOp::sum, "job.lua:20");
        return r ? Status() : Status(r.error());
      },
  };
  TestProcess process(4);
  Callers callers(process);
  Rng rng(3);
  for (const auto& other : others) {
    Turnstile turnstile(random_order(rng, 4));
    std::vector<Status> statuses(4);
    std::vector<Status> after(4);
    process.everywhere([&](Node& node) {
      const NodeId id = node.index();
      turnstile.pass(id);
      if (id == 2) {
        statuses[id] = other(callers[id]);
      } else {
        auto r = callers[id].allreduce(ones(3), CollectiveOp::sum, "job.lua:10");
        if (!r) statuses[id] = r.error();
      }
      after[id] = callers[id].barrier("job.lua:30");
    });
    for (const Status& status : statuses) {
      CHECK(failure_of(status).code == Code::mismatch);
      CHECK_THAT(failure_of(status).message, Contains("rank 0 is in allreduce sum float32[3] at job.lua:10") &&
                                                 Contains("rank 2 is in ") && Contains("job.lua:20"));
    }
    for (const Status& status : after) CHECK(status.ok());
  }
}

TEST_CASE("a failed call leaves no frame behind") {
  TestProcess process(4);
  Callers callers(process);
  for (int round = 0; round < 20; ++round) {
    process.everywhere([&](Node& node) {
      const NodeId id = node.index();
      (void)callers[id].allreduce(ones(id == 3 ? 5 : 6), CollectiveOp::sum, "job.lua:1");
    });
  }
  process.everywhere([&](Node& node) { (void)callers[node.index()].barrier("job.lua:2"); });
  process.everywhere([&](Node& node) { (void)callers[node.index()].barrier("job.lua:3"); });
  for (const auto& node : process.nodes) CHECK(node->port().unreceived() == 0);
}

TEST_CASE("the errors of all ranks name a rank whose script has ended") {
  TestProcess process(3);
  Callers callers(process);
  std::vector<Status> statuses(3);
  process.everywhere([&](Node& node) {
    if (node.index() == 2) return node.cluster().report_ended(node.index(), node.actions());
    statuses[node.index()] = callers[node.index()].barrier("job.lua:7");
  });
  for (size_t i = 0; i < 2; ++i) {
    CHECK(failure_of(statuses[i]).code == Code::mismatch);
    CHECK_THAT(failure_of(statuses[i]).message,
               Contains("is in barrier at job.lua:7") && Contains("rank 2 has come to the end of its script"));
  }
}

TEST_CASE("the errors name a rank in an action, with its line") {
  TestProcess process(2);
  Callers callers(process);
  Status status;
  process.everywhere([&](Node& node) {
    if (node.index() == 1) {
      (void)node.enter_action("param.run", "job.lua:30");
      return;
    }
    status = callers[0].barrier("job.lua:7");
  });
  CHECK(failure_of(status).code == Code::mismatch);
  CHECK_THAT(failure_of(status).message, Contains("rank 1 is in param.run at job.lua:30"));
}

TEST_CASE("the timeout of every rank names the missing rank, and the next call works") {
  TestProcess process(3);
  Callers callers(process);
  std::vector<Status> statuses(3);
  std::atomic<int> failed{0};
  process.everywhere([&](Node& node) {
    const NodeId id = node.index();
    if (id == 1) {  // arrives after the others have given up
      while (failed.load() < 2) std::this_thread::yield();
    }
    statuses[id] = callers[id].barrier("job.lua:1", 0.1);
    ++failed;
  });
  for (const NodeId id : {0U, 2U}) {
    CHECK(failure_of(statuses[id]).code == Code::timeout);
    CHECK(failure_of(statuses[id]).message == "barrier: rank 1 has not answered in time");
  }
  CHECK_FALSE(statuses[1].ok());
  process.everywhere([&](Node& node) { statuses[node.index()] = callers[node.index()].barrier("job.lua:2"); });
  for (const Status& status : statuses) CHECK(status.ok());
}

TEST_CASE("the error of a server's collective names the remedy") {
  TestProcess process(1);
  REQUIRE(process.nodes[0]->start_servers(kAnyAction).ok());
  Meetings meetings;
  Caller collective(*process.servers[0], meetings);
  CHECK_THAT(failure_of(collective.barrier("job.lua:1")).message,
             Contains("server 0") && Contains("guard with actor.role"));
}

TEST_CASE("the end of the run ends a collective") {
  TestProcess process(3);
  Callers callers(process);
  std::vector<Status> statuses(3);
  process.everywhere([&](Node& node) {
    if (node.index() == 1) {
      return node.cluster().report_error(node.address(), {Code::script, false, "rank 1: boom", node.address()});
    }
    statuses[node.index()] = callers[node.index()].barrier("job.lua:1");
  });
  for (const NodeId id : {0U, 2U}) {
    CHECK(failure_of(statuses[id]).code == Code::aborted);
  }
}

namespace {

constexpr size_t kMostRounds = 100'000;
constexpr uint32_t kBefore = 10;  // rounds of all hosts

/// Repeated all-reduces of ones by four hosts. One host fails; the result of each other host's calls until a call
/// without the failed host succeeds: "4", "3", or the error.
std::vector<std::vector<std::string>> rounds_with_a_loss(uint32_t lost, bool lost_is_absent, size_t count) {
  TestRun run("tcp", {1, 1, 1, 1});
  std::vector<std::vector<std::string>> outcomes(4);
  std::atomic<uint32_t> together{0};
  std::atomic<int> changed_inputs{0};
  run.launch([&](Node& node) {
    Meetings meetings;
    Caller caller(node, meetings);
    const uint32_t id = node.index();
    const Blob input = bytes_of(ones(count));
    for (size_t round = 0; round < kMostRounds; ++round) {
      if (id == lost && lost_is_absent && round == kBefore) return;
      auto got = caller.allreduce(input, Dtype::f32, CollectiveOp::sum, "job.lua:1", kPatience);
      const std::vector<float> values = got ? values_of<float>(*got) : std::vector<float>(count);
      const bool same = std::all_of(values.begin(), values.end(), [&](float value) { return value == values[0]; });
      outcomes[id].push_back(!got ? got.error().message : same ? std::to_string(std::lround(values[0])) : "a mixture");
      changed_inputs += input.view() != bytes_of(ones(count)).view();
      if (id == 0 && (round + 1 == kBefore || !got)) together.store(1);
      together.notify_all();
      const bool named = !got && got.error().code == Code::peer_lost;
      if (outcomes[id].back() == "3" || (!got && !named)) return;
    }
  });
  together.wait(0);
  run.all[lost]->vanish();
  run.join();
  CHECK(changed_inputs == 0);
  outcomes.erase(outcomes.begin() + lost);
  return outcomes;
}

}  // namespace

TEST_CASE("when a rank fails the same call names it on all other ranks, inputs are unchanged, and later calls work") {
  for (const size_t count : {size_t{1000}, size_t{30000}}) {  // through the leader, and directly between ranks
    for (const uint32_t lost : {1U, 2U, 3U}) {
      for (const bool absent : {true, false, false}) {
        INFO("rank " << lost << ", " << count << " elements" << (absent ? ", stays away" : ""));
        const auto outcomes = rounds_with_a_loss(lost, absent, count);
        REQUIRE(outcomes[1] == outcomes[0]);
        REQUIRE(outcomes[2] == outcomes[0]);
        const std::vector<std::string>& calls = outcomes[0];
        const auto full = static_cast<size_t>(std::count(calls.begin(), calls.end(), "4"));
        REQUIRE(full >= kBefore);
        const std::vector<std::string> after(calls.begin() + static_cast<std::ptrdiff_t>(full), calls.end());
        CHECK(after == std::vector<std::string>{"allreduce: rank " + std::to_string(lost) + " lost", "3"});
      }
    }
  }
}

TEST_CASE("every kind of call gives the same result between hosts and within one process") {
  for (const std::vector<uint32_t>& hosts : {std::vector<uint32_t>{1, 2}, {1, 1, 1}, {2, 1, 3}}) {
    TestRun run("tcp", hosts);
    uint32_t ranks = 0;
    for (const uint32_t nodes : hosts) ranks += nodes;
    for (const size_t count : {size_t{0}, size_t{5}, size_t{200'003}}) {
      const auto inputs = inputs_of<float>(9, ranks, count);
      const std::vector<float> total = folded<float>(CollectiveOp::sum, inputs);
      std::atomic<uint32_t> right{0};
      run.everywhere([&](Node& node) {
        Meetings meetings;
        Caller caller(node, meetings);
        const uint32_t me = node.index();
        CallSpec reduce = spec_of(CollectiveKind::allreduce, "allreduce");
        reduce.choice.reproducible = true;
        reduce.input = bytes_of(inputs[me]);
        auto all = caller.run(reduce);
        bool good = all.ok() && values_of<float>(all->buffer) == total;

        reduce.kind = CollectiveKind::reduce_scatter;
        auto part = caller.run(reduce);
        const Span mine = block_of(count, ranks, me);
        good = good && part.ok() &&
               values_of<float>(part->buffer) ==
                   std::vector<float>(total.begin() + static_cast<std::ptrdiff_t>(mine.begin),
                                      total.begin() + static_cast<std::ptrdiff_t>(mine.end));

        CallSpec broadcast = spec_of(CollectiveKind::broadcast, "broadcast");
        broadcast.root = ranks - 1;
        if (me == broadcast.root) broadcast.parcel = PackedValue{"about", bytes_of(inputs[me])};
        auto given = caller.run(broadcast);
        good = good && given.ok() && given->parcel.head == "about" &&
               values_of<float>(given->parcel.body) == inputs[ranks - 1];

        CallSpec exchange = spec_of(CollectiveKind::exchange, "exchange");
        exchange.outgoing.resize(ranks);
        exchange.expected.resize(ranks);
        for (uint32_t to = 0; to < ranks; ++to) {  // only to higher ranks and to itself
          if (to >= me)
            exchange.outgoing[to] = PackedValue{std::to_string(me) + ">" + std::to_string(to), bytes_of(inputs[me])};
          exchange.expected[to] = to <= me;
        }
        auto gets = caller.run(exchange);
        good = good && gets.ok();
        for (uint32_t from = 0; good && from < ranks; ++from) {
          good = gets->received[from].has_value() == (from <= me);
          if (!good || from > me) continue;
          good = gets->received[from]->head == std::to_string(from) + ">" + std::to_string(me) &&
                 values_of<float>(gets->received[from]->body) == inputs[from];
        }
        right += good;
      });
      INFO(ranks << " ranks, " << count << " elements");
      CHECK(right == ranks);
    }
  }
}
