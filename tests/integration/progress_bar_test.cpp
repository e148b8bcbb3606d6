// The progress bar, in a terminal of a given width and without a terminal.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// Runs a job of jobs/progress_bar.lua in a terminal; returns the terminal's output.
Finished run_in_terminal(const JobFolder& folder, int columns, const std::string& flags, const std::string& job) {
  const std::string command = "stty cols " + std::to_string(columns) + " rows 24; exec " +
                              shell_word(actorhost_binary()) + " -n 2 --log-level warn " + flags +
                              " jobs/progress_bar.lua " + job;
  return run_program("script", {"-qec", command, "/dev/null"}, 20, folder.options());
}

/// The successive texts of the line that is cleared and written again.
Words drawn(const std::string& text) {
  const std::string clear = "\r\x1b[K";
  Words all;
  for (size_t at = text.find(clear); at != std::string::npos; at = text.find(clear, at)) {
    at += clear.size();
    all.push_back(text.substr(at, text.find_first_of("\r\n", at) - at));
  }
  return all;
}

}  // namespace

TEST_CASE("the progress bar fits the terminal and leaves nothing behind", "[deep]") {
  const JobFolder folder;
  const auto [columns, first] = GENERATE(table<int, std::string>({
      {80, "training [####........................]  17 %"},
      {40, "training [#........]  17 %"},
      {28, "training [#.......]  17 %"},
      {17, "training  17 %"},
  }));
  const Ended run(run_in_terminal(folder, columns, "", "job"));
  const Words lines = drawn(run.out);
  REQUIRE(lines.size() > 4);
  CHECK(lines[0].substr(0, first.size()) == first);
  for (const std::string& line : lines) CHECK(line.size() + 2 < static_cast<size_t>(columns));  // ^C fits
  CHECK_THAT(run.out, Contains("\r\x1b[Ka line\r\n") && Catch::EndsWith("\r\x1b[Kthe end\r\n"));
}

TEST_CASE("isolated nodes print on separate lines while server 0 draws the bar") {
  const JobFolder folder;
  const Ended run(run_in_terminal(folder, 80, "--isolate", "isolated"));
  CHECK_THAT(run.out, Contains("\r\x1b[Kstep 1\r\n") && Contains("\r\x1b[Kstep 3\r\n"));
  // The worker may print its last line before the server, another process, removes the bar.
  const std::string end = "\r\x1b[Kthe end\r\n";
  CHECK_THAT(run.out, Catch::EndsWith(end) || Catch::EndsWith(end + "\r\x1b[K"));
  CHECK(count_of(run.out, "epoch") >= 2);
}

TEST_CASE("there is no progress bar with --no-progress, for a dumb pipe or if only errors are written to a file") {
  const JobFolder folder;
  const std::string how = GENERATE(as<std::string>(), "--no-progress", "pipe", "2>errors");
  const Ended run(how == "pipe" ? folder.run({"-n", "2", "--log-level", "warn", "jobs/progress_bar.lua", "job"})
                                : run_in_terminal(folder, 80, how, "job"));
  CHECK_THAT(run.out + run.err, !Contains("training") && !Contains("\x1b"));
  CHECK_THAT(run.out, Contains("a line") && Contains("the end"));
}

TEST_CASE("the end of a run removes the progress bar, after Ctrl-C, an error or without the bar's finish") {
  const JobFolder folder;
  const auto [how, status, words] = GENERATE(table<std::string, int, std::string>({
      {"interrupt", 130, "actorhost: interrupted\r\n"},
      {"error", 1, ": broken\r\n"},
      {"end", 0, ""},
  }));
  const Ended run(run_in_terminal(folder, 80, "", "ends " + how), status);
  const size_t bar = run.out.rfind("training [");
  REQUIRE(bar != std::string::npos);
  const size_t cleared = run.out.find("\r\x1b[K", bar);
  REQUIRE(cleared != std::string::npos);
  CHECK(run.out.find(words, cleared) != std::string::npos);
  CHECK(run.out.substr(bar, cleared - bar).find('\n') == std::string::npos);
}

TEST_CASE("a progress bar that a narrower window has wrapped is cleared from all of its lines") {
  const JobFolder folder;
  const Ended run(run_in_terminal(folder, 80, "", "ends narrower"));
  CHECK_THAT(run.out, Catch::EndsWith("epoch 1\r\x1b[2A\x1b[J"));
}
