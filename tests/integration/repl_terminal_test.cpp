// `actorhost repl` in a terminal.

#include "tests/integration/terminal.hpp"
#include "tests/test.hpp"

TEST_CASE("a console in a terminal: several lines, completion, output of other nodes, errors, interruption", "[deep]") {
  if (!Terminal::can_be()) return;
  const JobFolder folder;
  Terminal terminal(folder, {"repl", "-n", "2"});
  REQUIRE(terminal.shows("console[2] all>"));
  terminal.type("sum = 0\nfor i = 1, 3 do\nsum = sum + i * 100\nend\n\"käse \" .. sum\n");
  CHECK(terminal.shows("käse 600"));
  CHECK_THAT(terminal.screen(), Contains(" >> sum ="));

  terminal.paste("for i = 1, 2 do\n\tprint('pasted' ..\t-i)\nend\npasted = { tensor.zer\t}\n");
  CHECK(terminal.shows("\npasted-1\npasted-2\n"));
  CHECK(terminal.shows("there is no tensor.zer\n"));  // a typed Tab would complete it to zero
  terminal.type("local y = 1\n");
  CHECK(terminal.shows("leave out `local`"));

  terminal.type("zeros = tensor.zer");
  terminal.press("Tab");
  terminal.type("2, 3)");  // zero_( and zeros( have "zero" in common
  CHECK(terminal.shows("zeros = tensor.zero2, 3)"));
  terminal.press("C-c");
  terminal.type("n = 2; a_tensor = tensor.zeros{n, 3}\n");
  terminal.type("a_tens");
  CHECK(terminal.completes_to("> a_tensor"));
  terminal.type(":nor");
  CHECK(terminal.completes_to("a_tensor:norm("));
  terminal.press("C-c");
  terminal.type("y = mr.range(1, 3):map(function(x) return x end):flatm");
  CHECK(terminal.completes_to("end):flatmap"));
  terminal.press("C-c");
  terminal.type("a_tensor:norm()\n:barrier set pss");
  terminal.press("Tab");
  CHECK(terminal.shows(":barrier set pssp"));
  terminal.press("C-c");
  terminal.type(":s");
  terminal.press("Tab");
  CHECK(terminal.shows("set     stages  stats   steps"));
  terminal.press("C-c");

  terminal.type("os.execute('(until test -e now; do sleep 0.02; done; echo from below) &')\n");
  REQUIRE(terminal.shows("from below) &')\n0\n"));
  terminal.type("4");
  REQUIRE(terminal.shows("all> 4"));
  folder.write("now", "");
  CHECK(terminal.shows("from below\nconsole[2] all> 4"));
  terminal.type("1 + 1\n");
  CHECK(terminal.shows("\n42\n"));

  terminal.type("error('broken')\n");
  CHECK(terminal.shows("broken"));
  CHECK(terminal.shows("stack traceback"));
  const std::string endless = kLoopsGetSignals ? "while true do end" : "while true do os.time() end";
  terminal.type(endless + "\n");
  REQUIRE(terminal.shows(endless + "\n\n"));
  terminal.press("C-c");
  CHECK(terminal.shows("interrupted"));
  terminal.type("actor.collective.allreduce(tensor.ones(1)):item() + 40.5\n");
  CHECK(terminal.shows("\n42.5\n"));
  terminal.press("C-d");
  CHECK(terminal.ended() == 0);
}

TEST_CASE("the history of a console is available in the next console, and two at once retain both lines", "[deep]") {
  if (!Terminal::can_be()) return;
  const JobFolder folder;
  Process run = folder.start({"-n", "1", "jobs/repl.lua", "waiting", "done"});
  const Words console{"repl", "--attach"};
  REQUIRE(wait_until([&] { return folder.run({"repl", "--attach", "-e", "1"}).status == 0; }, 20));
  {
    Terminal first(folder, console), second(folder, console);
    REQUIRE((first.shows("repl.lua[1] rank 0>") && second.shows("repl.lua[1] rank 0>")));
    first.type("11 + 11\n");
    CHECK(first.shows("\n22\n"));
    second.paste("if true then -- a comment\nprint(30 + 3)\nend\n");
    CHECK(second.shows("\n33\n"));
    first.type(":quit\n");
    second.press("C-d");
    CHECK((first.ended() == 0 && second.ended() == 0));
  }
  const std::filesystem::path history = folder.path() / "state" / "actorhost" / "history";
  CHECK(read_text(history) == "11 + 11\nif true then --[[ a comment]] print(30 + 3) end\n:quit\n");
  CHECK(std::filesystem::status(history).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  Terminal third(folder, console);
  REQUIRE(third.shows("rank 0>"));
  third.press("Up");
  third.press("Up");
  CHECK(third.shows("> if true then --[[ a comment]] print(30 + 3) end"));
  third.press("C-c");
  third.press("C-r");
  third.type("+ 11");
  CHECK(third.shows("11 + 11"));
  third.press("Enter");
  CHECK(third.shows("\n22\n"));
  folder.write("done", "");
  CHECK(third.shows("the run has ended: done"));
  CHECK(third.ended() == 0);
  CHECK(run.wait(20) == 0);
}

TEST_CASE("a console in a terminal asks which of several runs to attach to") {
  if (!Terminal::can_be()) return;
  const JobFolder folder;
  Process one = folder.start({"-n", "1", "jobs/repl.lua", "waiting", "done"});
  Process two = folder.start({"-n", "2", "jobs/repl.lua", "waiting", "done"});
  const auto is_ready = [&](const Process& run) {
    const std::string name = std::to_string(run.pid());
    return folder.run({"repl", "-n", "1", "-e", ":jobs"}).out.find(name) != std::string::npos;
  };
  REQUIRE(wait_until([&] { return is_ready(one) && is_ready(two); }, 20));
  Terminal terminal(folder, {"repl", "--attach"});
  REQUIRE(terminal.shows("attach to which one?"));
  terminal.type("2\n");
  CHECK(terminal.shows("rank 0>"));
  folder.write("there/one.lua", "");
  folder.write("there/other.txt", "");
  terminal.type(":barrier set there/o");
  terminal.press("Tab");
  CHECK(terminal.shows("one.lua    other.txt"));
  folder.write("done", "");
  CHECK((one.wait(20) == 0 && two.wait(20) == 0));
}

namespace {

/// The spread of the workers' steps, by the console's newest `:steps`.
int spread_of_steps(Terminal& terminal) {
  terminal.type(":steps\n");
  REQUIRE(terminal.shows("steps of 4 workers: "));
  const std::string screen = terminal.screen();
  const std::string newest = screen.substr(screen.rfind("steps of 4 workers: "));
  int least = 0;
  int most = 0;
  REQUIRE(std::sscanf(newest.c_str(), "steps of 4 workers: %d to %d", &least, &most) == 2);
  return most - least;
}

}  // namespace

TEST_CASE("a console swaps the barrier of a training run, reads a weight and leaves; the run's result is right") {
  if (!Terminal::can_be()) return;
  const JobFolder folder;
  Process run = folder.start({"-n", "4", "--barrier", "bsp", "--inject", "straggler=0.25:4x", "--no-progress",
                              (source_dir() / "examples/mnist_ps.lua").string(), "--epochs", "8", "--hidden", "32"});
  REQUIRE(wait_until(
      [&] {
        return folder.run({"repl", "--attach", "-e", ":barrier"}).out.find("bsp") != std::string::npos;
      },
      30));
  Terminal terminal(folder, {"repl", "--attach"});
  REQUIRE(terminal.shows("mnist_ps.lua[4] rank 0>"));
  CHECK(spread_of_steps(terminal) <= 3);  // the spread is 1, but the steps are read one after another
  terminal.type(":barrier set pssp:2:16\n");
  CHECK(terminal.shows("the barrier is pssp:2:16; it was bsp"));
  CHECK(wait_until([&] { return spread_of_steps(terminal) > 10; }, 20));
  terminal.type("param.keys()\n");
  CHECK(terminal.shows("{ \""));
  terminal.type("param.get(param.keys()[1]):norm() > 0\n");
  CHECK(terminal.shows("\ntrue\n"));
  terminal.type(":barrier undo\n");
  CHECK(terminal.shows("the barrier is bsp again"));
  terminal.type(":quit\n");
  CHECK(terminal.ended() == 0);
  INFO(run.describe());
  REQUIRE(run.wait(60) == 0);
  CHECK(std::stod(line_after(run.out(), "test accuracy: ")) > 90);
}
