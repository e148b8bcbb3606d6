// Kernel speed per instruction set: matrix products in GFLOP/s (1 and 2 threads), the add of a 26 MB update beside
// memcpy of the same bytes, the functions, and the training step of an MLP 784-128-10 beside its bare products. Also
// the encode and decode rates of compression filters, in 1 MiB pieces of the same update, beside memcpy of such pieces.
// Figures of one thread are CPU time, which other work disturbs little; figures of two threads are wall time. Each
// figure is the best of several samples.
// Usage: kernel_bench

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "host/base/random.hpp"
#include "host/engine/filter/filter.hpp"
#include "host/kernel/matmul.hpp"
#include "host/kernel/optimiser.hpp"

using namespace actorhost;
using namespace actorhost::kernel;

namespace {

double now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Seconds of one call: the best of 15 samples of at least 10 ms.
template <typename F>
double seconds(F f, clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  f();
  double best = 1e9;
  for (int s = 0; s < 15; ++s) {
    int64_t calls = 0;
    const double start = now(clock);
    double spent = 0;
    do {
      f();
      ++calls;
      spent = now(clock) - start;
    } while (spent < 0.01);
    best = std::min(best, spent / static_cast<double>(calls));
  }
  return best;
}

std::vector<float> uniform(int64_t n) {
  Rng rng(1);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& x : values) x = static_cast<float>(rng.uniform() - 0.5);
  return values;
}

View matrix(std::vector<float>& data, int64_t rows, int64_t columns) {
  return row_major(data.data(), Dtype::f32, {rows, columns});
}

View turned(View v) {
  std::swap(v.shape[0], v.shape[1]);
  std::swap(v.steps[0], v.steps[1]);
  return v;
}

void products(const Kernels& k) {
  for (auto [m, depth, n] : {std::array<int64_t, 3>{128, 6272, 1024}, {1024, 1024, 1024}, {128, 784, 128}}) {
    auto a = uniform(m * depth);
    auto b = uniform(depth * n);
    std::vector<float> c(static_cast<size_t>(m * n));
    const double work = 2e-9 * static_cast<double>(m * n) * static_cast<double>(depth);
    ThreadPool two(2);
    const View va = matrix(a, m, depth);
    const View vb = matrix(b, depth, n);
    const View vc = matrix(c, m, n);
    const double one = seconds([&] { matmul(k, va, vb, vc); });
    const double both = seconds([&] { matmul(k, va, vb, vc, 1, false, &two); }, CLOCK_MONOTONIC);
    std::printf("%-5s gemm %lldx%lldx%lld: %.1f GFLOP/s, 2 threads %.1f\n", k.isa, static_cast<long long>(m),
                static_cast<long long>(depth), static_cast<long long>(n), work / one, work / both);
  }
}

void arrays(const Kernels& k) {
  constexpr int64_t kCount = 6'500'000;
  auto x = uniform(kCount);
  auto y = uniform(kCount);
  const double copy = seconds([&] { std::memcpy(y.data(), x.data(), x.size() * 4); });
  const double add = seconds([&] { k.axpy(Dtype::f32, kCount, 1e-6, x.data(), 1, y.data(), 1); });
  const double sum = seconds([&] { (void)k.reduce(Reduce::sum, Dtype::f32, kCount, x.data(), 1); });
  std::printf("%-5s 26 MB: memcpy %.2f ms, add %.2f ms (%.2fx), sum %.2f ms\n", k.isa, copy * 1e3, add * 1e3,
              add / copy, sum * 1e3);
  constexpr int64_t kPart = 100'000;
  const char* names[] = {"neg", "exp", "log", "sqrt", "tanh", "sigmoid"};
  std::printf("%-5s ns per element:", k.isa);
  for (int op = 1; op < 6; ++op) {
    const double t = seconds([&] { k.unary(static_cast<Unary>(op), Dtype::f32, kPart, y.data(), 1, x.data(), 1); });
    std::printf(" %s %.2f", names[op], t * 1e9 / static_cast<double>(kPart));
  }
  std::printf("\n");
}

// GB of tensor a second through a Filter, as the parameter server uses it: one begin for the whole update, then encode
// and decode for each piece.
void filters(const Kernels& k) {
  static constexpr uint64_t kCount = 6'500'000;
  static constexpr uint64_t kPiece = (1 << 20) / sizeof(float);
  Rng rng(2);
  std::vector<float> x(kCount);
  for (float& value : x) value = static_cast<float>(rng.normal());
  std::vector<float> out(kCount);
  std::vector<float> rest(kCount);
  const auto gigabytes = [](double spent) { return 4e-9 * kCount / spent; };
  const auto pieces = [](auto&& visit) {
    for (uint64_t at = 0; at < kCount; at += kPiece) visit(at, std::min(kPiece, kCount - at));
  };
  const double copy =
      seconds([&] { pieces([&](uint64_t at, uint64_t n) { std::memcpy(out.data() + at, x.data() + at, n * 4); }); });
  std::printf("%-5s filters, GB/s of 26 MB (memcpy %.1f): encode, encode with feedback, decode\n", k.isa,
              gigabytes(copy));
  using Values = FilterSpec::Values;
  const std::pair<const char*, FilterSpec> specs[] = {{"fp16", {.values = Values::half}},
                                                      {"int8", {.values = Values::levels}},
                                                      {"topk:0.01", {.fraction = 0.01}},
                                                      {"topk:0.01+fp16", {.fraction = 0.01, .values = Values::half}},
                                                      {"topk:0.2", {.fraction = 0.2}}};
  for (const auto& [name, spec] : specs) {
    Filter filter(spec, k);
    std::vector<Blob> sent;
    const auto encode = [&](float* residual) {
      sent.clear();
      filter.begin(Dtype::f32, kCount, x.data(), residual);
      pieces([&](uint64_t at, uint64_t n) { sent.push_back(filter.piece(at, n)); });
    };
    const double plain = seconds([&] { encode(nullptr); });
    const double with_rest = seconds([&] { encode(rest.data()); });
    const double decode = seconds([&] {
      size_t i = 0;
      pieces(
          [&](uint64_t at, uint64_t n) { (void)decode_filtered(sent[i++].view(), Dtype::f32, n, out.data() + at, k); });
    });
    size_t bytes = 0;
    for (const Blob& blob : sent) bytes += blob.size();
    std::printf("%-5s   %-14s %5.1f %5.1f %5.1f   %.1fx smaller\n", k.isa, name, gigabytes(plain), gigabytes(with_rest),
                gigabytes(decode), 4.0 * kCount / static_cast<double>(bytes));
  }
}

// Batch 128 of 784-128-10: forward, loss, backward and SGD, as in stdlib/actor/nn.
struct Mlp {
  static constexpr int64_t kBatch = 128, kIn = 784, kHidden = 128, kOut = 10;
  std::vector<float> x = uniform(kBatch * kIn), w1 = uniform(kIn * kHidden), w2 = uniform(kHidden * kOut);
  std::vector<float> b1 = uniform(kHidden), b2 = uniform(kOut);
  std::vector<float> h = uniform(kBatch * kHidden), y = uniform(kBatch * kOut), dh = h;
  std::vector<float> dw1 = w1, dw2 = w2, db1 = b1, db2 = b2;
  std::vector<int32_t> labels = std::vector<int32_t>(kBatch, 3);

  void products(const Kernels& k) {
    matmul(k, matrix(x, kBatch, kIn), matrix(w1, kIn, kHidden), matrix(h, kBatch, kHidden));
    matmul(k, matrix(h, kBatch, kHidden), matrix(w2, kHidden, kOut), matrix(y, kBatch, kOut));
    matmul(k, turned(matrix(h, kBatch, kHidden)), matrix(y, kBatch, kOut), matrix(dw2, kHidden, kOut));
    matmul(k, matrix(y, kBatch, kOut), turned(matrix(w2, kHidden, kOut)), matrix(dh, kBatch, kHidden));
    matmul(k, turned(matrix(x, kBatch, kIn)), matrix(dh, kBatch, kHidden), matrix(dw1, kIn, kHidden));
  }

  void add_row(const Kernels& k, std::vector<float>& to, std::vector<float>& row, int64_t columns) {
    const View out = matrix(to, kBatch, columns);
    View wide;
    (void)broadcast_to(matrix(row, 1, columns), out, wide);
    binary(k, Binary::add, out, out, wide);
  }

  void step(const Kernels& k) {
    matmul(k, matrix(x, kBatch, kIn), matrix(w1, kIn, kHidden), matrix(h, kBatch, kHidden));
    add_row(k, h, b1, kHidden);
    k.unary(Unary::relu, Dtype::f32, kBatch * kHidden, h.data(), 1, h.data(), 1);
    matmul(k, matrix(h, kBatch, kHidden), matrix(w2, kHidden, kOut), matrix(y, kBatch, kOut));
    add_row(k, y, b2, kOut);
    (void)k.cross_entropy(Dtype::f32, kBatch, kOut, y.data(), kOut, labels.data(), y.data(), kOut, 1.0 / kBatch);
    matmul(k, turned(matrix(h, kBatch, kHidden)), matrix(y, kBatch, kOut), matrix(dw2, kHidden, kOut));
    reduce_dim(k, Reduction::sum, matrix(y, kBatch, kOut), 0, matrix(db2, 1, kOut));
    matmul(k, matrix(y, kBatch, kOut), turned(matrix(w2, kHidden, kOut)), matrix(dh, kBatch, kHidden));
    k.binary(Binary::relu_grad, Dtype::f32, kBatch * kHidden, dh.data(), 1, dh.data(), 1, h.data(), 1);
    matmul(k, turned(matrix(x, kBatch, kIn)), matrix(dh, kBatch, kHidden), matrix(dw1, kIn, kHidden));
    reduce_dim(k, Reduction::sum, matrix(dh, kBatch, kHidden), 0, matrix(db1, 1, kHidden));
    const OptimiserSpec spec{.lr = 1e-6};
    for (auto [g, w] : {std::pair(&dw1, &w1), {&dw2, &w2}, {&db1, &b1}, {&db2, &b2}}) {
      apply_update(k, spec, Dtype::f32, static_cast<int64_t>(w->size()), spec.lr, 0, g->data(), nullptr, w->data());
    }
  }
};

void mlp(const Kernels& k) {
  Mlp model;
  const double step = seconds([&] { model.step(k); });
  const double bare = seconds([&] { model.products(k); });
  std::printf("%-5s MLP step of 128: %.0f us, %.0f images/s, %.2fx its products (%.0f us)\n", k.isa, step * 1e6,
              128 / step, step / bare, bare * 1e6);
}

}  // namespace

int main() {
  for (Isa isa : {Isa::sse2, Isa::v3, Isa::v4}) {
    const Kernels* k = kernels_for(isa);
    if (k == nullptr) continue;
    products(*k);
    arrays(*k);
    filters(*k);
    mlp(*k);
  }
  return 0;
}
