// The writing of lines to a standard output that is no terminal.

#include "bindings/process/console.hpp"

#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "tests/test.hpp"

namespace {

/// Standard output as a pipe that preserves the boundaries of writes.
class PacketOutput : private NonCopyable {
 public:
  PacketOutput() : before_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    REQUIRE(::pipe2(ends_.data(), O_DIRECT) == 0);
    REQUIRE(::fcntl(ends_[0], F_SETPIPE_SZ, 1 << 20) > 0);
    REQUIRE(::dup2(ends_[1], STDOUT_FILENO) >= 0);
    ::close(ends_[1]);
  }
  ~PacketOutput() {
    restore();
    ::close(ends_[0]);
  }

  /// Ends the redirection, so that reading reaches the end of the pipe.
  void restore() {
    if (before_ < 0) return;
    ::dup2(before_, STDOUT_FILENO);
    ::close(std::exchange(before_, -1));
  }
  /// The data of one write; empty at the end.
  std::string next() const {
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(ends_[0], buffer.data(), buffer.size());
    return {buffer.data(), got > 0 ? static_cast<size_t>(got) : 0};
  }

 private:
  std::array<int, 2> ends_{};
  int before_;
};

}  // namespace

TEST_CASE("the lines of a burst are written together, whole and in order") {
  PacketOutput output;
  std::string expected;
  {
    Console console;
    for (int i = 0; i < 10000; ++i) {
      console.out("line " + std::to_string(i));
      expected += "line " + std::to_string(i) + "\n";
    }
  }
  output.restore();
  std::string all;
  size_t writes = 0;
  for (std::string part = output.next(); !part.empty(); part = output.next(), ++writes) all += part;
  CHECK(all == expected);
  CHECK(writes < 1000);
}

TEST_CASE("a single line is written after the delay without a further call") {
  const PacketOutput output;
  Console console;
  console.out("first");
  console.out("second");
  CHECK(output.next() == "first\n");
  CHECK(output.next() == "second\n");
}

TEST_CASE("a suspended process that holds the turn to write does not stop the output of the others") {
  char path[] = "/tmp/actorhost-turn-XXXXXX";
  const int held = ::mkstemp(path);
  const int own = ::open(path, O_RDWR | O_CLOEXEC);
  ::unlink(path);
  REQUIRE(held >= 0);
  REQUIRE(own >= 0);
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  REQUIRE(::fcntl(held, F_OFD_SETLK, &range) == 0);
  PacketOutput output;
  const auto began = std::chrono::steady_clock::now();
  {
    Console console;
    console.take_turns(own);
    for (int i = 0; i < 3; ++i) {
      console.out("line " + std::to_string(i));
      ::usleep(5000);  // longer than a burst
    }
  }
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(5));  // one turn of a second
  output.restore();
  std::string all;
  for (std::string part = output.next(); !part.empty(); part = output.next()) all += part;
  CHECK(all == "line 0\nline 1\nline 2\n");
  ::close(held);
  ::close(own);
}

TEST_CASE("without a terminal the status line is due after some time without output, once") {
  if (Console::status_columns() > 0) return;
  Console console;
  const auto due = [&console](double seconds) {
    for (int tries = 0; tries < 2000; ++tries) {
      if (auto text = console.overdue_status(seconds)) return text;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::optional<std::string>();
  };
  console.error_text("");
  CHECK_FALSE(console.overdue_status(1000));
  CHECK(due(0.02) == "");
  console.status("half done");
  CHECK(due(0.02) == "half done");
  CHECK_FALSE(console.overdue_status(1000));
  console.status("");
  CHECK(due(0.02) == "");
  console.finish();
  CHECK_FALSE(console.overdue_status(0));
}
