// The executable as a user runs it: the time from its start to the first callback of a job, the resident memory of each
// further idle node, and the processor time of an idle cluster. The yardsticks are a whole `luajit -e ''` for the time
// and a bare LuaJIT state for the memory. Usage: host_bench [rounds]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <lua.hpp>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/in_turns.hpp"
#include "tests/integration/process.hpp"

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "host_bench: %s\n", what.c_str());
  std::exit(1);
}

/// A child process with pipes to its standard input and output. Closing the input ends the program.
class StartedProgram : private actorhost::NonCopyable {
 public:
  explicit StartedProgram(std::vector<std::string> words) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) die("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) die("cannot start " + words[0]);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }
  ~StartedProgram() {
    ::close(in_);
    ::waitpid(pid_, nullptr, 0);
    ::close(out_);
  }

  pid_t pid() const { return pid_; }
  /// Waits for the program's first byte of output.
  void wait_for_output() const {
    char byte = 0;
    if (::read(out_, &byte, 1) != 1) die("a job ended without output");
  }

 private:
  pid_t pid_ = 0;
  int in_ = -1;
  int out_ = -1;
};

double milliseconds(const std::function<void()>& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count() * 1e3;
}

/// The command for a job of host_jobs.lua.
std::vector<std::string> command(std::vector<std::string> flags, const std::string& job) {
  std::vector<std::string> words{actorhost::actorhost_binary(), "--no-progress", "--log-level", "warn"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.push_back((actorhost::source_dir() / "tests/bench/host_jobs.lua").string());
  words.push_back(job);
  return words;
}

double start_ms(int nodes) {
  StartedProgram* program = nullptr;
  const double took = milliseconds([&] {
    program = new StartedProgram(command({"-n", std::to_string(nodes)}, "first_callback"));
    program->wait_for_output();
  });
  delete program;
  return took;
}

double luajit_ms() {
  return milliseconds([] { StartedProgram program({"luajit", "-e", ""}); });
}

/// The ids of a process and of its descendants, from /proc.
std::vector<pid_t> family(pid_t pid) {
  std::vector<pid_t> all{pid};
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string own = std::to_string(all[i]);
    std::ifstream children("/proc/" + own + "/task/" + own + "/children");
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
  return all;
}

double resident_kib(pid_t pid) {
  double sum = 0;
  for (const pid_t each : family(pid)) {
    std::ifstream status("/proc/" + std::to_string(each) + "/smaps_rollup");
    for (std::string word; status >> word;) {
      double kib = 0;
      if (word == "Pss:" && status >> kib) sum += kib;
    }
  }
  return sum;
}

double cpu_seconds(pid_t pid) {
  double ticks = 0;
  for (const pid_t each : family(pid)) {
    std::ifstream stat("/proc/" + std::to_string(each) + "/stat");
    std::string text;
    std::getline(stat, text);
    const size_t name_end = text.rfind(')');
    std::vector<double> fields;
    char* at = text.data() + name_end + 4;  // after the state's letter
    for (int i = 0; i < 12; ++i) fields.push_back(std::strtod(at, &at));
    ticks += fields[10] + fields[11];
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double idle_kib(int nodes) {
  StartedProgram program(command({"-n", std::to_string(nodes)}, "idle"));
  program.wait_for_output();
  return resident_kib(program.pid());
}

double lua_state_kib() {
  constexpr int kStates = 64;
  std::vector<lua_State*> states;
  const double before = resident_kib(::getpid());
  for (int i = 0; i < kStates; ++i) {
    states.push_back(luaL_newstate());
    luaL_openlibs(states.back());
  }
  const double after = resident_kib(::getpid());
  for (lua_State* L : states) lua_close(L);
  return (after - before) / kStates;
}

double idle_cpu_percent(const std::vector<std::string>& flags, double seconds) {
  StartedProgram program(command(flags, "idle"));
  program.wait_for_output();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double before = cpu_seconds(program.pid());
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return (cpu_seconds(program.pid()) - before) / seconds * 100;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  ::signal(SIGPIPE, SIG_IGN);

  std::printf("%-52s %10s %10s\n", "", "ours", "yardstick");
  for (const auto& [nodes, goal] : {std::pair(1, 50), std::pair(8, 150), std::pair(64, 1000)}) {
    std::vector<double> ours;
    std::vector<double> yard;
    for (int i = 0; i < rounds; ++i) {
      ours.push_back(start_ms(nodes));
      yard.push_back(luajit_ms());
    }
    std::printf("start to first callback, -n %-2d / luajit -e ''         %8.1f   %8.1f ms      (goal < %d ms)\n", nodes,
                actorhost::median(ours), actorhost::median(yard), goal);
  }
  constexpr int kMany = 33;
  const double one = idle_kib(1);
  const double many = idle_kib(kMany);
  std::printf("resident memory of a further idle node / LuaJIT state %7.0f   %8.0f KiB     (goal < 2048 KiB)\n",
              (many - one) / (kMany - 1), lua_state_kib());
  const double threads = idle_cpu_percent({"-n", "8"}, 10);
  const double processes = idle_cpu_percent({"-n", "8", "--isolate"}, 10);
  std::printf("processor time of 8 idle nodes: %.2f %% of a core as threads, %.2f %% as processes (goal < 1 %%)\n",
              threads, processes);
  return 0;
}
