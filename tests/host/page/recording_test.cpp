#include "host/page/recording.hpp"

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/page/page_view.hpp"
#include "host/page/state_fields.hpp"
#include "tests/host/page/sample_state.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

StatePtr shared_state(size_t nodes, double t) { return std::make_shared<const json>(test::sample_state(nodes, t)); }

}  // namespace

TEST_CASE("recorded states are read back unchanged") {
  const TempDir folder;
  Log log(LogLevel::off);
  const std::string path = folder / "run.jsonl";
  {
    auto recorder = required(StateRecorder::open(path, log));
    (*recorder)->seen(shared_state(4, 1), 1);
    CHECK((*recorder)->next_poll() == 2);
    const std::vector<std::string> sections = (*recorder)->sections();
    CHECK(std::count(sections.begin(), sections.end(), "stream:worker 3") == 1);
    CHECK(std::count(sections.begin(), sections.end(), "output:server 0") == 1);
    (*recorder)->seen(shared_state(4, 1.5), 1.5);  // requested by another watcher
    (*recorder)->seen(shared_state(400, 2), 2);
    CHECK((*recorder)->next_poll() > 4);  // later after a long line, so that the file does not grow faster
  }
  auto recording = required(Recording::open(path));
  CHECK(recording->times() == std::vector<double>{1, 2});
  CHECK(page_message(*recording->state(0), {}) == page_message(*shared_state(4, 1), {}));
  REQUIRE(recording->points().size() == 2);
  CHECK(recording->points()[1].t == 2);
  CHECK(recording->reader().values(recording->points()[0])["steps"]["3"] == 10);
  CHECK(page_message(*recording->state(1), {64, "wait"}) == page_message(*shared_state(400, 2), {64, "wait"}));
}

TEST_CASE("a file that is not a recording is refused with its line number") {
  const TempDir folder;
  const std::string line = json_text(test::sample_state(2)) + "\n";
  const auto message = [&](const std::string& text) {
    const auto opened = Recording::open(folder.write("run.jsonl", text));
    return opened ? "" : opened.error().message.substr(opened.error().message.rfind('/') + 1);
  };
  const std::string wrong = ": this line is not the state of a run, as --record FILE.jsonl writes it";
  CHECK(message(line + "{\"run\":\n" + line) == "run.jsonl:2" + wrong);
  CHECK(message(line + line + "[1]\n") == "run.jsonl:3" + wrong);
  CHECK(message(line + std::string(100'000, '[') + "\n") == "run.jsonl:2" + wrong);
  CHECK(message("\n" + line) == "run.jsonl:1" + wrong);
  CHECK(message("").ends_with("there is no state of a run in it"));
  CHECK(Recording::open(folder / "none").error().message.ends_with("none: No such file or directory"));
  // A file of a run killed in the middle of a write.
  const auto cut = required(Recording::open(folder.write("run.jsonl", line + line.substr(0, line.size() / 2))));
  CHECK(cut->size() == 1);
  CHECK(Recording::open(folder.write("run.jsonl", line + line.substr(0, line.size() - 1)))->size() == 2);
}
