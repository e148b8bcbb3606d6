#include "bindings/modules/array/batch_loader.hpp"

#include <chrono>
#include <future>

#include "tests/test.hpp"

namespace {

using Numbers = std::vector<int32_t>;

// Copies positions; 0 is an invalid position.
int64_t copy_positions(const void* positions, void* out) {
  const auto* head = static_cast<const int32_t*>(positions);
  auto* to = static_cast<int32_t*>(out);
  for (int32_t i = 0; i < *head; ++i) {
    if (head[i + 1] == 0) return i + 1;
    to[i] = head[i + 1];
  }
  return 0;
}

}  // namespace

TEST_CASE("a batch loader gathers batches in the order of submission, on either thread") {
  BatchLoader loader({copy_positions, copy_positions});
  constexpr int kBatches = 2000;
  std::vector<std::vector<Numbers>> outs(kBatches, {Numbers(3), Numbers(3)});
  int submitted = 0;
  for (int i = 0; i < kBatches; ++i) {
    for (; submitted < std::min(i + 1 + i % 4, kBatches); ++submitted) {
      auto& out = outs[static_cast<size_t>(submitted)];
      loader.submit({3, submitted + 1, 7, submitted % 10}, {{{}, out[0].data()}, {{}, out[1].data()}});
    }
    const auto misfit = loader.take();
    const auto& out = outs[static_cast<size_t>(i)];
    CHECK(misfit.at == (i % 10 == 0 ? 3 : 0));
    CHECK(misfit.source == 0);
    if (i % 10 != 0) CHECK(out == std::vector<Numbers>(2, Numbers{i + 1, 7, i % 10}));
  }
}

TEST_CASE("the destructor of a batch loader waits for the batch in progress") {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::future<void> may_go_on = go_on.get_future();
  std::atomic<int> gathered{0};
  auto loader = std::make_unique<BatchLoader>(std::vector<Gather>{[&](const void*, void*) -> int64_t {
    if (gathered++ == 0) {
      begun.set_value();
      may_go_on.wait();
    }
    return 0;
  }});
  for (int i = 0; i < 3; ++i) loader->submit({0}, {{{}, nullptr}});
  begun.get_future().wait();
  auto ended = std::async(std::launch::async, [&] { loader.reset(); });
  CHECK(ended.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  go_on.set_value();
  ended.wait();
  CHECK(gathered >= 1);
}
