// Random pipelines (mapreduce_model.lua) on one VM and elsewhere: each matches a model, in the same order, and plans
// that differ are refused.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// The number of cases with a refused rank.
size_t refused_in(const JobFolder& folder) {
  std::set<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("refused-")) cases.insert(name.substr(0, name.find('.')));
  }
  return cases.size();
}

/// Compares the cases from `begin` to `end`, in hundredths of all, on one node and at `place`.
void compare(int begin, int end, const std::string& place) {
  const int all = static_cast<int>(number_of("ACTORHOST_RANDOM_PIPELINES", 500));
  const int first = all * begin / 100 + 1;
  const int cases = all * end / 100 + 1 - first;
  const std::string seed = std::to_string(number_of("ACTORHOST_RANDOM_SEED", 11));
  const std::string model = (source_dir() / "tests/integration/jobs/mapreduce_model.lua").string();
  const Words words = {model, seed, std::to_string(cases), std::to_string(first)};
  const double seconds = 60 + cases / 2.0;
  const JobFolder here;
  const Ended one(here.run(with({"-n", "1", "--log-level", "error"}, words), seconds));
  const JobFolder there;
  const Ended other(run_at(place, there, with(words, {"shuffled"}), seconds));
  const Words expected = lines_of(one.out);
  const Words got = lines_of(other.out);
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i + 1 < expected.size(); ++i)
    CHECK(got[i] == expected[i]);  // the last line is the number of refused plans
  CHECK(got.back() == std::to_string(refused_in(there)) + " plans were to be refused");
  CHECK(refused_in(there) > 0);
}

}  // namespace

TEST_CASE("random pipelines on two nodes match one node and the model", "[deep]") { compare(0, 40, "threads:2"); }

TEST_CASE("random pipelines on three nodes match one node", "[deep]") { compare(40, 70, "threads"); }

TEST_CASE("random pipelines in three processes match one node", "[deep]") { compare(70, 85, "isolate"); }

TEST_CASE("random pipelines on three hosts match one node", "[deep]") { compare(85, 100, "hosts"); }
