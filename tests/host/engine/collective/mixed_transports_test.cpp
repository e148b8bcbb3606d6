// Some ranks of a process use shared memory, another rank takes frames.

#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/test.hpp"

TEST_CASE("when one rank takes frames and the others use shared memory the errors name both lines") {
  TestProcess process(4);
  Callers callers(process);
  Rng rng(5);
  const auto call = [&](NodeId id, Algorithm algorithm, size_t count) -> Status {
    CallSpec spec = spec_of(CollectiveKind::allreduce, "allreduce", "job.lua:" + std::to_string(10 + id));
    spec.signature += std::string(" ") + algorithm_name(algorithm);
    spec.choice.forced = algorithm;
    spec.input = bytes_of(std::vector<float>(count, 1));
    Collectives& collectives = callers[id].collectives();
    auto result = collectives.run(collectives.all_workers(), std::move(spec));
    return result ? Status() : Status(result.error());
  };
  for (const NodeId odd : {0U, 1U, 3U}) {
    for (const Algorithm algorithm : {Algorithm::star, Algorithm::ring, Algorithm::ring}) {
      for (const size_t count : {size_t{3}, size_t{30000}}) {
        INFO("rank " << odd << " by " << algorithm_name(algorithm) << ", " << count << " elements");
        Turnstile turnstile(random_order(rng, 4));
        std::vector<Status> statuses(4);
        std::vector<Status> after(4);
        process.everywhere([&](Node& node) {
          const NodeId id = node.index();
          turnstile.pass(id);
          statuses[id] = call(id, id == odd ? algorithm : Algorithm::automatic, count);
          after[id] = callers[id].barrier("job.lua:30");
        });
        for (const Status& status : statuses) {
          REQUIRE_FALSE(status.ok());
          INFO(status.error().message);
          CHECK(status.error().code == Code::mismatch);
          // The leader compares itself with the first announcement; a leader that differs may compare with any rank.
          CHECK_THAT(status.error().message, Contains("rank 0 is in allreduce") && Contains("at job.lua:10") &&
                                                 Contains(algorithm_name(algorithm)));
          if (odd != 0) CHECK_THAT(status.error().message, Contains("at job.lua:" + std::to_string(10 + odd)));
        }
        for (const Status& status : after) CHECK(status.ok());
      }
    }
  }
}
