#include "tests/integration/process.hpp"

#include <cerrno>

#include "tests/host/net/raw_socket.hpp"
#include "tests/test.hpp"

namespace {

Process shell(const std::string& script) { return Process("sh", {"-c", script}); }

bool exists(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

// Whether a server that sets SO_REUSEADDR can listen on the port.
bool can_listen(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = RawSocket::loopback(port);
  const bool done = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(fd, 1) == 0;
  ::close(fd);
  return done;
}

}  // namespace

TEST_CASE("a program's output and exit status are collected") {
  const auto finished = run_program("sh", {"-c", "echo one; echo two >&2; exit 7"}, 10);
  CHECK(finished.status == 7);
  CHECK(finished.out == "one\n");
  CHECK(finished.err == "two\n");
  CHECK(finished.description.find("$ sh -c echo one") == 0);
}

TEST_CASE("output larger than a pipe's capacity is collected whole") {
  const auto finished = run_program("sh", {"-c", "yes 0123456789 | head -n 100000; yes x | head -n 100000 >&2"}, 20);
  CHECK(finished.status == 0);
  CHECK(finished.out.size() == 1'100'000);
  CHECK(finished.err.size() == 200'000);
}

TEST_CASE("a wait ends at its deadline and the program continues") {
  Process process = shell("read line; echo got $line");  // waits for input that is never sent, or for the end of input
  Process sleeper = shell("sleep 1000");
  CHECK(!sleeper.wait(0.05).has_value());
  CHECK(sleeper.running());
  CHECK(process.wait(10).has_value());
}

TEST_CASE("a test can wait for output while the program runs") {
  Process process = shell("echo port 4711; exec sleep 1000");
  CHECK(process.wait_for_output("port", 10));
  CHECK(process.wait_for_match("port (\\d+)", 10) == "4711");
  CHECK(process.wait_for_match("p..t", 10) == "port");
  CHECK(process.running());
  CHECK(!process.wait_for_output("never said", 0.05));
}

TEST_CASE("waiting for output ends when the program ends without it") {
  Process process = shell("echo something else >&2");
  CHECK(!process.wait_for_output("the answer", 1000));
  CHECK(!process.wait_for_match("the (answer)", 1000).has_value());
  CHECK(process.wait_for_output("something else", 0));
}

TEST_CASE("a signal reaches the program and shows in its status") {
  Process killed = shell("exec sleep 1000");
  killed.signal(SIGKILL);
  CHECK(killed.wait(10) == 128 + SIGKILL);
  killed.signal(SIGKILL);  // after the end: no effect

  Process trapping = shell("trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.01; done");
  REQUIRE(trapping.wait_for_output("ready", 10));
  trapping.signal(SIGINT);
  CHECK(trapping.wait(10) == 3);
  CHECK(trapping.out() == "ready\ncaught\n");
}

TEST_CASE("the program and its children end with the Process") {
  pid_t leader = 0;
  pid_t child = 0;
  {
    Process process = shell("sleep 1000 & echo child $!; wait");
    const auto number = process.wait_for_match("child (\\d+)\n", 10);
    REQUIRE(number.has_value());
    leader = process.pid();
    child = static_cast<pid_t>(std::stol(*number));
    CHECK_FALSE(ends_within(leader, 0));
    CHECK_FALSE(ends_within(child, 0));
  }
  CHECK(!exists(leader));
  CHECK(ends_within(child, 10));
}

TEST_CASE("children that outlive the program block nothing and end with the Process") {
  pid_t child = 0;
  {
    Process process = shell("sleep 1000 & echo child $!");
    CHECK(process.wait(10) == 0);
    const auto number = process.wait_for_match("child (\\d+)\n", 10);
    REQUIRE(number.has_value());
    child = static_cast<pid_t>(std::stol(*number));
    CHECK_FALSE(ends_within(child, 0));
  }
  CHECK(ends_within(child, 10));
}

TEST_CASE("environment, directory and input are the program's own") {
  const TempDir directory;
  directory.write("sub/file", "content");
  ::setenv("RANK", "5", 1);
  Process process("sh", {"-c", "echo $RANK,$HOME,$MINE; cat sub/file; cat"},
                  {.env = {{"MINE", "yes"}, {"HOME", std::nullopt}}, .cwd = directory.path(), .input = "typed"});
  CHECK(process.wait(10) == 0);
  CHECK(process.out() == ",,yes\ncontenttyped");
  ::unsetenv("RANK");
}

TEST_CASE("a program that does not read its input does not block the test") {
  const auto finished = run_program("true", {}, 10, {.input = std::string(1 << 20, 'x')});
  CHECK(finished.status == 0);
}

TEST_CASE("a program that cannot be started is an exception that names it") {
  CHECK_THROWS_WITH(Process("/nowhere/program"),
                    Catch::Contains("/nowhere/program") && Catch::Contains("No such file"));
  CHECK_THROWS_WITH(Process("sh", {}, {.cwd = "/nowhere"}), Catch::Contains("No such file"));
}

TEST_CASE("a temporary directory is removed with its content") {
  std::filesystem::path path;
  {
    const TempDir directory;
    path = directory.path();
    CHECK(read_text(directory.write("a/b/c", "text")) == "text");
  }
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("no other program gets a reserved port, and a server can listen on it") {
  std::set<uint16_t> seen;
  std::vector<std::unique_ptr<FreePort>> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(std::make_unique<FreePort>());
    CHECK(seen.insert(held.back()->port()).second);
  }
  for (int i = 0; i < 200; ++i) {
    const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = RawSocket::loopback(0);
    socklen_t size = sizeof address;
    REQUIRE(::bind(other, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::getsockname(other, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    CHECK(!seen.contains(ntohs(address.sin_port)));
    ::close(other);
  }
  for (const auto& port : held) CHECK(can_listen(port->port()));
  CHECK(held.front()->endpoint() == "127.0.0.1:" + std::to_string(held.front()->port()));
}
