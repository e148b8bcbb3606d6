// Products of matrices, plain and with transposed operands, in GFLOP/s on one and two threads, beside OpenBLAS (where
// it is installed). Both sides run in turns. The figures are medians, and the ratio is the median of the turns' ratios.
// The times of one thread are CPU time, which other work disturbs little; the times of two threads are wall time.
// Results are compared. Set OPENBLAS_THREAD_TIMEOUT=4; otherwise OpenBLAS's threads poll for a long time on the core
// that our threads need.
// Usage: gemm_bench [rounds [part of a shape's name]]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "host/base/random.hpp"
#include "host/kernel/matmul.hpp"
#include "tests/bench/in_turns.hpp"

#if AH_OPENBLAS
#include <cblas.h>
#endif

using namespace actorhost;
using namespace actorhost::kernel;

namespace {

struct Shape3 {
  const char* name;
  int64_t m, k, n;
  bool a_turned, b_turned;
};

constexpr Shape3 kShapes[] = {
    {"128x6272x1024", 128, 6272, 1024, false, false}, {"... to weights", 6272, 128, 1024, true, false},
    {"... to input", 128, 1024, 6272, false, true},   {"1024^3", 1024, 1024, 1024, false, false},
    {"128x784x128", 128, 784, 128, false, false},     {"128x1024x10", 128, 1024, 10, false, false},
    {"8x1024x1024", 8, 1024, 1024, false, false},
};

std::vector<float> uniform(int64_t n) {
  Rng rng(static_cast<uint64_t>(n));
  std::vector<float> values(static_cast<size_t>(n));
  for (float& x : values) x = static_cast<float>(rng.uniform() - 0.5);
  return values;
}

View matrix(std::vector<float>& data, int64_t rows, int64_t columns, bool turned = false) {
  View v = row_major(data.data(), Dtype::f32, {rows, columns});
  if (turned) v.steps = {1, rows};
  return v;
}

#if AH_OPENBLAS
void yardstick(const Shape3& s, const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c) {
  const auto side = [](int64_t n) { return static_cast<blasint>(n); };
  cblas_sgemm(CblasRowMajor, s.a_turned ? CblasTrans : CblasNoTrans, s.b_turned ? CblasTrans : CblasNoTrans, side(s.m),
              side(s.n), side(s.k), 1, a.data(), side(s.a_turned ? s.m : s.k), b.data(), side(s.b_turned ? s.k : s.n),
              0, c.data(), side(s.n));
}
#endif

void measure(const Shape3& s, int threads, int rounds) {
  auto a = uniform(s.m * s.k);
  auto b = uniform(s.k * s.n);
  std::vector<float> c(static_cast<size_t>(s.m * s.n));
  const View va = matrix(a, s.m, s.k, s.a_turned);
  const View vb = matrix(b, s.k, s.n, s.b_turned);
  const View vc = matrix(c, s.m, s.n);
  ThreadPool pool(threads);
  const double work = 2e-9 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
  std::function<void()> their;
#if AH_OPENBLAS
  openblas_set_num_threads(threads);
  std::vector<float> wanted(c.size());
  their = [&] { yardstick(s, a, b, wanted); };
#endif
  const Turns turns(
      threads, rounds, [&] { matmul(kernels(), va, vb, vc, 1, false, &pool); }, their);
  std::printf("%-16s %d thread%s %6.1f GFLOP/s", s.name, threads, threads == 1 ? " " : "s", work / median(turns.ours));
#if AH_OPENBLAS
  float worst = 0;
  for (size_t i = 0; i < c.size(); ++i) worst = std::max(worst, std::abs(c[i] - wanted[i]));
  std::printf(", OpenBLAS %6.1f, %.2fx, largest difference %.1e", work / median(turns.theirs), median(turns.ratios),
              static_cast<double>(worst));
#endif
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 11;
  std::printf("%s kernels\n", kernels().isa);
  for (const Shape3& shape : kShapes) {
    if (argc > 2 && std::strstr(shape.name, argv[2]) == nullptr) continue;
    for (const int threads : {1, 2}) measure(shape, threads, rounds);
  }
}
