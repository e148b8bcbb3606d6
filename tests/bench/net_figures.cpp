#include "tests/bench/net_figures.hpp"

#include <chrono>
#include <cstdio>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/in_turns.hpp"

namespace actorhost::bench {

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "net_bench: %s\n", what);
  std::_Exit(1);
}

struct Channel {
  Channel() {
    if (::pipe(ends) != 0) fail("no pipe");
  }
  ~Channel() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void put(const std::string& text) const {
    const std::string line = text + "\n";
    if (::write(ends[1], line.data(), line.size()) != static_cast<ssize_t>(line.size())) fail("cannot write");
  }
  std::string get() const {
    std::string line;
    for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  int ends[2];
};

template <typename Body>
pid_t child(Body body) {
  const pid_t pid = ::fork();
  if (pid < 0) fail("cannot fork");
  if (pid > 0) return pid;
  body();
  std::_Exit(0);
}

void join(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || status != 0) fail("a measurement failed");
}

}  // namespace

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double in_two_processes(const std::function<void(const std::function<void(const std::string&)>& announce)>& partner,
                        const std::function<double(const std::string& address)>& measure) {
  const Channel address;
  const Channel figure;
  const pid_t second = child([&] { partner([&](const std::string& text) { address.put(text); }); });
  const pid_t first = child([&] { figure.put(std::to_string(measure(address.get()))); });
  join(first);
  join(second);
  return std::atof(figure.get().c_str());
}

double in_a_process(const std::function<double()>& measure) {
  const Channel figure;
  join(child([&] { figure.put(std::to_string(measure())); }));
  return std::atof(figure.get().c_str());
}

void print_row(const Row& row, int rounds) {
  std::vector<double> ours;
  std::vector<double> yardsticks;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    // The second side runs on a warmer machine, so the two sides take turns at being first.
    const bool first = round % 2 == 0;
    double us = first ? row.ours() : 0;
    const double them = row.yardstick();
    if (!first) us = row.ours();
    ours.push_back(us);
    yardsticks.push_back(them);
    ratios.push_back(us / them);
  }
  std::printf("%-44s %10.3f %10.3f %-8s %6.2fx  goal %s\n", row.figure, median(ours), median(yardsticks), row.unit,
              median(ratios), row.goal);
  std::fflush(stdout);
}

}  // namespace actorhost::bench
