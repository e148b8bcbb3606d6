#include "host/engine/collective_plain.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/base/random.hpp"
#include "tests/host/cluster/test_process.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

template <typename T>
constexpr kernel::Dtype dtype_of = std::is_same_v<T, float> ? kernel::Dtype::f32 : kernel::Dtype::f64;

template <typename T>
FlatTensor tensor(const std::vector<T>& values) {
  return {dtype_of<T>, {static_cast<int64_t>(values.size())}, Blob::copy_of(values.data(), values.size() * sizeof(T))};
}

/// What each rank brings: values whose sums depend on the order in which they are added.
template <typename T>
std::vector<std::vector<T>> inputs_of(uint64_t seed, uint32_t ranks, size_t count) {
  Rng rng(seed);
  std::vector<std::vector<T>> inputs(ranks, std::vector<T>(count));
  for (std::vector<T>& values : inputs) {
    for (T& value : values) value = static_cast<T>((rng.uniform() - 0.4) * (rng.below(2) == 0 ? 1.0 : 1000.0));
  }
  return inputs;
}

template <typename T>
T combine(CollectiveOp op, T a, T b) {
  switch (op) {
    case CollectiveOp::min: return std::min(a, b);
    case CollectiveOp::max: return std::max(a, b);
    case CollectiveOp::prod: return a * b;
    default: return a + b;
  }
}

/// In rank order, as the contract says.
template <typename T>
std::vector<T> expected(CollectiveOp op, const std::vector<std::vector<T>>& inputs) {
  std::vector<T> total = inputs[0];
  for (size_t rank = 1; rank < inputs.size(); ++rank) {
    for (size_t i = 0; i < total.size(); ++i) total[i] = combine(op, total[i], inputs[rank][i]);
  }
  if (op == CollectiveOp::mean) {
    for (T& value : total) value /= static_cast<T>(inputs.size());
  }
  return total;
}

constexpr CollectiveOp kOps[] = {CollectiveOp::sum, CollectiveOp::mean, CollectiveOp::min, CollectiveOp::max,
                                 CollectiveOp::prod};

/// Lets threads through in a given order: the position of each is its turn.
class Turnstile {
 public:
  explicit Turnstile(std::vector<uint32_t> turns) : turns_(std::move(turns)) {}
  void pass(uint32_t who) {
    while (turn_.load() != turns_[who]) std::this_thread::yield();
    turn_.fetch_add(1);
  }

 private:
  std::vector<uint32_t> turns_;
  std::atomic<uint32_t> turn_{0};
};

std::vector<uint32_t> random_order(Rng& rng, uint32_t count) {
  std::vector<uint32_t> all(count);
  for (uint32_t i = 0; i < count; ++i) all[i] = i;
  std::vector<uint32_t> order(count);
  rng.sample(all, count, order.data());
  return order;
}

struct Outcome {
  Status status;
  FlatTensor result;
};

/// One all-reduce by every worker of a run alone, entered in the order of `turns`.
template <typename T>
std::vector<Outcome> reduce_all(TestProcess& process, std::vector<std::unique_ptr<PlainCollective>>& collectives,
                                CollectiveOp op, const std::vector<std::vector<T>>& inputs,
                                const std::vector<uint32_t>& turns) {
  std::vector<Outcome> outcomes(process.nodes.size());
  Turnstile turnstile(turns);
  process.launch([&](Node& node) {
    const FlatTensor input = tensor(inputs[node.index()]);
    turnstile.pass(node.index());
    auto result = collectives[node.index()]->allreduce(input, op, "job.lua:1");
    Outcome& outcome = outcomes[node.index()];
    if (!result) {
      outcome.status = result.error();
    } else {
      outcome.result = std::move(*result);
    }
  });
  process.join();
  return outcomes;
}

std::vector<std::unique_ptr<PlainCollective>> collectives_of(TestProcess& process) {
  std::vector<std::unique_ptr<PlainCollective>> list;
  for (const auto& node : process.nodes) list.push_back(std::make_unique<PlainCollective>(*node));
  return list;
}

template <typename T>
void check_all_ops(uint32_t ranks, uint64_t seed) {
  TestProcess process(TestProcess::alone(ranks));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  Rng rng(seed);
  for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{100003}}) {
    const auto inputs = inputs_of<T>(seed, ranks, count);
    for (const CollectiveOp op : kOps) {
      INFO("seed " << seed << ", " << ranks << " ranks, " << count << " elements, op " << static_cast<int>(op));
      const auto outcomes = reduce_all<T>(process, collectives, op, inputs, random_order(rng, ranks));
      const std::vector<T> wanted = expected<T>(op, inputs);
      for (const Outcome& outcome : outcomes) {
        REQUIRE(outcome.status.ok());
        REQUIRE(outcome.result.dtype == dtype_of<T>);
        REQUIRE(outcome.result.count() == static_cast<int64_t>(count));
        REQUIRE(outcome.result.data.size() == count * sizeof(T));
        REQUIRE((count == 0 || std::memcmp(outcome.result.data.data(), wanted.data(), count * sizeof(T)) == 0));
      }
    }
  }
}

FlatTensor ones(size_t count) { return tensor(std::vector<float>(count, 1)); }

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

TEST_CASE("every operation combines in rank order, bit for bit on all ranks, whoever comes first") {
  for (const uint32_t ranks : {1U, 2U, 3U, 5U, 8U}) {
    check_all_ops<float>(ranks, 40 + ranks);
    check_all_ops<double>(ranks, 50 + ranks);
  }
}

TEST_CASE("a result is each rank's own and the input is left alone") {
  TestProcess process(TestProcess::alone(3));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  const FlatTensor input = ones(4);
  std::vector<FlatTensor> results(3);
  process.launch([&](Node& node) {
    results[node.index()] = *collectives[node.index()]->allreduce(input, CollectiveOp::sum, "job.lua:1");
  });
  process.join();
  for (size_t i = 0; i < 3; ++i) {
    CHECK(results[i].data.unique());
    CHECK(results[i].data.data() != results[(i + 1) % 3].data.data());
  }
  CHECK(input.data.view() == ones(4).data.view());
}

TEST_CASE("a scalar and a matrix keep their shape") {
  TestProcess process(TestProcess::alone(2));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  std::vector<std::vector<int64_t>> shapes(4);
  process.launch([&](Node& node) {
    PlainCollective& collective = *collectives[node.index()];
    const float one = 1;
    const FlatTensor scalar{kernel::Dtype::f32, {}, Blob::copy_of(&one, sizeof one)};
    FlatTensor matrix = ones(6);
    matrix.shape = {2, 3};
    const auto a = collective.allreduce(scalar, CollectiveOp::sum, "job.lua:1");
    const auto b = collective.allreduce(matrix, CollectiveOp::sum, "job.lua:2");
    shapes[2 * node.index()] = a->shape;
    shapes[2 * node.index() + 1] = b->shape;
  });
  process.join();
  for (size_t i = 0; i < 2; ++i) {
    CHECK(shapes[2 * i].empty());
    CHECK(shapes[2 * i + 1] == std::vector<int64_t>{2, 3});
  }
}

TEST_CASE("nobody leaves a barrier before the last has come") {
  TestProcess process(TestProcess::alone(5));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  std::atomic<int> come{0};
  std::atomic<int> early{0};
  process.launch([&](Node& node) {
    for (int round = 1; round <= 50; ++round) {
      ++come;
      if (!collectives[node.index()]->barrier("job.lua:1")) ++early;
      early += come.load() < 5 * round;
      if (!collectives[node.index()]->barrier("job.lua:2")) ++early;
    }
  });
  process.join();
  CHECK(early == 0);
}

TEST_CASE("ranks that disagree all hear both ranks and both lines, and can go on") {
  const std::vector<std::function<Status(PlainCollective&)>> others = {
      [](PlainCollective& c) { return c.barrier("job.lua:20"); },
      [](PlainCollective& c) -> Status {
        auto r = c.allreduce(ones(3), CollectiveOp::max, "job.lua:20");
        return r ? Status() : Status(r.error());
      },
      [](PlainCollective& c) -> Status {
        auto r = c.allreduce(ones(4), CollectiveOp::sum, "job.lua:20");
        return r ? Status() : Status(r.error());
      },
      [](PlainCollective& c) -> Status {
        auto r = c.allreduce(tensor(std::vector<double>(3, 1)), CollectiveOp::sum, "job.lua:20");
        return r ? Status() : Status(r.error());
      },
  };
  TestProcess process(TestProcess::alone(4));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  Rng rng(3);
  for (const auto& other : others) {
    Turnstile turnstile(random_order(rng, 4));
    std::vector<Status> statuses(4);
    std::vector<Status> after(4);
    process.launch([&](Node& node) {
      const NodeId id = node.index();
      turnstile.pass(id);
      if (id == 2) {
        statuses[id] = other(*collectives[id]);
      } else {
        auto r = collectives[id]->allreduce(ones(3), CollectiveOp::sum, "job.lua:10");
        if (!r) statuses[id] = r.error();
      }
      after[id] = collectives[id]->barrier("job.lua:30");
    });
    process.join();
    for (const Status& status : statuses) {
      REQUIRE_FALSE(status.ok());
      CHECK(status.error().code == Code::mismatch);
      CHECK_THAT(status.error().message, Contains("rank 0 is in allreduce sum float32[3] at job.lua:10") &&
                                             Contains("rank 2 is in ") && Contains("job.lua:20"));
    }
    for (const Status& status : after) CHECK(status.ok());
  }
}

TEST_CASE("a call that failed leaves no frame behind") {
  TestProcess process(TestProcess::alone(4));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  for (int round = 0; round < 20; ++round) {
    process.launch([&](Node& node) {
      const NodeId id = node.index();
      (void)collectives[id]->allreduce(ones(id == 3 ? 5 : 6), CollectiveOp::sum, "job.lua:1");
    });
    process.join();
  }
  process.launch([&](Node& node) { (void)collectives[node.index()]->barrier("job.lua:2"); });
  process.join();
  process.launch([&](Node& node) { (void)collectives[node.index()]->barrier("job.lua:3"); });
  process.join();
  for (const auto& node : process.nodes) CHECK(node->port().kept() == 0);
}

TEST_CASE("a rank whose script has ended is named on all others") {
  TestProcess process(TestProcess::alone(3));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  std::vector<Status> statuses(3);
  process.launch([&](Node& node) {
    if (node.index() == 2) return node.cluster().report_ended(node.index(), node.actions());
    statuses[node.index()] = collectives[node.index()]->barrier("job.lua:7");
  });
  process.join();
  for (size_t i = 0; i < 2; ++i) {
    REQUIRE_FALSE(statuses[i].ok());
    CHECK(statuses[i].error().code == Code::mismatch);
    CHECK_THAT(statuses[i].error().message,
               Contains("is in barrier at job.lua:7") && Contains("rank 2 has come to the end of its script"));
  }
}

TEST_CASE("a rank that is in an action is named with its line") {
  TestProcess process(TestProcess::alone(2));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  Status status;
  process.launch([&](Node& node) {
    if (node.index() == 1) {
      (void)node.enter_action("param.run", "job.lua:30");
      return;
    }
    status = collectives[0]->barrier("job.lua:7");
  });
  process.join();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == Code::mismatch);
  CHECK_THAT(status.error().message, Contains("rank 1 is in param.run at job.lua:30"));
}

TEST_CASE("a timeout names the rank that is missing, on every rank, and the next call works") {
  TestProcess process(TestProcess::alone(3));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  std::vector<Status> statuses(3);
  std::atomic<int> failed{0};
  process.launch([&](Node& node) {
    const NodeId id = node.index();
    if (id == 1) {  // comes when the others have given up
      while (failed.load() < 2) std::this_thread::yield();
    }
    statuses[id] = collectives[id]->barrier("job.lua:1", 0.1);
    ++failed;
  });
  process.join();
  for (const NodeId id : {0U, 2U}) {
    REQUIRE_FALSE(statuses[id].ok());
    CHECK(statuses[id].error().code == Code::timeout);
    CHECK(statuses[id].error().message == "barrier: rank 1 has not answered in time");
  }
  CHECK_FALSE(statuses[1].ok());
  process.launch([&](Node& node) { statuses[node.index()] = collectives[node.index()]->barrier("job.lua:2"); });
  process.join();
  for (const Status& status : statuses) CHECK(status.ok());
}

TEST_CASE("a collective of a server says what to do") {
  TestProcess process(TestProcess::alone(1));
  REQUIRE(process.start().ok());
  REQUIRE(process.nodes[0]->start_servers(kAnyAction).ok());
  PlainCollective collective(*process.servers[0]);
  const Status status = collective.barrier("job.lua:1");
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(status.error().message, Contains("server 0") && Contains("guard with actor.role"));
}

TEST_CASE("the end of the run ends a collective") {
  TestProcess process(TestProcess::alone(3));
  REQUIRE(process.start().ok());
  auto collectives = collectives_of(process);
  std::vector<Status> statuses(3);
  process.launch([&](Node& node) {
    if (node.index() == 1) {
      return node.cluster().report_error(node.address(), {Code::script, false, "rank 1: boom", node.address()});
    }
    statuses[node.index()] = collectives[node.index()]->barrier("job.lua:1");
  });
  process.join();
  for (const NodeId id : {0U, 2U}) {
    REQUIRE_FALSE(statuses[id].ok());
    CHECK(statuses[id].error().code == Code::aborted);
  }
}

namespace {

constexpr size_t kMostRounds = 100'000;
constexpr uint32_t kBefore = 10;  // rounds that everybody makes

/// All-reduces of ones by four hosts, again and again, of which one vanishes: what each of the others got, call by
/// call, until they have made one without it. "4", "3", or the error.
std::vector<std::vector<std::string>> rounds_with_a_loss(uint32_t lost, bool lost_stays_away) {
  TestRun run("tcp", {1, 1, 1, 1});
  std::vector<std::vector<std::string>> outcomes(4);
  std::atomic<uint32_t> together{0};
  std::atomic<int> changed_inputs{0};
  run.launch([&](Node& node) {
    PlainCollective collective(node);
    const uint32_t id = node.index();
    const FlatTensor input = ones(1000);
    for (size_t round = 0; round < kMostRounds; ++round) {
      if (id == lost && lost_stays_away && round == kBefore) return;
      auto got = collective.allreduce(input, CollectiveOp::sum, "job.lua:1", kPatience);
      std::vector<float> values(1000);
      if (got) std::memcpy(values.data(), got->data.data(), 1000 * sizeof(float));
      const bool same = std::all_of(values.begin(), values.end(), [&](float value) { return value == values[0]; });
      outcomes[id].push_back(!got ? got.error().message : same ? std::to_string(std::lround(values[0])) : "a mixture");
      changed_inputs += input.data.view() != ones(1000).data.view();
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

TEST_CASE("when a rank is lost all others hear its name in the same call, inputs stay, and they go on without it") {
  for (const uint32_t lost : {1U, 2U, 3U}) {
    bool failed = false;  // the loss may fall between two calls
    for (int attempt = 0; attempt < 20 && (!failed || attempt < 4); ++attempt) {
      INFO("rank " << lost << ", attempt " << attempt);
      const auto outcomes = rounds_with_a_loss(lost, attempt % 2 == 0);
      REQUIRE(outcomes[1] == outcomes[0]);
      REQUIRE(outcomes[2] == outcomes[0]);
      const std::vector<std::string>& calls = outcomes[0];
      const auto full = static_cast<size_t>(std::count(calls.begin(), calls.end(), "4"));
      REQUIRE(full >= kBefore);
      std::vector<std::string> after(calls.begin() + static_cast<std::ptrdiff_t>(full), calls.end());
      if (after.size() == 2) {
        CHECK(after[0] == "allreduce: rank " + std::to_string(lost) + " lost");
        after.erase(after.begin());
        failed = true;
      }
      CHECK(after == std::vector<std::string>{"3"});
    }
    CHECK(failed);
  }
}

TEST_CASE("a big tensor is reduced between hosts") {
  TestRun run("tcp", {1, 2});
  const auto inputs = inputs_of<float>(9, 3, 600'000);
  const std::vector<float> wanted = expected<float>(CollectiveOp::sum, inputs);
  std::atomic<int> right{0};
  run.everywhere([&](Node& node) {
    PlainCollective collective(node);
    auto r = collective.allreduce(tensor(inputs[node.index()]), CollectiveOp::sum, "job.lua:1");
    right += r.ok() && std::memcmp(r->data.data(), wanted.data(), wanted.size() * sizeof(float)) == 0;
  });
  CHECK(right == 3);
}
