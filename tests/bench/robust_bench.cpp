// Kernels of robust merge rules beside NumPy, in turns: the trimmed mean of 5 to 50 vectors of a million elements (with
// the greatest trim: the median), and their scalar products. Best of several rounds; processor time of one thread.
// Usage: robust_bench [rounds]

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "host/base/random.hpp"
#include "host/kernel/aggregate.hpp"

using namespace actorhost;

namespace {

constexpr size_t kCount = 1000000;

/// The time in ms of Debian's NumPy for an expression of the matrix v of `count` rows; negative without NumPy.
double numpy_ms(size_t count, const std::string& expression) {
  const std::string program = "import numpy as np, time; v = np.random.default_rng(1).standard_normal((" +
                              std::to_string(count) +
                              ", 1000000), np.float32)\\nbest = 1e9\\nfor _ in range(3):\\n t = time.process_time(); " +
                              expression + "; best = min(best, time.process_time() - t)\\nprint(best * 1e3)";
  const std::string command = "OPENBLAS_NUM_THREADS=1 /usr/bin/python3 -c \"$(printf '" + program + "')\" 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  double ms = -1;
  if (pipe == nullptr || std::fscanf(pipe, "%lf", &ms) != 1) ms = -1;
  if (pipe != nullptr) pclose(pipe);
  return ms;
}

template <typename F>
double ms_of(int rounds, F f) {
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const std::clock_t begun = std::clock();
    f();
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC);
  }
  return best;
}

void show(const std::string& what, double ours, double theirs) {
  std::printf("%-36s %8.2f ms   NumPy %8.2f ms   %.2fx\n", what.c_str(), ours, theirs, ours / theirs);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  Rng rng(1);
  for (const size_t count : {size_t{5}, size_t{10}, size_t{20}, size_t{50}}) {
    std::vector<std::vector<float>> vectors(count, std::vector<float>(kCount));
    std::vector<const void*> pointers;
    for (auto& vector : vectors) {
      for (float& x : vector) x = static_cast<float>(rng.below(1U << 24)) / (1U << 23) - 1;
      pointers.push_back(vector.data());
    }
    std::vector<float> out(kCount);
    const std::string rows = std::to_string(count);
    const auto mean_of = [&](size_t trim) {
      return ms_of(rounds, [&] { kernel::trimmed_mean(Dtype::f32, kCount, pointers, trim, out.data()); });
    };
    show("median of " + rows, mean_of((count - 1) / 2), numpy_ms(count, "np.median(v, axis=0)"));
    show("mean of " + rows + " without 1 on each side", mean_of(1),
         numpy_ms(count, "np.sort(v, axis=0)[1:-1].mean(axis=0)"));
    double sum = 0;
    const double products = ms_of(rounds, [&] {
      for (const void* a : pointers) {
        for (const void* b : pointers) sum += kernel::dot(Dtype::f32, kCount, a, b);
      }
    });
    show("products of all pairs of " + rows, products, numpy_ms(count, "v @ v.T"));
    if (sum == 0.5) std::puts("");  // the sum is used
  }
}
