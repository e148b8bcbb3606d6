// The past of a run for the page, of 64 and of 1,000 nodes: its memory after hours, the time to add a state, and the
// bytes that a page reads. Beside it the time to build the message of a viewer with a task stream.
// Usage: page_bench [hours]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <malloc.h>
#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/page/page_view.hpp"
#include "host/page/run_past.hpp"
#include "tests/host/page/sample_state.hpp"

namespace {

using namespace actorhost;

struct Kept {
  PastReader reader;
  RunPast past;
};

double milliseconds_since(std::chrono::steady_clock::time_point begun) {
  return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// Bytes in use on the heap.
size_t used_bytes() { return mallinfo2().uordblks; }

void measure(size_t nodes, int hours) {
  nlohmann::json state = test::sample_state(nodes);
  const size_t before = used_bytes();
  auto kept = std::make_unique<Kept>();
  size_t after_one = 0;
  double adding = 0;
  const int states = 3600 * hours;
  for (int t = 1; t <= states; ++t) {
    state["run"]["t"] = t;
    for (nlohmann::json& node : state["nodes"]) {
      node["step"] = t;
      node["sent"] = 1e6 * t + 1e5 * (t % 7);
    }
    const auto begun = std::chrono::steady_clock::now();
    kept->past.add(kept->reader.read(state));
    adding += milliseconds_since(begun);
    if (t == 3600) after_one = used_bytes() - before;
  }
  const size_t after = used_bytes() - before;
  const std::string message = json_text(kept->past.message(kept->reader));
  const auto begun = std::chrono::steady_clock::now();
  constexpr int kMessages = 20;
  size_t bytes = 0;
  for (int i = 0; i < kMessages; ++i) bytes = json_text(page_message(state, {})).size();
  std::printf(
      "%5zu nodes: %zu lines, %4zu kB after an hour, %4zu kB after %d; %.3f ms to add a state; a page reads %zu kB; a "
      "message takes %.1f ms and has %zu kB\n",
      nodes, kept->reader.lines().size(), after_one / 1000, after / 1000, hours, adding / states, message.size() / 1000,
      milliseconds_since(begun) / kMessages, bytes / 1000);
}

}  // namespace

int main(int count, char** words) {
  const int hours = count > 1 ? std::atoi(words[1]) : 2;
  if (hours < 1) {
    std::fprintf(stderr, "usage: page_bench [hours]\n");
    return 2;
  }
  for (const size_t nodes : {4, 64, 1000}) measure(nodes, hours);
  return 0;
}
