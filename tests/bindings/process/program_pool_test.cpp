// Programs as children, and the events of their pipes.

#include "bindings/process/program_pool.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <thread>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/test.hpp"

namespace {

using What = ProgramPool::What;

ChildProgram shell(const std::string& script) {
  ChildProgram program;
  program.path = "sh";
  program.words = {"-c", script};
  return program;
}

struct Story {
  std::string output, error;
  int code = -1;
};

/// All events until `count` programs have ended, by program.
std::map<size_t, Story> stories_of(ProgramPool& pool, size_t count) {
  std::map<size_t, Story> stories;
  for (int tries = 0; count > 0 && tries < 600; ++tries) {
    const auto event = *required(pool.next(100));
    if (!event) continue;
    Story& story = stories[event->program];
    CHECK(story.code == -1);  // nothing follows the end
    if (event->what == What::output) story.output += event->text;
    if (event->what == What::error) story.error += event->text;
    if (event->what != What::end) continue;
    story.code = event->code;
    --count;
  }
  return stories;
}

}  // namespace

TEST_CASE("the output, errors and exit codes of several programs are events, the end last") {
  ProgramPool pool;
  (void)required(pool.start(shell("echo out; echo err >&2; exit 3"), true));
  (void)required(pool.start(shell("head -c 300000 /dev/zero | tr '\\0' x; kill -TERM $$"), true));
  const auto stories = stories_of(pool, 2);
  CHECK(stories.at(0).output == "out\n");
  CHECK(stories.at(0).error == "err\n");
  CHECK(stories.at(0).code == 3);
  CHECK(stories.at(1).output == std::string(300000, 'x'));
  CHECK(stories.at(1).code == 128 + SIGTERM);
}

TEST_CASE("a program receives the sent bytes, its variables and its folder") {
  ProgramPool pool;
  ChildProgram program = shell("pwd; echo $POOL_TEST; head -c 1000000 | cksum");
  program.variables = {{"POOL_TEST", "a b"}};
  program.folder = "/usr";
  const size_t number = *required(pool.start(std::move(program), true));
  pool.send(number, std::string(400000, 'y'));
  pool.send(number, std::string(600000, 'y'));
  const auto stories = stories_of(pool, 1);
  CHECK_THAT(stories.at(0).output, Catch::StartsWith("/usr\na b\n") && Contains(" 1000000"));
}

TEST_CASE("bytes for a program that does not read them are dropped, and signals reach it") {
  ProgramPool pool;
  const size_t closed = *required(pool.start(shell("exec <&-; echo ready; exec sleep 100"), true));
  for (bool ready = false; !ready;) {
    const auto event = *required(pool.next(20000));
    REQUIRE(event);
    ready = event->what == What::output;
  }
  pool.send(closed, std::string(1 << 20, 'z'));
  CHECK_FALSE(*required(pool.next(50)));
  pool.signal(closed, SIGINT);
  CHECK(stories_of(pool, 1).at(0).code == 128 + SIGINT);
  pool.signal(closed, SIGKILL);  // after its end
  pool.send(closed, "late");
}

TEST_CASE("the end of a program does not wait for another process that holds its output open") {
  ProgramPool pool;
  (void)required(pool.start(shell("sleep 100 & echo $!"), true));
  const auto stories = stories_of(pool, 1);
  CHECK(stories.at(0).code == 0);
  kill(std::stoi(stories.at(0).output), SIGKILL);
}

TEST_CASE("a program that cannot be watched is an error, and does not run") {
  // Only this thread, and the programs that it starts, cannot make handles of processes.
  std::thread([] {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    ProgramPool pool;
    CHECK_THAT(failure_of(pool.start(shell("exit"), false)).message, Contains("cannot watch a process"));
    CHECK_FALSE(*required(pool.next(0)));
  }).join();
}

TEST_CASE("the descriptor that a parent names in the environment is not inherited further") {
  const Fd shared(dup(STDERR_FILENO));
  setenv("POOL_TEST_FILE", std::to_string(shared.get()).c_str(), 1);
  CHECK(take_descriptor("POOL_TEST_FILE") == shared.get());
  CHECK(fcntl(shared.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(std::getenv("POOL_TEST_FILE") == nullptr);
  CHECK(take_descriptor("POOL_TEST_FILE") == -1);
}

TEST_CASE("a program that does not exist, and a missing folder, are errors that name them") {
  ProgramPool pool;
  ChildProgram missing;
  missing.path = "no-such-program";
  CHECK(failure_of(pool.start(missing, true)).message == "cannot start 'no-such-program': No such file or directory");
  ChildProgram nowhere = shell("exit");
  nowhere.folder = "/no/such/folder";
  CHECK_THAT(failure_of(pool.start(nowhere, false)).message, Contains("/no/such/folder"));
}
