#include "host/engine/average/replica.hpp"
#include "tests/test.hpp"

namespace {

/// A model of one tensor of doubles.
struct Model {
  explicit Model(std::vector<double> values, double long_step = 1e9)
      : bytes(Blob::copy_of(values.data(), values.size() * sizeof(double))),
        replica({{"w", Dtype::f64, bytes}}, long_step, clock, [this] { ++wakes; }) {}

  double& at(size_t i) { return reinterpret_cast<double*>(bytes.data())[i]; }
  double copied(size_t i) { return reinterpret_cast<const double*>(replica.copy().data())[i]; }
  static AverageResult sum_of(std::vector<double> values, uint32_t count) {
    return {{Blob::copy_of(values.data(), values.size() * sizeof(double))}, count};
  }

  ManualClock clock;
  Blob bytes;
  std::atomic<int> wakes{0};
  AverageReplica replica;
};

using ReplicaCopied = AverageReplica::Copied;

}  // namespace

TEST_CASE("a copy is made at once between steps, and at the end of a running step") {
  Model model({1, 2});
  model.replica.request_copy();
  CHECK(model.replica.copied() == ReplicaCopied::yes);
  CHECK(model.copied(1) == 2);
  model.replica.forget_copy(false);

  REQUIRE(model.replica.lock().ok());
  model.at(1) = 5;
  model.replica.request_copy();
  CHECK(model.replica.copied() == ReplicaCopied::no);
  model.at(1) = 6;
  REQUIRE(model.replica.unlock().ok());
  CHECK(model.wakes == 1);
  CHECK(model.replica.copied() == ReplicaCopied::yes);
  CHECK(model.copied(1) == 6);
}

TEST_CASE("a change keeps the steps made since the copy and waits for the end of a running step") {
  Model model({1, 2});
  model.replica.request_copy();
  REQUIRE(model.replica.lock().ok());
  model.at(0) += 10;
  model.replica.apply(Model::sum_of({5, 6}, 2), false, 16);
  CHECK(model.at(0) == 11);
  model.at(1) += 10;
  REQUIRE(model.replica.unlock().ok());
  CHECK(model.at(0) == 11 + (2.5 - 1));
  CHECK(model.at(1) == 12 + (3.0 - 2));
  const auto stats = model.replica.stats();
  CHECK((stats.rounds == 1 && stats.bytes == 16 && stats.staleness == 1 && stats.age == 0));

  model.replica.request_copy();
  model.replica.apply(Model::sum_of({7, 8}, 2), true, 0);
  CHECK(model.at(0) == 3.5);
  CHECK(model.at(1) == 4);
}

TEST_CASE("a model far from the mean takes the mean and its own steps without a rounding error") {
  Model model({1e17, 1e17});
  model.replica.request_copy();
  model.at(1) += 16;
  model.replica.apply(Model::sum_of({5, 5}, 2), false, 0);
  CHECK(model.at(0) == 2.5);
  CHECK(model.at(1) == 18.5);
}

TEST_CASE("a worker with long steps copies its model before the step, and serves one round from it") {
  Model model({1}, 0.5);
  REQUIRE(model.replica.lock().ok());
  model.clock.advance(1);
  REQUIRE(model.replica.unlock().ok());
  REQUIRE(model.replica.lock().ok());
  model.at(0) = 9;  // in the middle of an update
  model.replica.request_copy();
  CHECK(model.replica.copied() == ReplicaCopied::yes);
  CHECK(model.copied(0) == 1);
  model.replica.apply(Model::sum_of({6}, 2), false, 0);
  model.replica.request_copy();
  CHECK(model.replica.copied() == ReplicaCopied::refused);
  model.replica.forget_copy(true);
  model.clock.advance(1);
  REQUIRE(model.replica.unlock().ok());
  CHECK(model.at(0) == 9 + (3.0 - 1));
  CHECK(model.replica.stats().missed == 1);
  model.replica.request_copy();
  CHECK(model.replica.copied() == ReplicaCopied::yes);
}

TEST_CASE("a referenced copy is not overwritten") {
  Model model({1});
  model.replica.request_copy();
  const Blob lent = model.replica.copy();
  model.replica.broken();
  model.at(0) = 2;
  model.replica.request_copy();
  CHECK(model.copied(0) == 2);
  CHECK(*reinterpret_cast<const double*>(lent.data()) == 1);
}

TEST_CASE("a model that is not finite is in no round, and its worker gets one error") {
  const double bad = GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity());
  Model model({1, 2, bad});
  model.replica.request_copy();
  CHECK(model.replica.copied() == ReplicaCopied::refused);
  CHECK(model.replica.fault() == "tensor 'w' is not finite at element 3, so it cannot be averaged");
  model.replica.forget_copy(true);
  const Status locked = model.replica.lock();
  REQUIRE(!locked.ok());
  CHECK_THAT(locked.error().message, Contains("tensor 'w'"));
  CHECK(!model.replica.held());
  model.at(2) = 3;
  REQUIRE(model.replica.lock().ok());
  REQUIRE(model.replica.unlock().ok());
  model.replica.request_copy();
  CHECK(model.replica.copied() == ReplicaCopied::yes);
}

TEST_CASE("one buffer has the tensors of both types, one type after the other") {
  const SteadyClock clock;
  const float f[3] = {1, 2, 3};
  const double d[2] = {4, 5};
  AverageReplica replica({{"a", Dtype::f32, Blob::copy_of(f, 4)},
                          {"b", Dtype::f64, Blob::copy_of(d, 16)},
                          {"c", Dtype::f32, Blob::copy_of(f + 1, 8)},
                          {"empty", Dtype::f64, Blob()}},
                         1, clock, [] {});
  const AverageLayout& layout = replica.layout();
  REQUIRE(layout.segments.size() == 2);
  CHECK((layout.segments[0].elements == 3 && layout.segments[1].elements == 2));
  CHECK(layout.segments[1].begin % kBlobAlignment == 0);
  CHECK(layout.bytes == layout.segments[1].begin + 16);
  replica.request_copy();
  const Blob copy = replica.copy();
  CHECK(copy.view().substr(0, sizeof f) == std::string_view(reinterpret_cast<const char*>(f), sizeof f));
  CHECK(copy.view().substr(layout.segments[1].begin) == std::string_view(reinterpret_cast<const char*>(d), sizeof d));
}

TEST_CASE("copies and changes from another thread never interleave with a step") {
  constexpr size_t kElements = 2000;
  Model model(std::vector<double>(kElements, 0));
  constexpr int kSteps = 20000;
  std::thread worker([&] {
    for (int step = 0; step < kSteps; ++step) {
      REQUIRE(model.replica.lock().ok());
      for (size_t i = 0; i < kElements; ++i) model.at(i) += 1;
      REQUIRE(model.replica.unlock().ok());
    }
  });
  bool whole = true;
  int rounds = 0;
  while (model.replica.stats().steps < kSteps && whole) {
    model.replica.request_copy();
    while (model.replica.copied() == ReplicaCopied::no && model.replica.stats().steps < kSteps)
      std::this_thread::yield();
    if (model.replica.copied() != ReplicaCopied::yes) break;
    const Blob copy = model.replica.copy();
    const auto* values = reinterpret_cast<const double*>(copy.data());
    for (size_t i = 1; i < kElements; ++i) whole = whole && values[i] == values[0];
    model.replica.apply({{Blob::copy_of(copy.data(), copy.size())}, 1}, false, 0);
    ++rounds;
  }
  worker.join();
  CHECK(whole);
  CHECK(rounds > 0);
  for (size_t i = 0; i < kElements; ++i) REQUIRE(model.at(i) == kSteps);
}
