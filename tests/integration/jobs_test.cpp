// The cases that the jobs declare in "-- case:" lines (README.md has the syntax): one test case for each run. A case
// passes if all processes of its run exit with 0. The first, fifth, ninth ... case of a line is in the suite; the
// other cases, and all of a "-- deep:" line, run with scripts/test --deep only.

#include "tests/integration/jobs.hpp"

#include <stdexcept>

#include "tests/test.hpp"

namespace {

constexpr size_t kOfDeep = 4;  // of so many cases of a line one is in the suite

struct JobCase : Catch::ITestInvoker {
  std::string job;
  std::string place;
  Words flags;
  Words arguments;
  double seconds = 30;
  std::string killed;  // the process that logs "KILLED in process NUMBER." is killed then

  std::string name() const {
    std::string text = "jobs: " + job;
    for (const std::string& word : with(arguments, flags)) text += " " + word;
    return text + " at " + place;
  }

  void invoke() const override {
    Words words = with(with(flags, {"jobs/" + job + ".lua"}), arguments);
    for (std::string& word : words) {
      if (word == "SEED") word = any_seed();
    }
    const JobFolder folder;
    const Ended run(killed.empty() ? run_at(place, folder, words, seconds)
                                   : run_and_kill(place, folder, words, seconds, killed));
  }
};

/// The texts of a text with alternatives: "a {b,c}" for "a b" and "a c".
Words expanded(const std::string& text) {
  const size_t open = text.find('{');
  const size_t close = text.find('}', open);
  if (open == std::string::npos) return {text};
  if (close == std::string::npos) throw std::runtime_error("no } in: " + text);
  Words all;
  std::istringstream choices(text.substr(open + 1, close - open - 1));
  for (std::string choice; std::getline(choices, choice, ',');) {
    for (const std::string& rest : expanded(text.substr(close + 1)))
      all.push_back(text.substr(0, open) + choice + rest);
  }
  return all;
}

/// Registers the runs of a line after its mark. Of a `deep` line no run is in the suite.
void register_case(const std::string& job, const std::string& line, bool deep) {
  const size_t at = line.find(" at: ");
  if (at == std::string::npos) throw std::runtime_error(job + ".lua: no 'at:' in the case: " + line);
  std::istringstream places(line.substr(at + 5));
  size_t count = 0;
  for (std::string word; places >> word;) {
    for (const std::string& place : expanded(word)) {
      for (const std::string& text : expanded(line.substr(0, at))) {
        auto one = std::make_unique<JobCase>();
        one->job = job;
        one->place = place;
        Words* part = &one->arguments;
        std::istringstream words(text);
        while (words >> word) {
          if (word == "flags:") {
            part = &one->flags;
          } else if (word == "within:") {
            words >> one->seconds;
          } else if (word == "kill:") {
            words >> one->killed;
          } else if (word.ends_with(':')) {
            throw std::runtime_error(job + ".lua: unknown part '" + word + "' of the case: " + line);
          } else {
            part->push_back(word);
          }
        }
        const std::string name = one->name();
        const Catch::AutoReg registered(one.release(), CATCH_INTERNAL_LINEINFO, "",
                                        {name, deep || count++ % kOfDeep != 0 ? "[deep]" : ""});
      }
    }
  }
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests/integration/jobs")) {
    for (const std::string& line : lines_of(read_text(entry.path()))) {
      for (const std::string mark : {"-- case:", "-- deep:"}) {
        if (line.starts_with(mark)) register_case(entry.path().stem(), line.substr(mark.size()), mark == "-- deep:");
      }
    }
  }
  return true;
}();

}  // namespace
