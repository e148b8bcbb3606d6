// How much of --memory the reading of data sets takes.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("a LIBSVM file whose dense matrix exceeds a node's share of --memory is refused, and read as sparse") {
  const JobFolder folder;
  folder.write("t.svm", "1 1:1\n-1 90000000:2\n");
  const Ended run(folder.run({"-n", "1", "--memory", "1G", "jobs/data_memory.lua"}), 1);
  CHECK(run.out == "sparse rows(2 x 90000000, 2 values, float32)\t-1\n");
  CHECK(run.err.find("data_memory.lua:6: t.svm: 2 rows of 90000000 features (sparse = true stores only the") !=
        std::string::npos);
  CHECK(run.err.find("bytes that a node may use (--memory)") != std::string::npos);
}
