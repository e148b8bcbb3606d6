// `actorhost top` in a terminal.

#include "tests/integration/terminal.hpp"
#include "tests/test.hpp"

namespace {

/// Waits until the screen contains `first`, and later `second`.
bool shows_in_order(const Terminal& terminal, const std::string& first, const std::string& second) {
  const bool there = wait_until(
      [&] {
        const std::string screen = terminal.screen();
        const size_t at = screen.rfind(first);
        return at != std::string::npos && screen.find(second, at) != std::string::npos;
      },
      20);
  if (!there) WARN("no " + first + " before " + second + ":\n" + terminal.screen());
  return there;
}

bool can_be_seen(const JobFolder& folder) {
  return wait_until([&] { return folder.run({"status"}).status == 0; }, 20);
}

}  // namespace

TEST_CASE("top sorts, reverses and explains at a key, follows the terminal's size, and reports the end of the run") {
  if (!Terminal::can_be()) return;
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "jobs/status.lua", "computing", "done"});
  REQUIRE(can_be_seen(folder));
  Terminal terminal(folder, {"top", "--every", "0.1"});
  REQUIRE(terminal.shows("status.lua: 3 workers"));
  CHECK(shows_in_order(terminal, "rank 0", "rank 2"));
  CHECK(terminal.shows("< straggler"));
  terminal.press("r");
  CHECK(shows_in_order(terminal, "rank 2", "rank 0"));
  terminal.press("r");
  CHECK(shows_in_order(terminal, "rank 0", "rank 2"));
  terminal.press("w");  // the straggler waits least
  CHECK(shows_in_order(terminal, "rank 2", "rank 0"));
  terminal.press("h");
  CHECK(terminal.shows("press a key of the list"));
  terminal.press("h");
  CHECK(terminal.shows("q quit  h help"));

  terminal.resize(60, 10);
  CHECK(wait_until([&] { return terminal.screen().find("queue ") == std::string::npos; }, 20));
  CHECK(terminal.shows("< straggler"));
  CHECK(terminal.shows("q quit  h help"));
  terminal.resize(140, 30);
  CHECK(terminal.shows("received"));
  folder.write("done", "");
  CHECK(terminal.ended() == 0);
  CHECK(terminal.shows("the run is over"));
  CHECK_THAT(terminal.screen(), !Contains("q quit"));  // the terminal's main screen is restored
  CHECK(run.wait(20) == 0);
}

TEST_CASE("top exits at q, at Ctrl-D and at Ctrl-C, and restores the terminal", "[deep]") {
  if (!Terminal::can_be()) return;
  const JobFolder folder;
  Process run = folder.start({"-n", "2", "jobs/status.lua", "computing", "done"});
  REQUIRE(can_be_seen(folder));
  for (const auto& [key, code] : {std::pair("q", 0), std::pair("C-d", 0), std::pair("C-c", 130)}) {
    Terminal terminal(folder, {"top", "--every", "60"});
    REQUIRE(terminal.shows("status.lua: 2 workers"));
    terminal.press(key);
    CHECK(terminal.ended() == code);
    CHECK_THAT(terminal.screen(), !Contains("q quit"));
  }
  run.signal(SIGINT);
  CHECK(run.wait(20) == 130);
}
