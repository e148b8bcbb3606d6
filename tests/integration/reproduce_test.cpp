// `actorhost reproduce`: experiments of papers again, their page, the experiments on barriers, and usage errors.

#include <nlohmann/json.hpp>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

using nlohmann::json;

TEST_CASE("reproduce lists the papers") {
  const JobFolder folder;
  const Ended run(folder.run({"reproduce", "--list"}));
  CHECK_THAT(run.out, Contains("name ") && Contains("ringmaster ") && Contains("ICML 2025") && Contains("NIPS 2013"));
}

TEST_CASE("reproduce judges the claims of a paper, the same for every -j, and writes a page") {
  const JobFolder folder;
  const Words words = {"reproduce", "--quick", "--repeat", "3", "ssp", "base_k"};
  const Ended run(folder.run(with(words, {"--dir", "out", "-j", "2"}), 100));
  CHECK_THAT(run.out, Contains("workers spend less time waiting than under BSP") && Contains("reproduced") &&
                          Contains("2 papers, 8 claims: ") && Contains("; 3 seeds from 1") &&
                          Contains("out/index.html"));
  const std::string page = read_text(folder.path() / "out/index.html");
  CHECK_THAT(page, Contains("Stale synchronous") || Contains("stale synchronous parallel parameter server"));
  for (const char* file : {"ssp-loss.svg", "base_k-distance.svg", "base_k-loss.svg"}) {
    CHECK_THAT(page, Contains(file));
    CHECK_THAT(read_text(folder.path() / "out" / file), Contains("<svg") && Contains("</svg>"));
  }
  const Words again = {"reproduce", "--quick", "--repeat", "3", "--json", "base_k"};
  const json report = json::parse(Ended(folder.run(with(again, {"-j", "2"}), 100)).out);
  CHECK(json::parse(Ended(folder.run(with(again, {"-j", "1"}), 100)).out) == report);
  REQUIRE(report["papers"].size() == 1);
  const json& exact = report["papers"][0]["claims"][0];
  CHECK(exact["verdict"] == "reproduced");
  CHECK(exact["of_mean"] < 1e-9);
}

TEST_CASE("the experiments on barriers produce their plots, tables and a page with all of them", "[deep]") {
  const JobFolder folder;
  const std::filesystem::path lab = folder.path() / "reproduced" / "psp";
  const Ended run(folder.run({"reproduce", "--quick", "--repeat", "2", "--seed", "3", "-j", "2", "psp"}, 100));
  CHECK_THAT(read_text(folder.path() / "reproduced/index.html"),
             Contains("href=\"psp/index.html\"") && Contains("barriers: pbsp:10, mean step") && Contains("14.66"));
  const std::string page = read_text(lab / "index.html");
  size_t plots = 0;
  for (size_t at = page.find("<img src=\""); at != std::string::npos; at = page.find("<img src=\"", at + 1)) {
    const size_t from = at + 10;
    const std::string file = page.substr(from, page.find('"', from) - from);
    INFO(file);
    CHECK_THAT(read_text(lab / file), Contains("<svg") && Contains("</svg>"));
    ++plots;
  }
  CHECK(plots > 20);
  CHECK_THAT(page, Contains("bsp: mean step") && Contains("least bound of the second moment") && Contains("14.66"));
  CHECK_THAT(read_text(lab / "barriers.csv"), Contains("\nbsp,1,3,200,200,"));
  // The distributions of the sample-size figure, with SSP beside them.
  const std::string sizes = read_text(lab / "sample-size-cdf.svg");
  CHECK_THAT(sizes, Contains("Cumulative distribution of 9 series") && Contains(">ssp:4<"));
  for (const char* beta : {"0", "1", "2", "4", "8", "16", "32", "64"}) {
    CHECK_THAT(sizes, Contains(">pbsp:" + std::string(beta) + "<"));
  }
  CHECK_THAT(read_text(lab / "sample-size.csv"), Contains("\nssp:4,"));
  // The sample-size axis is drawn for pBSP, in its colour of the other figures.
  CHECK_THAT(read_text(lab / "barriers-cdf.svg"), Contains("<g class=\"c4\">"));
  const std::string mean = read_text(lab / "sample-size-mean.svg");
  CHECK_THAT(mean, Contains("<g class=\"c4\">") && !Contains("<g class=\"c1\">"));
}

TEST_CASE("reproduce names what is wrong with its arguments") {
  const JobFolder folder;
  const auto [words, code, message] = GENERATE(table<Words, int, std::string>({
      {{}, 2, "give the name of a paper, or all"},
      {{"ringmastr"}, 2, "there is no paper 'ringmastr'; did you mean ringmaster?"},
      {{"--repeat", "1", "ssp"}, 2, "--repeat wants a number of at least 2"},
      {{"--seed", "-1", "ssp"}, 2, "--seed wants a whole number"},
      {{"-j", "0", "ssp"}, 2, "--jobs wants a number of processes"},
      {{"--dir", "/dev/null/x", "ssp"}, 3, "/dev/null/x"},
      {{"--quik", "ssp"}, 2, "unknown flag '--quik'; did you mean --quick?"},
  }));
  const Ended run(folder.run(with({"reproduce"}, words), 30), code);
  CHECK_THAT(run.err, Contains("actorhost reproduce: ") && Contains(message));
}
