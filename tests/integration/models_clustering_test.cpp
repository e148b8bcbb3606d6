// k-means and topic models of examples/models beside plain loops.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Finished run_on(const std::string& place, const JobFolder& folder, const Words& words) {
  return place.size() == 1 ? folder.run(with({"-n", place}, words), 60) : run_at(place, folder, words, 60);
}

double last_likelihood(const std::string& out) {
  return std::stod(line_after(out, "round  50: log likelihood of a token "));
}

}  // namespace

TEST_CASE("k-means finds the same centroids in Harp's four ways as a plain loop", "[deep]") {
  const JobFolder folder;
  // The second problem has more nodes than clusters or points in most runs, the third has clusters without points.
  const Words problem = GENERATE(Words{"--points", "2000", "--clusters", "7", "--dims", "3", "--iterations", "8"},
                                 Words{"--points", "4", "--clusters", "2", "--dims", "1", "--iterations", "3"},
                                 Words{"--points", "3", "--clusters", "9", "--dims", "2", "--iterations", "2"});
  const Finished plain =
      folder.run(with({"-n", "1", "--seed", "5", "jobs/models_clustering.lua", "plain_means"}, problem));
  REQUIRE(plain.status == 0);
  const Words ways = {"allreduce", "regroup", "push", "rotation"};
  for (const std::string place : {"1", "2", "5", "8", "isolate", "hosts"}) {
    const auto runs = run_together(ways.size(), [&](size_t i) {
      return run_on(place, folder, with({"--seed", "5", model_file("kmeans.lua"), "--way", ways[i]}, problem));
    });
    for (const Finished& run : runs) {
      INFO(run.description);
      CHECK(run.status == 0);
      CHECK(run.out == plain.out);
    }
  }
}

TEST_CASE("topics by rotation are as likely as the topics of a plain sampler, and likelier than at the start",
          "[deep]") {
  const JobFolder folder;
  folder.write("lda.lua", read_text(model_file("lda.lua")));
  folder.write("job.lua", job_text("models_clustering.lua"));  // beside the module that it requires
  const Finished plain = folder.run({"-n", "1", "--seed", "1", "job.lua", "plain_topics"}, 60);
  INFO(plain.description);
  const double likelihood = std::stod(line_after(plain.out, "plain sampler: "));
  for (const std::string place : {"1", "2", "5", "8", "isolate", "hosts"}) {
    const Ended run(run_on(place, folder, {"--seed", "1", model_file("lda.lua")}));
    CHECK(last_likelihood(run.out) == Approx(likelihood).margin(0.02));
    CHECK(std::stod(line_after(run.out, "round   1: log likelihood of a token ")) < likelihood - 1);
    // Each topic of the generated texts is found: its most frequent words are the first of its 25 words.
    for (const char* words : {"words 0 1 2 ", "words 25 26 27 ", "words 50 51 52 ", "words 75 76 77 "}) {
      CHECK_THAT(run.out, Contains(words));
    }
  }
}

TEST_CASE("rotated counts of words by topic lose and invent no token", "[deep]") {
  const JobFolder folder;
  folder.write("lda.lua", read_text(model_file("lda.lua")));
  folder.write("job.lua", job_text("models_clustering.lua"));  // beside the module that it requires
  const std::string place = GENERATE(as<std::string>(), "1", "2", "5", "8", "isolate", "hosts");
  const std::string texts = GENERATE(as<std::string>(), "100", "3");
  const Ended run(run_on(place, folder, {"--seed", "1", "job.lua", "counted", texts}));
  CHECK_THAT(run.out, Contains("rounds counted: 6"));
}
