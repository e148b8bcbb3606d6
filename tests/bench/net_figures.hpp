#pragma once
// Shared by net_bench and lock_bench. Measures in forked processes, so that no thread of one side's library disturbs
// the other side, and prints `figure  ours  yardstick  ratio  goal`. Each side is measured in turns.

#include <functional>
#include <string>

namespace actorhost::bench {

double seconds();

/// Runs `measure` in one child process and `partner` in another. The partner passes a string (its port) to `announce`;
/// `measure` receives the string and returns the figure. Ends the program when either process fails.
double in_two_processes(const std::function<void(const std::function<void(const std::string&)>& announce)>& partner,
                        const std::function<double(const std::string& address)>& measure);
/// Runs `measure` in a separate child process.
double in_a_process(const std::function<double()>& measure);

struct Row {
  const char* figure;
  const char* unit;
  std::function<double()> ours;
  std::function<double()> yardstick;
  const char* goal;  // ">= 0.5"
};
/// Measures both sides alternately, `rounds` times; prints the medians and the median of the ratios.
void print_row(const Row& row, int rounds);

}  // namespace actorhost::bench
