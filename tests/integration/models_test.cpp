// The four models of computation of examples/models: they reach the same error, and each provides its guarantees.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Finished run_monitored(const std::string& place, const Words& arguments) {
  const JobFolder folder;
  for (const char* name : {"factorisation", "course", "locking", "rotation", "allreduce", "async"}) {
    const std::string file = std::string(name) + ".lua";
    folder.write(file, read_text(model_file(file)));
  }
  folder.write("job.lua", job_text("models.lua"));  // beside the modules that it requires
  const Words words = with({"--seed", "3", "job.lua"}, arguments);
  return place.size() == 1 ? folder.run(with({"-n", place}, words), 60) : run_at(place, folder, words, 60);
}

constexpr int kUpdates = 5 * 60;  // of a rank

int nodes_at(const std::string& place) { return place.size() == 1 ? std::stoi(place) : 3; }

}  // namespace

TEST_CASE("all four models of computation reach the same error, for any number of nodes, in processes and on hosts",
          "[deep]") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "2", "3", "5", "8", "isolate", "hosts");
  // An asynchronous rank completes more epochs while another rank waits for a processor: no limit is large enough.
  const Words problem = {"--rows", "80", "--columns", "60", "--rank", "3", "--rate", "0.1", "--epochs", "1000000000"};
  const Words words = with({"--seed", "3", model_file("compare.lua"), "--to", "figures"}, problem);
  const Ended run(place.size() == 1 ? folder.run(with({"-n", place}, words), 100) : run_at(place, folder, words, 100));
  for (const std::string model : {"A locking", "B rotation", "C all-reduce"}) {
    CHECK(std::stod(line_after(run.out, model)) < 0.005);
  }
  // The error includes updates in flight when one rank finds it small enough.
  CHECK(std::stod(line_after(run.out, "D no barrier")) < 0.02);
  // Columns synchronised by locks or rotation are never stale; columns combined after an epoch are.
  CHECK_THAT(line_after(run.out, "A locking"), Contains("%   0.00, at most 0"));
  CHECK_THAT(line_after(run.out, "B rotation"), Contains("%   0.00, at most 0"));
  const auto stale = line_after(run.out, "C all-reduce").find("%   0.00, at most 0");
  CHECK((stale == std::string::npos) == (nodes_at(place) > 1));
  for (const char* figure : {"time", "epochs"}) {
    const std::string svg = read_text(folder.path() / "figures" / (std::string(figure) + ".svg"));
    for (const char* model : {"A locking", "B rotation", "C all-reduce", "D no barrier"})
      CHECK_THAT(svg, Contains(model));
    CHECK_THAT(svg, Contains("root of the mean squared error"));
  }
  const std::string curves = read_text(folder.path() / "figures/curves.csv");
  CHECK_THAT(curves, Catch::StartsWith("model,epochs,seconds,rmse\nA locking,1,") && Contains("\nC all-reduce,1,") &&
                         Contains("\nD no barrier,"));
  CHECK(count_of(read_text(folder.path() / "figures/models.csv"), "\n") == 5);
}

TEST_CASE("under locks and by rotation one node at a time works on a column, and no update is lost", "[deep]") {
  const Words model = GENERATE(Words{"locking"}, Words{"locking", "events"}, Words{"rotation"});
  const std::string place = GENERATE(as<std::string>(), "1", "2", "5", "8", "threads", "isolate", "hosts");
  const Ended run(run_monitored(place, model));
  const std::string updates = std::to_string(nodes_at(place) * kUpdates);
  CHECK(line_after(run.out, "met at a column: ") == "0");
  CHECK(line_after(run.out, "updates made: ") == updates);
  CHECK(line_after(run.out, "updates kept: ") == updates);
  CHECK(line_after(run.out, "made from the same: ") == "0");
}

TEST_CASE("by all-reduce and without a barrier no update is lost, although some updates do not see others", "[deep]") {
  const Words model = GENERATE(Words{"allreduce", "allreduce"}, Words{"allreduce", "regroup"},
                               Words{"allreduce", "push"}, Words{"async"}, Words{"async", "events"});
  const std::string place = GENERATE(as<std::string>(), "1", "5", "threads", "isolate", "hosts");
  const Ended run(run_monitored(place, model));
  const int n = nodes_at(place);
  const std::string updates = line_after(run.out, "updates made: ");
  CHECK(updates == std::to_string(n * kUpdates));
  CHECK(line_after(run.out, "updates kept: ") == updates);
  // The ranks' updates of an epoch all start from the last result; the staleness of asynchronous updates varies.
  if (model[0] == "allreduce") CHECK(line_after(run.out, "made from the same: ") == std::to_string((n - 1) * kUpdates));
}
