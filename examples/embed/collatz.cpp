// A C++ program that runs a job on four nodes and gives the job's Lua a C++ function.

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <actorhost.hpp>

int main(int argc, char** argv) {
  std::atomic<int> calls{0};
  actorhost::Host host({.nodes = 4});
  host.function("collatz", [&calls](double n) {  // called from four threads at once
    ++calls;
    if (!(n >= 1)) throw std::invalid_argument("there is no Collatz sequence below 1");  // a Lua error at the call
    int steps = 0;
    for (; n > 1; ++steps) n = static_cast<long>(n) % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
  });
  const int code = host.run_file(argc > 1 ? argv[1] : "job.lua");
  std::printf("C++ was called %d times\n", calls.load());
  return code;
}
